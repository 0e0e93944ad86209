"""A caller whose tasks run on a worker: as it sees them, everything is as if they ran here."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.command import ENTRY
from tests.fakes.child_modes import in_rpc_mode
from tests.fakes.cluster_worker import WorkerProcess, worker
from tests.fakes.driver import FAKE_PI_COMMAND, PATIENCE_S

from pi_subagents import Task, answer, delegate, errors, steer
from pi_subagents.core import messages as core_messages
from pi_subagents.core.preset.request import StatusRequest
from pi_subagents.core.run import events as ev
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.task.request import checked_request
from pi_subagents.runners import messages as runner_messages
from pi_subagents.service.background import BackgroundRuns, start_request
from pi_subagents.service.runs import Runs
from pi_subagents.store.run_records import directory_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fakes.cluster_server import TestCluster
    from tests.fakes.workplace import Workplace

pytestmark = in_rpc_mode
ADDRESS = "PI_SUBAGENTS_CLUSTER"


@pytest.fixture
def there(place: Workplace, cluster: TestCluster, tmp_path: Path) -> Iterator[WorkerProcess]:
    """A worker for the tasks of the place, which shares nothing with it but the database."""
    own = {name: each for name, each in place.env.items() if name.startswith("FAKE_")}
    place.secrets[ADDRESS] = cluster.text("caller")
    with worker(tmp_path, cluster.text("worker"), "w1", pi=FAKE_PI_COMMAND, variables=own) as made:
        yield made


CLUSTER: dict[str, Any] = {"profile": None, "runner": "cluster"}


async def test_what_a_worker_does_is_seen_here_while_it_happens_and_kept_here(
    place: Workplace, there: WorkerProcess
) -> None:
    work = place.delegate_by_api("look", "think", **CLUSTER)
    look, think = [await place.child(name) for name in ("look", "think")]
    await look.say("It looks fine.")
    await work.sees(ev.AssistantMessage, "look")
    on_worker = ev.Note(runner_messages.on_worker("w1", _host(there)))
    await work.sees(on_worker, "look")
    meta = place.run_dir(look).read_meta()
    assert meta["worker"] == "w1"
    await look.settle()
    await look.exit(0)
    await think.answer_and_exit("Thought.")
    results = await work.results()
    assert [(each.name, each.status, each.output) for each in results] == [
        ("look", "completed", "It looks fine."), ("think", "completed", "Thought."),
    ]  # fmt: skip
    for each in results:
        assert f"It ran on the worker w1 ({_host(there)})." in each.notes
        run_dir = place.store.run_dir(each.run_id)
        assert run_dir.read_result() == each
        kept = there.runs_dir / each.run_id
        for name in ("events.jsonl", "transcript.log", "stdout.log"):
            assert (run_dir.path / name).read_bytes() == (kept / name).read_bytes()
        assert not run_dir.desk.path.exists()


async def test_a_worker_hears_of_a_message(place: Workplace, there: WorkerProcess) -> None:
    work = place.delegate_by_api("look", **CLUSTER)
    child = await place.child("look")
    sent = asyncio.create_task(
        steer(child.run_id, "Faster.", wait_seconds=PATIENCE_S, cwd=place.project, env=place.env)
    )
    async with asyncio.timeout(PATIENCE_S):
        while not (await child.do("queue"))["queue"]:
            await asyncio.sleep(0)
    assert await child.take_steer() == "Faster."
    assert (await sent).status == "delivered"
    await child.answer_and_exit("Done.")
    assert (await work.result()).status == "completed"


async def test_a_question_is_asked_here_and_its_answer_reaches_the_child(
    place: Workplace, there: WorkerProcess
) -> None:
    work = place.delegate_by_api(Task("look", "look", questions="ask"), **CLUSTER)
    child = await place.child("look")
    heard = asyncio.create_task(child.ask_dialog("confirm", "Delete it?"))
    await work.sees(ev.Asked)
    async with asyncio.timeout(PATIENCE_S):
        while not place.run_dir(child).desk.questions():
            await asyncio.sleep(0)
    said = await answer(child.run_id, "y", cwd=place.project, env=place.env)
    assert said.status == "given"
    found = await heard
    assert found is not None
    assert found["confirmed"] is True
    await child.answer_and_exit("Done.")
    await work.result()


@pytest.mark.parametrize("how", ["stop", "force"])
async def test_a_thrown_switch_ends_the_child_there(
    place: Workplace, there: WorkerProcess, how: str
) -> None:
    work = place.delegate_by_api("look", **CLUSTER)
    child = await place.child("look")
    getattr(work, how)()
    assert (await work.result()).status == "aborted"
    await child.gone()


async def test_another_process_stops_it(place: Workplace, there: WorkerProcess) -> None:
    work = place.delegate_by_api("look", **CLUSTER)
    child = await place.child("look")
    runs = Runs(place.project, place.env)
    run = await asyncio.to_thread(runs.find, child.run_id)
    stopped = await asyncio.to_thread(partial(runs.stop, run, force=False))
    assert stopped.status == "aborted"
    assert (await work.result()).status == "aborted"
    await child.gone()


async def test_a_background_run_goes_on_and_whoever_looks_finds_what_it_did(
    place: Workplace, there: WorkerProcess
) -> None:
    request = checked_request([Task("look", "look", on="cluster")])
    options = {"cwd": place.project, "env": place.env}
    (run,) = await start_request(request, options)  # type: ignore[arg-type]  # what it takes
    assert run.active
    child = await place.child("look")
    await child.say("It looks fine.")
    await child.settle()
    await child.exit(0)
    found = BackgroundRuns(Runs(place.project, place.env))
    ended = await found.wait(StatusRequest(run.run_id, wait_s=PATIENCE_S), StopSwitch())
    assert [(each.run_id, each.status, each.output) for each in ended] == [
        (run.run_id, "completed", "It looks fine.")
    ]
    assert not directory_of(run).desk.path.exists()


async def test_a_background_run_is_stopped_and_says_so(
    place: Workplace, there: WorkerProcess
) -> None:
    request = checked_request([Task("look", "look", on="cluster")])
    (run,) = await start_request(request, {"cwd": place.project, "env": place.env})
    child = await place.child("look")
    (stopped,) = await BackgroundRuns(Runs(place.project, place.env)).stop(run.run_id)
    assert stopped.status == "aborted"
    await child.gone()


async def test_a_run_that_no_worker_takes_says_what_it_waits_for_and_can_be_stopped(
    place: Workplace, cluster: TestCluster
) -> None:
    place.secrets[ADDRESS] = cluster.text("caller")
    request = checked_request([Task("look", "look", on="cluster:gpu")])
    (run,) = await start_request(request, {"cwd": place.project, "env": place.env})
    background = BackgroundRuns(Runs(place.project, place.env))
    (waiting,) = await asyncio.to_thread(background.all)
    assert waiting.why_it_waits == "It waits for a worker of the tag gpu."
    (stopped,) = await background.stop(run.run_id)
    assert (stopped.status, stopped.error_message) == ("aborted", core_messages.STOPPED_ON_REQUEST)


async def test_a_cluster_that_cannot_be_reached_concludes_nothing(
    place: Workplace, cluster: TestCluster
) -> None:
    place.secrets[ADDRESS] = cluster.text("caller")
    request = checked_request([Task("look", "look", on="cluster")])
    (run,) = await start_request(request, {"cwd": place.project, "env": place.env})
    shown = cluster.address("caller").shown
    place.secrets[ADDRESS] = "postgresql://nobody@127.0.0.1:1/none"
    ran = await asyncio.to_thread(_command, place, "show", run.run_id)
    assert f"Cannot reach the cluster at {shown}; the run goes on there." in ran.stdout
    listed = await asyncio.to_thread(_command, place, "runs", "--json")
    assert [each["status"] for each in json.loads(listed.stdout)["runs"]] == ["planned"]
    place.secrets[ADDRESS] = cluster.text("caller")
    ran = await asyncio.to_thread(_command, place, "stop", run.run_id)
    assert ran.returncode == 0, ran.stderr


async def test_a_call_is_refused_where_no_cluster_is_known(place: Workplace) -> None:
    with pytest.raises(errors.SetupError, match="No cluster is known here"):
        await delegate("look", cwd=place.project, env=place.env, runner="cluster")
    assert place.run_dirs() == []


async def test_what_only_this_machine_has_is_refused_by_name(
    place: Workplace, cluster: TestCluster
) -> None:
    place.secrets[ADDRESS] = cluster.text("caller")
    with pytest.raises(errors.CannotTravel) as refused:
        await delegate("look", cwd=place.project, env=place.env, runner="cluster", profile="keyed")
    assert str(refused.value) == (
        "The task task-1 cannot run in a cluster: its profile keyed has apiKey, "
        "which is of use on this machine alone."
    )
    assert place.run_dirs() == []


async def test_tasks_of_one_call_run_here_and_there(place: Workplace, there: WorkerProcess) -> None:
    work = place.delegate_by_api(
        Task("near", "near", on="here"), Task("far", "far"), profile=None, runner="cluster"
    )
    near, far = [await place.child(name) for name in ("near", "far")]
    await near.answer_and_exit("Here.")
    await far.answer_and_exit("There.")
    first, second = await work.results()
    assert [first.output, second.output] == ["Here.", "There."]
    assert not any("worker" in note for note in first.notes)
    assert any("worker w1" in note for note in second.notes)


async def test_a_killed_callers_run_is_found_by_the_next_look(
    place: Workplace, there: WorkerProcess, cluster: TestCluster
) -> None:
    caller = subprocess.Popen(
        [*ENTRY, "run", "--on", "cluster", "look"],
        cwd=place.project, env=place.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    child = await place.child("look")
    caller.send_signal(signal.SIGKILL)
    await asyncio.to_thread(caller.wait)
    run_dir = place.run_dir(child)
    assert run_dir.alive()
    # As if it had been silent for long: nobody waits for 30 seconds.
    cluster.do("UPDATE subagents.call SET seen_at = now() - interval '1 minute'")
    runs = Runs(place.project, place.env)
    async with asyncio.timeout(PATIENCE_S):
        while run_dir.alive():
            await asyncio.to_thread(runs.recover)
    result = run_dir.read_result()
    assert result is not None
    assert result.status == "aborted"
    await child.gone()


def _host(there: WorkerProcess) -> str:
    import socket

    del there
    return socket.gethostname()


def _command(place: Workplace, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ENTRY, *words], cwd=place.project, env=place.env, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
