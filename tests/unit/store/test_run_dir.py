from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, NoReturn

import pytest
from tests.fakes.run_places import run_at

from pi_subagents.core.run.result import RunResult, result_to_json
from pi_subagents.core.value import replace
from pi_subagents.store import messages
from pi_subagents.system import safe_io

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

ID = "0123456789abcdef" * 2
META = {"schemaVersion": 1, "runId": ID, "name": "build"}
RESULT = RunResult(ID, "5" * 16, "build", "completed", "Done \ud800.")


def full(*_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    directory = run_at(tmp_path / ID)
    os.close(directory.begin(META, b"the prompt"))
    return directory


def test_a_run_begins_with_what_was_asked_and_nothing_else(run: RunDir) -> None:
    files = {p.name: stat.S_IMODE(p.stat().st_mode) for p in run.path.iterdir()}
    assert files == {
        ".result.reserved": 0o600,
        "meta.json": 0o600,
        "prompt.md": 0o600,
    }
    assert run.reserved.stat().st_blocks * 512 >= 64 * 1024
    assert [p.name for p in run.path.parent.iterdir()] == [ID]
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o700
    assert (run.run_id, run.prompt.read_bytes(), run.read_meta()) == (ID, b"the prompt", META)


def test_the_files_of_seed_002_by_name(run: RunDir) -> None:
    paths = (
        run.meta, run.events, run.result, run.stdout, run.stderr, run.transcript,
        run.child_session, run.system_prompt,
    )  # fmt: skip
    assert [path.relative_to(run.path).as_posix() for path in paths] == [
        "meta.json", "events.jsonl", "result.json", "stdout.log", "stderr.log", "transcript.log",
        "child-session.jsonl", "system-prompt.md",
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
    assert run.read_meta() == META, "its desk knows better"
    run.desk.remove()
    with pytest.raises(ValueError):
        run.read_meta()


@pytest.mark.parametrize("time", [10**400, -1, True, 1.5, "1", None])
def test_a_time_that_no_clock_shows_is_left_out_of_meta(run: RunDir, time: object) -> None:
    run.write_meta({**META, "createdAt": time, "startedAt": 5})
    assert run.read_meta() == {**META, "startedAt": 5}


def test_a_result_is_kept_as_it_is(run: RunDir) -> None:
    assert run.read_result() is None
    assert run.write_result(RESULT) == RESULT == run.read_result()
    assert not run.reserved.exists()


@pytest.mark.parametrize("what", ["a file", "a result", "a directory", "a FIFO", "a link"])
def test_what_stands_in_the_place_of_a_result_is_put_aside_and_told(
    run: RunDir, tmp_path: Path, what: str
) -> None:
    """Whoever writes a result answers for the run: nobody else of us can have put that there."""
    forged = replace(RESULT, output="forged")
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    match what:
        case "a file":
            run.result.write_text("x")
        case "a result":
            run.result.write_bytes(safe_io.to_json_bytes(result_to_json(forged)))
        case "a directory":
            (run.result / "inner").mkdir(parents=True)
        case "a FIFO":
            os.mkfifo(run.result, 0o600)
        case _:
            run.result.symlink_to(outside)
    kept = run.write_result(RESULT)
    (aside,) = run.path.glob("result.json.put-aside-*")
    note = messages.note_result_was_there(aside.name)
    assert kept == replace(RESULT, notes=(note,)) == run.read_result()
    assert outside.read_text() == "untouched"


@pytest.mark.parametrize("other", [{"run_id": "f" * 32}, {"session_id": "6" * 16}])
def test_a_result_of_another_run_or_session_is_not_believed(
    run: RunDir, other: dict[str, str]
) -> None:
    content = safe_io.to_json_bytes(result_to_json(replace(RESULT, **other)))
    run.result.write_bytes(content)
    assert run.read_result(RESULT.session_id) is None
    assert run.result_is_not_ours(RESULT.session_id) is True
    run.result.write_bytes(safe_io.to_json_bytes(result_to_json(RESULT)))
    assert run.read_result(RESULT.session_id) == RESULT
    assert run.result_is_not_ours(RESULT.session_id) is False


@pytest.mark.parametrize("content", [b"", b"{", b'{"schemaVersion": 9, "runId": "x"}', b"[]"])
def test_a_damaged_result_or_one_of_another_version_may_have_been_ours(
    run: RunDir, content: bytes
) -> None:
    assert run.result_is_not_ours() is False
    run.result.write_bytes(content)
    assert run.result_is_not_ours() is False


@pytest.mark.parametrize("content", [b"", b'{"schemaVersion": 1', b'{"schemaVersion": 9}', b"[]"])
def test_a_result_that_cannot_be_trusted_is_none(run: RunDir, content: bytes) -> None:
    run.result.write_bytes(content)
    assert run.read_result() is None


def test_a_result_that_is_a_link_is_none(run: RunDir, tmp_path: Path) -> None:
    other = run_at(tmp_path / "other")
    os.close(other.begin(META, b""))
    other.write_result(RESULT)
    run.result.symlink_to(other.result)
    assert run.read_result() is None


def test_a_run_is_alive_from_its_beginning_for_as_long_as_its_lock_is_held(tmp_path: Path) -> None:
    run = run_at(tmp_path / ID)
    lock = run.begin(META, b"")
    handed_down = os.dup(lock)
    assert run.alive() is True
    os.close(lock)
    assert run.alive() is True
    os.close(handed_down)
    assert run.alive() is False
    assert run.desk.wait_for_end(0) is True


def test_a_full_disk_leaves_a_result_in_the_reserved_space(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safe_io, "replace_file", full)
    whole = replace(RESULT, output="\u00e9" * 100_000)
    kept = run.write_result(whole)
    assert kept == run.read_result()
    assert kept == replace(
        whole,
        output=whole.output[: len(kept.output)],
        notes=("There was no room on disk for the whole output; its end is missing.",),
        artifacts_truncated=True,
    )
    assert len(kept.output) > 5000
    assert run.result.stat().st_size <= 64 * 1024
    assert not run.reserved.exists()


@pytest.mark.parametrize(("value", "fits"), [({"n": 1}, True), ("v" * 100_000, False)])
def test_a_full_disk_has_room_for_a_small_value_and_says_when_one_is_left_out(
    run: RunDir, monkeypatch: pytest.MonkeyPatch, value: object, *, fits: bool
) -> None:
    monkeypatch.setattr(safe_io, "replace_file", full)
    whole = replace(RESULT, output="ok", notes=(), value=value, has_value=True)
    kept = run.write_result(whole)
    assert kept == run.read_result()
    assert (kept.has_value, bool(kept.notes)) == (fits, not fits)


@pytest.mark.parametrize("field", ["model", "provider", "stop_reason", "name", "notes"])
def test_a_full_disk_has_room_for_a_result_whatever_a_child_calls_itself(
    run: RunDir, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    monkeypatch.setattr(safe_io, "replace_file", full)
    long = "\U0001f600" * 70_000
    whole = replace(RESULT, output="ok", **{field: (long,) if field == "notes" else long})
    kept = run.write_result(whole)
    assert kept == run.read_result()
    assert (kept.status, kept.output) == ("completed", "ok")
    assert run.result.stat().st_size <= 64 * 1024


def test_a_planned_run_can_be_taken_back(tmp_path: Path) -> None:
    run = run_at(tmp_path / ID)
    run.discard(run.begin(META, b""))
    assert list(tmp_path.iterdir()) == []
