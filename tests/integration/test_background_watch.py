"""The end of a background run is told by one watcher, and kept in the log of every host."""

from __future__ import annotations

import asyncio
import json
import signal
import stat
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.driver import PATIENCE_S
from tests.fakes.preset_place import MODEL, PresetPlace, counts, watch_ends, watch_log

import pi_subagents
from pi_subagents.service import messages
from pi_subagents.service.background import BackgroundRuns
from pi_subagents.service.host_log import Registry
from pi_subagents.store.completion import announcing, is_announced
from pi_subagents.view.background import background_status
from pi_subagents.view.background import counts as counted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.service.host_log import LogEntry

SOURCES = Path(pi_subagents.__file__).parents[1]
WATCHER = """
import os, signal, sys
from pathlib import Path
from pi_subagents.store.desk import Desk
from pi_subagents.store.run_dir import RunDir
from pi_subagents.store.completion import announcing
with announcing(RunDir(Path(sys.argv[1]), Desk(Path("nowhere")))) as ours:
    print(ours, flush=True)
    signal.pause()
"""


@pytest.fixture
def here(place: Workplace) -> PresetPlace:
    """A user with a preset."""
    made = PresetPlace(place)
    made.preset("scout", f"model: {MODEL}")
    return made


# Watchers


@asynccontextmanager
async def under_way(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Keep a watcher going for a while; what it raises is raised."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class Told:
    """What a watcher told, in its order."""

    def __init__(self) -> None:
        self.runs: asyncio.Queue[RunRecord] = asyncio.Queue()
        self.ids: list[str] = []

    def __call__(self, run: RunRecord) -> None:
        self.ids.append(run.run_id)
        self.runs.put_nowait(run)

    async def next(self) -> RunRecord:
        async with asyncio.timeout(PATIENCE_S):
            return await self.runs.get()


async def test_a_watcher_tells_of_each_end_once(here: PresetPlace) -> None:
    heard = Told()
    before = await here.answered("before")
    async with under_way(watch_ends(here.known, heard)):
        assert (await heard.next()).run_id == before
        run_id, child = await here.started("during")
        await child.answer_and_exit("done")
        run = await heard.next()
        assert (run.run_id, run.status, run.output) == (run_id, "completed", "done")
        lost_id, lost = await here.started("lost")
        await here.kill_supervisor(lost_id, lost, signal.SIGKILL)
        run = await heard.next()
        assert (run.run_id, background_status(run)) == (lost_id, "failed")
        assert run.result is not None, "it is concluded before it is told"
    again = Told()
    async with under_way(watch_ends(here.known, again)):
        last = await here.answered("last")
        assert (await again.next()).run_id == last
    assert heard.ids == [before, run_id, lost_id]
    assert again.ids == [last]


async def test_two_watchers_tell_of_each_end_once_between_them(here: PresetPlace) -> None:
    both = Told()
    async with under_way(watch_ends(here.known, both)), under_way(watch_ends(here.known, both)):
        ids = [await here.answered(f"task {number}") for number in range(6)]
        assert sorted([(await both.next()).run_id for _ in ids]) == sorted(ids)
        last = await here.answered("last")
        assert (await both.next()).run_id == last
    assert sorted(both.ids) == sorted([*ids, last])


async def test_a_watcher_that_dies_while_it_tells_leaves_that_to_another(
    here: PresetPlace,
) -> None:
    run_id = await here.answered("news")
    path = str(here.run_dir(run_id).path)
    watcher = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WATCHER, path),
        env={"PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
    )
    assert watcher.stdout is not None
    assert await watcher.stdout.readline() == b"True\n"
    heard = Told()
    async with under_way(watch_ends(here.known, heard)):
        with announcing(here.run_dir(run_id)) as ours:
            assert not ours, "another is at it, and lives"
        other = await here.answered("other")
        assert (await heard.next()).run_id == other
        watcher.kill()
        await watcher.wait()
        assert (await heard.next()).run_id == run_id
        last = await here.answered("last")
        assert (await heard.next()).run_id == last
    assert heard.ids == [other, run_id, last]


async def test_a_telling_that_fails_is_another_watchers_turn(here: PresetPlace) -> None:
    run_id = await here.answered("news")
    run_dir = here.run_dir(run_id)

    def fail(_: RunRecord) -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await watch_ends(here.known, fail)
    assert not is_announced(run_dir)
    heard = Told()
    async with under_way(watch_ends(here.known, heard)):
        assert (await heard.next()).run_id == run_id
        await here.answered("next")
        await heard.next()
    assert is_announced(run_dir)
    assert stat.S_IMODE((run_dir.path / "notice.done").stat().st_mode) == 0o600


async def test_a_run_that_cannot_be_read_does_not_end_the_watch(here: PresetPlace) -> None:
    damaged = await here.answered("damaged")
    meta = here.run_dir(damaged).meta
    kept = meta.read_bytes()
    meta.write_bytes(b"{")
    heard = Told()
    async with under_way(watch_ends(here.known, heard)):
        whole = await here.answered("whole")
        assert (await heard.next()).run_id == whole
    meta.write_bytes(kept)


# What a host's log tells, and the disk knows better


def restarted(here: PresetPlace, log: list[LogEntry]) -> Registry:
    """Return what a host knows that comes back and reads its log."""
    return Registry(here.runs, json.loads(json.dumps(log)))


async def begun(here: PresetPlace, registry: Registry, task: str) -> tuple[LogEntry, FakeProcess]:
    run_id, child = await here.started(task)
    return registry.add(here.known.find(run_id)), child


async def test_a_host_that_comes_back_takes_in_what_ended_meanwhile(here: PresetPlace) -> None:
    registry = Registry(here.runs)
    log: list[LogEntry] = []
    children = []
    for task in ("ends", "goes on", "is lost"):
        entry, child = await begun(here, registry, task)
        log.append(entry)
        children.append(child)
    assert registry.refresh() == []
    assert counted(registry.all()) == counts(running=3)
    ends, goes_on, lost = children
    await ends.answer_and_exit("x" * 10_000)
    await here.ended(ends.run_id)
    await here.kill_supervisor(lost.run_id, lost, signal.SIGKILL)
    await here.ended(lost.run_id)
    stranger = await here.answered("of another session")

    back = restarted(here, log)
    assert counted(back.all()) == counts(running=3), "as the log has it"
    news = back.refresh()
    assert [entry["customType"] for entry in news] == ["pi-subagents:bg-update"] * 2
    assert {(e["data"]["runId"], e["data"]["status"]) for e in news} == {  # type: ignore[index]  # what hosts get is plain JSON
        (ends.run_id, "completed"),
        (lost.run_id, "failed"),
    }
    assert counted(back.all()) == counts(running=1, completed=1, failed=1)
    assert back.refresh() == []
    assert stranger not in {run.run_id for run in back.all()}
    log += news

    again = restarted(here, log)
    assert counted(again.all()) == counts(running=1, completed=1, failed=1)
    (cut,) = [run.output for run in again.all() if run.run_id == ends.run_id]
    assert cut == "x" * 8192
    assert again.refresh() == []
    (whole,) = [run.output for run in again.all() if run.run_id == ends.run_id]
    assert whole == "x" * 10_000
    await goes_on.answer_and_exit("done")
    await here.ended(goes_on.run_id)
    assert [entry["data"]["runId"] for entry in again.refresh()] == [goes_on.run_id]  # type: ignore[index]  # what hosts get is plain JSON


async def test_two_hosts_of_one_session_both_log_an_end_and_one_tells_it(
    here: PresetPlace,
) -> None:
    first = Registry(here.runs)
    entry, child = await begun(here, first, "shared")
    second = restarted(here, [entry])
    heard = Told()
    logs: list[asyncio.Queue[LogEntry]] = [asyncio.Queue(), asyncio.Queue()]
    async with (
        under_way(watch_log(first, logs[0].put_nowait, heard)),
        under_way(watch_log(second, logs[1].put_nowait, heard)),
    ):
        await child.answer_and_exit("done")
        async with asyncio.timeout(PATIENCE_S):
            updates = [await log.get() for log in logs]
        assert updates[0] == updates[1]
        assert (await heard.next()).run_id == child.run_id
        another, child = await begun(here, first, "of the first alone")
        await child.answer_and_exit("done")
        assert (await heard.next()).run_id == child.run_id
        async with asyncio.timeout(PATIENCE_S):
            await logs[0].get()  # which may come after the telling
    assert [log.qsize() for log in logs] == [0, 0]
    assert len(heard.ids) == 2
    assert another["customType"] == "pi-subagents:bg-run"


async def test_a_logged_run_whose_directory_is_gone_does_not_run_for_ever(
    here: PresetPlace,
) -> None:
    registry = Registry(here.runs)
    entry, child = await begun(here, registry, "removed")
    await child.answer_and_exit("done")
    await here.ended(child.run_id)
    removed = here.run_dir(child.run_id).path
    removed.rename(here.work.home / "elsewhere")
    back = restarted(here, [entry])
    log: list[LogEntry] = []
    assert back.look(log.append, Told(), set()) is False
    (news,) = log
    assert news["data"]["errorMessage"] == messages.RUN_DIRECTORY_GONE  # type: ignore[index]  # what hosts get is plain JSON
    assert counted(back.all()) == counts(failed=1)


async def test_a_logged_run_that_no_index_knows_is_told_by_its_directory(here: PresetPlace) -> None:
    registry = Registry(here.runs)
    entry, child = await begun(here, registry, "forgotten")
    await child.answer_and_exit("done")
    await here.ended(child.run_id)
    here.runs.index.remove([child.run_id])
    back = restarted(here, [entry])
    log: list[LogEntry] = []
    assert back.look(log.append, Told(), set()) is False
    assert [(run.status, run.output) for run in back.all()] == [("completed", "done")]


async def test_the_runs_of_one_session_are_told_alone(here: PresetPlace) -> None:
    mine = await here.answered("mine")
    await here.answered("another's")
    only = BackgroundRuns(here.runs, {mine})
    assert [run.run_id for run in only.all()] == [mine]
