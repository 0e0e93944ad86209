from __future__ import annotations

import errno
import fcntl
import os
import stat
from typing import TYPE_CHECKING, NoReturn

import pytest

from pi_subagents.core.liveness import Liveness
from pi_subagents.core.run_result import RunResult
from pi_subagents.core.run_spec import MAX_STEER_BYTES
from pi_subagents.core.value import replace
from pi_subagents.disk import safe_io
from pi_subagents.disk.run_dir import RunDir
from pi_subagents.procs.recovery import liveness_of

if TYPE_CHECKING:
    from pathlib import Path

ID = "0123456789abcdef" * 2
META = {"schemaVersion": 1, "runId": ID, "name": "build"}
RESULT = RunResult(ID, "5" * 16, "build", "completed", "Done \ud800.")


def full(*_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    directory = RunDir(tmp_path / ID)
    os.close(directory.begin(META, b"the prompt"))
    return directory


def test_a_run_begins_with_what_was_asked_and_nothing_else(run: RunDir) -> None:
    files = {p.name: stat.S_IMODE(p.stat().st_mode) for p in run.path.iterdir()}
    assert files == {
        ".result.reserved": 0o600,
        "meta.json": 0o600,
        "prompt.md": 0o600,
        "run.lock": 0o600,
    }
    assert run.reserved.stat().st_blocks * 512 >= 64 * 1024
    assert [p.name for p in run.path.parent.iterdir()] == [ID]
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o700
    assert (run.run_id, run.prompt.read_bytes(), run.read_meta()) == (ID, b"the prompt", META)


def test_the_files_of_seed_002_by_name(run: RunDir) -> None:
    paths = (run.meta, run.events, run.result, run.stdout, run.stderr, run.transcript)
    assert [path.name for path in paths] == [
        "meta.json", "events.jsonl", "result.json", "stdout.log", "stderr.log", "transcript.log",
    ]  # fmt: skip


def test_a_run_is_begun_once(run: RunDir) -> None:
    with pytest.raises(OSError):
        run.begin(META, b"another")
    assert run.prompt.read_bytes() == b"the prompt"
    assert [p.name for p in run.path.parent.iterdir()] == [ID]


def test_meta_is_replaced_as_a_whole(run: RunDir) -> None:
    run.write_meta({"runId": ID, "startedAt": 7})
    assert run.read_meta() == {"runId": ID, "startedAt": 7}


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"runId": "another"}', b"{" * 99])
def test_a_meta_that_is_not_this_runs_is_refused(run: RunDir, content: bytes) -> None:
    run.meta.write_bytes(content)
    with pytest.raises(ValueError):
        run.read_meta()


@pytest.mark.parametrize("time", [10**400, -1, True, 1.5, "1", None])
def test_a_time_that_no_clock_shows_is_left_out_of_meta(run: RunDir, time: object) -> None:
    run.write_meta({**META, "createdAt": time, "startedAt": 5})
    assert run.read_meta() == {**META, "startedAt": 5}


def test_the_first_result_stays(run: RunDir) -> None:
    assert run.read_result() is None
    assert run.write_result(RESULT) is True
    assert run.write_result(RunResult(ID, "s", "build", "failed")) is False
    assert run.read_result() == RESULT


@pytest.mark.parametrize("content", [b"", b'{"schemaVersion": 1', b'{"schemaVersion": 9}', b"[]"])
def test_a_result_that_cannot_be_trusted_is_none(run: RunDir, content: bytes) -> None:
    run.result.write_bytes(content)
    assert run.read_result() is None


def test_a_result_that_is_a_link_is_none(run: RunDir, tmp_path: Path) -> None:
    other = RunDir(tmp_path / "other")
    os.close(other.begin(META, b""))
    other.write_result(RESULT)
    run.result.symlink_to(other.result)
    assert run.read_result() is None


def test_a_run_is_alive_from_its_beginning_for_as_long_as_its_lock_is_held(tmp_path: Path) -> None:
    run = RunDir(tmp_path / ID)
    lock = run.begin(META, b"")
    handed_down = os.dup(lock)
    assert run.alive() is True
    os.close(lock)
    assert run.alive() is True
    os.close(handed_down)
    assert run.alive() is False
    run.wait_for_end()  # returns at once


def test_a_full_disk_leaves_a_result_in_the_reserved_space(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safe_io, "write_once", full)
    whole = replace(RESULT, output="\u00e9" * 100_000)
    assert run.write_result(whole) is True
    kept = run.read_result()
    assert kept is not None
    assert kept == replace(
        whole,
        output=whole.output[: len(kept.output)],
        notes=("There was no room on disk for the whole output; its end is missing.",),
        artifacts_truncated=True,
    )
    assert len(kept.output) > 5000
    assert run.result.stat().st_size <= 64 * 1024
    assert not run.reserved.exists()


@pytest.mark.parametrize("field", ["model", "provider", "stop_reason", "name", "notes"])
def test_a_full_disk_has_room_for_a_result_whatever_a_child_calls_itself(
    run: RunDir, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    monkeypatch.setattr(safe_io, "write_once", full)
    long = "\U0001f600" * 70_000
    whole = replace(RESULT, output="ok", **{field: (long,) if field == "notes" else long})
    assert run.write_result(whole) is True
    kept = run.read_result()
    assert kept is not None
    assert (kept.status, kept.output) == ("completed", "ok")
    assert run.result.stat().st_size <= 64 * 1024


def test_a_planned_run_can_be_taken_back(tmp_path: Path) -> None:
    run = RunDir(tmp_path / ID)
    run.discard(run.begin(META, b""))
    assert list(tmp_path.iterdir()) == []


def test_another_look_at_the_lock_is_no_sign_of_life(run: RunDir) -> None:
    looker = os.open(run.lock, os.O_RDONLY)
    try:
        fcntl.flock(looker, fcntl.LOCK_SH)
        assert run.alive() is False
    finally:
        os.close(looker)


def test_without_a_lock_file_nobody_answers_for_it(tmp_path: Path) -> None:
    assert RunDir(tmp_path / "absent").alive() is False


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EIO])
def test_a_run_whose_lock_cannot_be_looked_at_is_not_called_lost(
    run: RunDir, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", fail)
    assert (run.alive(), liveness_of(run)) == (True, Liveness.ALIVE)
    run.wait_for_end()  # says no more than that it waits no longer


@pytest.mark.parametrize("what", ["nothing", "link", "socket"])
def test_what_is_no_lock_of_ours_is_held_by_nobody(run: RunDir, what: str) -> None:
    run.lock.unlink()
    if what == "link":
        run.lock.symlink_to(run.meta)
    if what == "socket":
        os.mknod(run.lock, stat.S_IFSOCK | 0o600)
    assert run.alive() is False


def test_a_supervisor_that_goes_before_the_command_is_written_did_not_take_it(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(run.control)
    readers = [os.open(run.control, os.O_RDONLY | os.O_NONBLOCK)]
    look = os.fstat

    def go_first(descriptor: int) -> os.stat_result:
        while readers:
            os.close(readers.pop())
        return look(descriptor)

    monkeypatch.setattr(os, "fstat", go_first)
    assert run.send("stop") is False


def test_a_command_reaches_whoever_listens(run: RunDir) -> None:
    assert run.send("stop") is False  # no FIFO
    os.mkfifo(run.control)
    assert run.send("stop") is False  # nobody reads
    reader = os.open(run.control, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run.send("stop") is True
        assert run.send("kill") is True
        assert os.read(reader, 100) == b"stop\nkill\n"
    finally:
        os.close(reader)


def test_a_command_is_never_written_through_a_link(run: RunDir, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("untouched")
    run.control.symlink_to(target)
    with pytest.raises(OSError):
        run.send("stop")
    assert target.read_text() == "untouched"


def test_a_control_that_is_no_fifo_takes_no_command(run: RunDir) -> None:
    run.control.write_text("untouched")
    assert run.send("stop") is False
    assert run.control.read_text() == "untouched"


# What a child that takes commands leaves here


def test_a_message_for_the_child_is_kept_under_a_number_of_its_own(run: RunDir) -> None:
    text = "Use the other file.\r\n\u2028 /x \u00e9"
    first, second = run.write_steer(text), run.write_steer("")
    assert first != second
    assert (run.read_steer(first), run.read_steer(second)) == (text, "")
    kept = run.path / f"steer-{first}.md"
    assert (kept, stat.S_IMODE(kept.stat().st_mode)) == (run.steer_text(first), 0o600)


def test_a_message_that_is_no_unicode_is_kept_as_far_as_it_is(run: RunDir) -> None:
    assert run.read_steer(run.write_steer("a\ud800b")) == "a?b"
    number = run.write_steer("")
    run.steer_text(number).write_bytes(b"a\xffb")
    assert run.read_steer(number) == "a\ufffdb"


@pytest.mark.parametrize(
    "number", ["", "1", "../../../etc", "g" * 16, "0" * 15, "0" * 17, "0" * 16 + "\n", "A" * 16]
)
def test_what_is_no_number_of_a_message_names_no_file(run: RunDir, number: str) -> None:
    with pytest.raises(ValueError, match="not the number of a message"):
        run.read_steer(number)


def test_a_message_is_read_from_a_file_of_bounded_size_and_never_through_a_link(
    run: RunDir, tmp_path: Path
) -> None:
    with pytest.raises(OSError):
        run.read_steer("0" * 16)
    number = run.write_steer("x" * MAX_STEER_BYTES)
    assert len(run.read_steer(number)) == MAX_STEER_BYTES
    too_much = run.write_steer("x" * (MAX_STEER_BYTES + 1))
    with pytest.raises((OSError, ValueError)):
        run.read_steer(too_much)
    (tmp_path / "secret").write_text("secret")
    run.steer_text("1" * 16).symlink_to(tmp_path / "secret")
    with pytest.raises(OSError):
        run.read_steer("1" * 16)


def test_messages_that_wait_are_listed_by_age_and_nothing_else_is(run: RunDir) -> None:
    assert run.waiting_steers() == []
    numbers = [run.write_steer(f"number {n}") for n in range(3)]
    for age, number in enumerate(numbers):
        os.utime(run.steer_text(number), ns=(0, 10 - age))
    (run.path / "steer-.md").touch()
    (run.path / f"steer-{'0' * 15}.md").touch()
    assert run.waiting_steers() == numbers[::-1]
    assert RunDir(run.path / "absent").waiting_steers() == []


def test_the_childs_session_is_there_before_the_child_and_private(run: RunDir) -> None:
    run.make_child_session()
    assert (run.child_session.name, run.child_session.read_bytes()) == ("child-session.jsonl", b"")
    assert stat.S_IMODE(run.child_session.stat().st_mode) == 0o600


def test_a_session_that_the_child_has_written_is_left_alone(run: RunDir) -> None:
    run.child_session.write_text("its past")
    run.make_child_session()
    assert run.child_session.read_text() == "its past"
