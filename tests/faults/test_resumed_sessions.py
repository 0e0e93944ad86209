"""A session that was lost, replaced, cut or too large costs its continuation, never the run."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from pi_subagents import Task
from pi_subagents.core.run.spec import NATIVE, REPLAY
from pi_subagents.engines.pi import messages as pi_messages
from pi_subagents.service import messages
from pi_subagents.store import messages as store_messages
from pi_subagents.store.child_sessions import session_limit
from pi_subagents.system.calls import FileCalls

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Delegating, Workplace

    from pi_subagents import RunResult
    from pi_subagents.store.run_dir import RunDir

SAID = b'{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"Hi."}}\n'


def session_in(cwd: Path) -> bytes:
    header = {"type": "session", "version": 3, "id": "s", "cwd": str(cwd)}
    return json.dumps(header).encode("ascii") + b"\n" + SAID


async def a_run(place: Workplace, session: bytes) -> tuple[RunResult, RunDir]:
    """Return a run whose child wrote that session."""
    work = place.delegate_by_api("first", profile=None)
    child = await place.child("first")
    run_dir = place.run_dir(child)
    run_dir.desk.child_session.write_bytes(session)
    await child.answer_and_exit("done")
    return await work.result(), run_dir


async def begun(place: Workplace, before: RunResult) -> tuple[Delegating, FakeProcess]:
    index = len(place.driver.children)
    work = place.delegate_by_api(Task("again", "More.", resume=before.session_id), profile=None)
    return work, await place.driver.next_child(index)


async def go_on(place: Workplace, before: RunResult) -> tuple[RunResult, FakeProcess]:
    work, child = await begun(place, before)
    await child.answer_and_exit("more")
    return await work.result(), child


async def test_a_whole_session_is_what_the_child_of_the_next_run_is_started_in(
    place: Workplace,
) -> None:
    session = session_in(place.project)
    before, run_dir = await a_run(place, session)
    assert run_dir.child_session.read_bytes() == session
    work, child = await begun(place, before)
    desk = place.run_dir(child).desk
    assert (child.session, desk.child_session.read_bytes()) == (str(desk.child_session), session)
    assert await child.prompt() == b"More."
    await child.answer_and_exit("more")
    after = await work.result()
    assert (after.resumed, after.notes) == (NATIVE, ())


def remove(file: Path) -> None:
    file.unlink()


def forge(file: Path) -> None:
    file.write_bytes(file.read_bytes() + SAID.replace(b'"1"', b'"2"'))


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 9)


def empty(file: Path) -> None:
    os.truncate(file, 0)


def link(file: Path) -> None:
    file.rename(file.with_name("aside"))
    file.symlink_to("aside")


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (remove, store_messages.SESSION_IS_GONE),
        (forge, store_messages.SESSION_CHANGED),
        (cut, store_messages.SESSION_CHANGED),
        (empty, store_messages.SESSION_CHANGED),
        (link, os.strerror(errno.ELOOP)),
        (pipe, "not a regular file"),
        (directory, "not a regular file"),
    ],
)
async def test_a_session_that_is_not_as_it_was_kept_is_not_believed(
    place: Workplace, damage: Callable[[Path], None], reason: str
) -> None:
    before, run_dir = await a_run(place, session_in(place.project))
    damage(run_dir.child_session)
    after, child = await go_on(place, before)
    assert (after.status, after.resumed) == ("completed", REPLAY)
    assert after.notes == (messages.note_retold(reason),)
    assert place.run_dir(child).prompt.read_text().startswith("Previously:")
    if damage is directory:
        run_dir.child_session.rmdir()
    run_dir.child_session.unlink(missing_ok=True)  # it would be none of ours to the auditor


async def test_the_session_of_another_run_is_not_believed(place: Workplace) -> None:
    before, run_dir = await a_run(place, session_in(place.project))
    result: Any = json.loads(run_dir.result.read_text())
    other, other_dir = await a_run_named(place, "other")
    other_dir.child_session.write_bytes(run_dir.child_session.read_bytes())
    written: Any = json.loads(other_dir.result.read_text())
    other_dir.result.write_text(json.dumps({**written, "sessionSeal": result["sessionSeal"]}))
    assert before.session_seal == result["sessionSeal"]
    after, _ = await go_on(place, other)
    assert after.notes == (messages.note_retold(store_messages.SESSION_CHANGED),)


async def a_run_named(place: Workplace, name: str) -> tuple[RunResult, RunDir]:
    work = place.delegate_by_api(name, profile=None)
    child = await place.child(name)
    await child.answer_and_exit("done")
    return await work.result(), place.run_dir(child)


async def test_a_session_that_pi_would_misread_is_told_instead(place: Workplace) -> None:
    before, _ = await a_run(place, session_in(place.project) + b"\n{half\n" + SAID)
    after, _ = await go_on(place, before)
    assert after.notes == (messages.note_retold(pi_messages.SESSION_IS_DAMAGED),)


async def test_a_session_over_the_limit_is_not_kept_and_the_result_says_so(
    place: Workplace,
) -> None:
    place.settings(max_run_megabytes=1)
    limit = session_limit(1024 * 1024)
    before, run_dir = await a_run(place, session_in(place.project) + b" " * limit)
    reason = store_messages.larger_than(limit)
    name = run_dir.child_session.name
    assert before.notes == (store_messages.note_session_not_kept(name, reason),)
    assert (before.status, before.session_seal) == ("completed", "")
    assert not run_dir.child_session.exists()
    after, _ = await go_on(place, before)
    assert after.notes == (messages.note_retold(messages.SESSION_NOT_KEPT),)


async def test_without_room_for_a_copy_the_run_is_told_instead(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_in(place.project)
    before, _ = await a_run(place, session)
    written = FileCalls.write

    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(descriptor: int, data: memoryview) -> int:
        if bytes(data) == session:
            raise full
        return written(descriptor, data)

    monkeypatch.setattr(FileCalls, "write", staticmethod(write))
    after, child = await go_on(place, before)
    assert (after.status, after.resumed) == ("completed", REPLAY)
    assert after.notes == (messages.note_retold(str(full)),)
    assert not place.run_dir(child).child_session.read_bytes()
