"""Whatever happens to workers, connections and the database: every run has one truthful end."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.e2e_cluster.storm import NAMES
from tests.fakes.cluster_worker import WorkerProcess, an_order, result_of
from tests.fakes.git_place import MEGABYTE, dirty, git_place
from tests.fakes.samples import first_as_sample

from pi_subagents.cluster.link import ShortLink
from pi_subagents.cluster.packs import Pack, put_pack_now
from pi_subagents.core.cluster.order import BUNDLE, TravelWorkspace
from pi_subagents.core.cluster.state import ENDED, LOST
from pi_subagents.engines.pi.command import VARIABLE
from pi_subagents.workspaces.bundle import pack_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e_cluster.storm import Storm

AT_ONCE = 4


@pytest.mark.parametrize("count", first_as_sample([24, 1000]))
def test_quick_children_of_three_workers_in_a_storm(storm: Storm, count: int) -> None:
    storm.start("-n", str(AT_ONCE))
    orders = [an_order(f"Number {number}") for number in range(count)]
    prompts = {order.run_id: order.work.prompt for order in orders}
    found = storm.weather(
        orders,
        {
            count // 8: lambda: storm.kill_worker("one"),
            count // 4: storm.cut_connections,
            count // 3: lambda: storm.restart_database(at_once=True),
            count // 2: lambda: storm.kill_worker("three"),
            count * 2 // 3: lambda: storm.restart_database(at_once=False),
            count * 3 // 4: storm.cut_connections,
        },
    )
    ends = Counter(state.state for state in found.values())
    assert storm.wrong(found, lambda run_id: f"You said: {prompts[run_id]}") == []
    assert ends[ENDED] + ends[LOST] == count
    assert ends[LOST] <= 2 * AT_ONCE  # what two workers that were killed had begun


@pytest.mark.pi
@pytest.mark.parametrize("count", [60])
def test_the_real_pi_of_three_workers_in_worktrees_in_a_storm(
    storm: Storm, tmp_path: Path, count: int
) -> None:
    git = git_place(tmp_path / "caller")
    dirty(git)
    sent = tmp_path / "sent"
    sent.mkdir()
    chain = pack_snapshot(git.snapshot(), (), sent, git.env)
    with ShortLink(storm.cluster.address("caller"), "test") as link:
        for bundle in chain:
            put_pack_now(link, Pack(sent / bundle.digest, bundle.digest, bundle.size))
    storm.start("-n", "2", pi=os.environ[VARIABLE])
    where = TravelWorkspace(kind=BUNDLE, packs=chain, max_bytes=MEGABYTE)
    script = '[{"text": "", "toolCalls": [{"name": "write", "arguments": {"path": "new.txt", "content": "new\\n"}}]}, {"text": "Written."}]'
    orders = [
        an_order(f"Write a file, number {number}", workspace=where, offline=True, script=script)
        for number in range(count)
    ]
    found = storm.weather(
        orders,
        {
            count // 4: lambda: storm.kill_worker("two"),
            count // 2: lambda: storm.restart_database(at_once=True),
        },
    )
    assert storm.wrong(found, lambda _: "Written.") == []
    ends = Counter(state.state for state in found.values())
    assert ends[LOST] <= 2  # what the worker that was killed had begun
    completed = [state for state in found.values() if state.state == ENDED]
    results = [result_of(state) for state in completed]
    assert {(each.status, each.error_message, each.changes) for each in results} == {
        ("completed", "", "1 file changed, +1 \u22120")
    }
    for state in completed:
        files = storm.caller.files(state.run_id)
        git.git("apply", "--check", given=files["changes.patch"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_worker_with_a_full_disk_leaves_runs_to_others_and_lives_on(
    storm: Storm, tmp_path: Path
) -> None:
    home = tmp_path / "homes" / "small"
    home.mkdir(parents=True)
    mounted = ["mount", "-t", "tmpfs", "-o", "size=32m,mode=700", "tmpfs", str(home)]
    subprocess.run(mounted, check=True)
    try:
        address = storm.cluster.text("worker")
        worker = WorkerProcess(home.parent, address, "small")
        worker.wait_for("takes")
        filler = home / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
        orders = [an_order(f"Number {number}") for number in range(6)]
        prompts = {order.run_id: order.work.prompt for order in orders}
        run_ids = storm.caller.submit(*orders)
        worker.wait_for("There is no space left in")
        storm.start()
        found = storm.caller.wait(run_ids)
        assert {each.worker for each in found.values()} <= {*NAMES}
        assert storm.wrong(found, lambda run_id: f"You said: {prompts[run_id]}") == []
        filler.unlink()
        (again,) = storm.caller.results(storm.caller.submit(an_order("Once more")))
        assert (again.status, again.output) == ("completed", "You said: Once more")
        worker.end()
    finally:
        subprocess.run(["umount", "--lazy", str(home)], check=True)
