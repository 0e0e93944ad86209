"""Tasks that work on a worker in a snapshot of the caller's checkout: what they change comes back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import in_rpc_mode
from tests.fakes.cluster_worker import worker
from tests.fakes.driver import FAKE_PI_COMMAND
from tests.fakes.git_place import GitPlace, repository_of

from pi_subagents import Task
from pi_subagents.service.runs import Runs
from pi_subagents.service.workspaces.taking import see_changes, take_changes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakes.cluster_server import TestCluster
    from tests.fakes.workplace import Workplace

pytestmark = in_rpc_mode
PACKS = ".local/share/pi-subagents/cluster/packs"


@pytest.fixture
def git(place: Workplace, cluster: TestCluster, tmp_path: Path) -> Iterator[GitPlace]:
    """The project of the place is a repository, and there is a worker that has nothing of it."""
    own = {name: each for name, each in place.env.items() if name.startswith("FAKE_")}
    place.secrets["PI_SUBAGENTS_CLUSTER"] = cluster.text("caller")
    with worker(tmp_path, cluster.text("worker"), "w1", pi=FAKE_PI_COMMAND, variables=own):
        yield repository_of(place.project)


async def test_a_task_sees_what_the_caller_sees_and_its_changes_can_be_taken_here(
    place: Workplace, git: GitPlace
) -> None:
    git.write({"a.txt": "uncommitted\n", "new.txt": "untracked\n"})
    before = git.state()
    work = place.delegate_by_api("task", profile=None, runner="cluster")
    child = await place.child("task")
    where = Path(child.cwd)
    assert (where / "a.txt").read_text() == "uncommitted\n"
    assert (where / "new.txt").read_text() == "untracked\n"
    (where / "a.txt").write_text("changed\nthere\n")
    (where / "link").symlink_to("a.txt")
    await child.answer_and_exit("done")
    result = await work.result()
    assert (result.status, result.changes) == ("completed", "2 files changed, +3 \N{MINUS SIGN}1")
    assert git.state() == before
    runs = Runs(place.project, place.env)
    seen = see_changes(runs, result.run_id, place.env)
    assert [file.path for file in seen.changes.files] == ["a.txt", "link"]
    take_changes(runs, [result.run_id], place.env)
    assert (git.top / "a.txt").read_text() == "changed\nthere\n"
    assert (git.top / "link").is_symlink()


async def test_a_second_task_sends_only_what_is_new(
    place: Workplace, git: GitPlace, cluster: TestCluster
) -> None:
    for name in ("first", "second"):
        git.write({"a.txt": f"{name}\n"})
        work = place.delegate_by_api(name, profile=None, runner="cluster")
        child = await place.child(name)
        assert (Path(child.cwd) / "a.txt").read_text() == f"{name}\n"
        await child.answer_and_exit("done")
        assert (await work.result()).status == "completed"
    ((packs,),) = cluster.do("SELECT count(DISTINCT digest) FROM subagents.pack")
    assert packs == 3  # the commit, and the uncommitted work of each


async def test_tasks_of_one_call_send_their_checkout_once(
    place: Workplace, git: GitPlace, cluster: TestCluster
) -> None:
    names = ("one", "two", "three")
    work = place.delegate_by_api(*names, profile=None, runner="cluster")
    for name in names:
        child = await place.child(name)
        assert (Path(child.cwd) / "a.txt").exists()
        await child.answer_and_exit("done")
    assert {each.status for each in await work.results()} == {"completed"}
    ((packs,),) = cluster.do("SELECT count(DISTINCT digest) FROM subagents.pack")
    assert packs == len(list((place.home / PACKS).glob("?" * 64)))


async def test_a_session_goes_on_there(place: Workplace, git: GitPlace) -> None:
    work = place.delegate_by_api("first", profile=None, runner="cluster")
    child = await place.child("first")
    await child.answer_and_exit("one")
    first = await work.result()
    task = Task("second", "second", resume=first.session_id)
    work = place.delegate_by_api(task, profile=None, runner="cluster")
    child = await place.driver.next_child(1)
    await child.answer_and_exit("two")
    second = await work.result()
    assert (second.status, second.output, second.session_id) == (
        "completed", "two", first.session_id,
    )  # fmt: skip
