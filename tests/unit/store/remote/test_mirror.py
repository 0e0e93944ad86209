from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from pi_subagents.core import messages as core_messages
from pi_subagents.core.cluster.record import FilePiece
from pi_subagents.core.cluster.state import RunState
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import JournalEntry, encode_entry
from pi_subagents.core.run.record import Liveness
from pi_subagents.core.run.result import RunResult, result_to_json
from pi_subagents.core.value import replace
from pi_subagents.store.recovery import conclude_lost, liveness_of
from pi_subagents.store.remote.ending import conclude_remote
from pi_subagents.store.remote.mirror import Mirror
from pi_subagents.store.remote.note import RemoteNote, read_note, write_note
from pi_subagents.store.run_store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

RUN, SESSION = "a" * 32, "b" * 16
NOTE = RemoteNote("call", "db:5432/agents as me", "default", 1024 * 1024)
META = {"schemaVersion": 1, "runId": RUN, "sessionId": SESSION, "name": "one"}
STATE = RunState(RUN, "begun", 1, "w1", "box", 0, None, "", 1_000, 2_000, None, 0)


def line(number: int, event: ev.Event) -> bytes:
    return encode_entry(JournalEntry(number, 2_000 + number, event))


SAID = line(1, ev.StateChanged("running")) + line(2, ev.AssistantMessage(text="almost"))


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    """A run that was planned and submitted; nobody of this machine answers for it."""
    store = RunStore(tmp_path / "project" / ".pi" / "subagents" / "runs", tmp_path / "data")
    store.prepare()
    made = store.run_dir(RUN)
    os.close(made.begin(META, b"Say hello."))
    write_note(made.desk, NOTE)
    return made


def as_it_is(_: RunDir, result: RunResult) -> RunResult:
    return result


def mirror_of(run_dir: RunDir) -> Mirror:
    mirror = Mirror.open(run_dir)
    assert mirror is not None
    return mirror


def ended(**fields: object) -> RunState:
    sent = RunResult("f" * 32, "0" * 16, "other", "completed", "hello", **fields)  # type: ignore[arg-type]
    content = json.dumps(result_to_json(sent)).encode()
    return replace(STATE, state="ended", result=content, ended_ms=9_000)


def test_what_a_worker_sends_is_in_the_run_directory_as_it_wrote_it(run_dir: RunDir) -> None:
    with mirror_of(run_dir) as mirror:
        pieces = [
            FilePiece(1, "events.jsonl", 0, SAID[:30]),
            FilePiece(2, "transcript.log", 0, b"# one\n"),
            FilePiece(3, "events.jsonl", 30, SAID[30:]),
            FilePiece(4, "child-session.jsonl", 0, b"{}\n"),
            FilePiece(5, "questions.json", 0, b'{"v":1}'),
        ]
        assert mirror.write(1, pieces) == 5
    assert run_dir.events.read_bytes() == SAID
    assert run_dir.transcript.read_bytes() == b"# one\n"
    assert run_dir.desk.child_session.read_bytes() == b"{}\n"
    assert (run_dir.desk.path / "questions.json").read_bytes() == b'{"v":1}'


def test_questions_without_content_are_none(run_dir: RunDir) -> None:
    with mirror_of(run_dir) as mirror:
        mirror.write(1, [FilePiece(1, "questions.json", 0, b"{}")])
        mirror.write(1, [FilePiece(2, "questions.json", 0, b"")])
    assert not (run_dir.desk.path / "questions.json").exists()


def test_whoever_looks_next_goes_on_where_the_last_one_was(run_dir: RunDir) -> None:
    with mirror_of(run_dir) as mirror:
        mirror.write(1, [FilePiece(1, "events.jsonl", 0, SAID[:30])])
    with mirror_of(run_dir) as mirror:
        assert mirror.after(1) == 1
        # Once more what is here, and a piece before one that is missing: neither does harm.
        again = FilePiece(1, "events.jsonl", 0, b"other")
        rest = FilePiece(2, "events.jsonl", 30, SAID[30:])
        early = FilePiece(9, "events.jsonl", 500, b"too early")
        assert mirror.write(1, [early, again, rest]) == 2
    assert run_dir.events.read_bytes() == SAID


def test_one_process_mirrors_a_run_at_a_time(run_dir: RunDir) -> None:
    with mirror_of(run_dir):
        assert Mirror.open(run_dir) is None
    mirror_of(run_dir).close()


def test_what_belongs_to_no_run_is_not_written_and_keeps_nothing_else_away(
    run_dir: RunDir, tmp_path: Path
) -> None:
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    with mirror_of(run_dir) as mirror:
        hostile = [
            FilePiece(1, "../../escaped", 0, b"x"),
            FilePiece(2, "result.json", 0, b"{}"),
            FilePiece(3, "meta.json", 0, b"{}"),
            FilePiece(4, "events.jsonl", NOTE.max_bytes, b"x"),
            FilePiece(5, "events.jsonl", 0, SAID),
        ]
        assert mirror.write(1, hostile) == 5
    assert run_dir.events.read_bytes() == SAID
    made = {path.name for path in tmp_path.rglob("*") if path.is_file() and path not in before}
    assert made == {"events.jsonl", "mirror.json", "mirror.lock"}


def test_no_link_leads_what_is_written_elsewhere(run_dir: RunDir, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    run_dir.events.symlink_to(elsewhere)
    with mirror_of(run_dir) as mirror, pytest.raises(OSError, match="symbolic"):
        mirror.write(1, [FilePiece(1, "events.jsonl", 0, SAID)])
    assert not elsewhere.exists()


def test_a_second_attempt_goes_behind_what_the_first_one_left(run_dir: RunDir) -> None:
    with mirror_of(run_dir) as mirror:
        mirror.write(1, [FilePiece(1, "events.jsonl", 0, SAID + b'{"half')])
        mirror.write(1, [FilePiece(2, "changes.patch", 0, b"a long patch")])
        assert mirror.after(2) == 0
        mirror.write(2, [FilePiece(1, "events.jsonl", 0, SAID[:40])])
    with mirror_of(run_dir) as mirror:
        mirror.write(2, [FilePiece(2, "events.jsonl", 40, SAID[40:])])
        mirror.write(2, [FilePiece(3, "changes.patch", 0, b"patch")])
    assert run_dir.events.read_bytes() == SAID + b'{"half\n' + SAID
    assert (run_dir.path / "changes.patch").read_bytes() == b"patch"


def test_a_run_whose_directory_was_taken_away_gets_another_and_everything_comes_again(
    run_dir: RunDir,
) -> None:
    with mirror_of(run_dir) as mirror:
        mirror.write(1, [FilePiece(1, "events.jsonl", 0, SAID[:30])])
        run_dir.path.rename(run_dir.path.with_name("away"))
        assert mirror.after(1) == 0
        pieces = [
            FilePiece(1, "events.jsonl", 0, SAID[:30]), FilePiece(2, "events.jsonl", 30, SAID[30:])
        ]  # fmt: skip
        assert mirror.write(1, pieces) == 2
    assert run_dir.now().events.read_bytes() == SAID
    assert run_dir.now().path != run_dir.path


def test_a_run_in_a_cluster_is_never_concluded_on_this_machine(run_dir: RunDir) -> None:
    assert liveness_of(run_dir) is Liveness.ALIVE
    assert conclude_lost(run_dir) is None
    run_dir.desk.clear()
    assert read_note(run_dir.desk) == NOTE


def test_its_worker_and_its_beginning_are_noted(run_dir: RunDir) -> None:
    with mirror_of(run_dir) as mirror:
        mirror.note_worker(STATE)
    meta = run_dir.read_meta()
    assert (meta["worker"], meta["cluster"], meta["startedAt"]) == ("w1", NOTE.shown, 2_000)


def test_the_result_of_a_worker_is_the_result_of_the_run(run_dir: RunDir) -> None:
    with mirror_of(run_dir) as mirror:
        mirror.write(1, [FilePiece(1, "child-session.jsonl", 0, b"{}\n")])
        result = conclude_remote(mirror, ended(session_seal="its own"), as_it_is)
    assert (result.run_id, result.session_id, result.name) == (RUN, SESSION, "one")
    assert (result.status, result.output) == ("completed", "hello")
    assert result.notes == ("It ran on the worker w1 (box).",)
    assert result.session_seal not in ("", "its own")
    assert run_dir.child_session.read_bytes() == b"{}\n"
    assert run_dir.read_result() == result
    assert liveness_of(run_dir) is Liveness.FINISHED


def test_whoever_concludes_it_a_second_time_finds_the_result(run_dir: RunDir) -> None:
    with mirror_of(run_dir) as mirror:
        first = conclude_remote(mirror, ended(), as_it_is)
        lost = replace(STATE, state="lost", reason="its worker was not heard of")
        assert conclude_remote(mirror, lost, as_it_is) == first


@pytest.mark.parametrize(
    ("state", "status", "error", "notes"),
    [
        (
            replace(STATE, state="lost", reason="its worker was not heard of"),
            "interrupted", core_messages.INTERRUPTED,
            ("its worker was not heard of", "It ran on the worker w1 (box)."),
        ),
        (
            replace(STATE, state="stopped", worker=""),
            "aborted", core_messages.STOPPED_ON_REQUEST, (),
        ),
        (
            replace(STATE, state="ended", reason="its order is refused", worker=""),
            "failed", "its order is refused", (),
        ),
        (
            replace(STATE, state="ended", result=b"[1]"),
            "interrupted", core_messages.INTERRUPTED,
            ("It ran on the worker w1 (box).",),
        ),
    ],
    ids=["lost", "stopped", "refused", "unbelievable"],
)  # fmt: skip
def test_a_run_without_a_result_ends_with_what_was_recorded(
    run_dir: RunDir, state: RunState, status: str, error: str, notes: tuple[str, ...]
) -> None:
    with mirror_of(run_dir) as mirror:
        mirror.write(1, [FilePiece(1, "events.jsonl", 0, SAID)])
        result = conclude_remote(mirror, state, as_it_is)
    assert (result.status, result.output, result.error_message, result.notes) == (
        status, "almost", error, notes,
    )  # fmt: skip
    assert not run_dir.desk.is_remote()


def test_changes_are_looked_at_before_the_result_is_there(run_dir: RunDir) -> None:
    seen: list[bool] = []

    def accept(where: RunDir, result: RunResult) -> RunResult:
        seen.append(where.result.exists())
        return replace(result, changes="1 file changed")

    check: Callable[[RunDir, RunResult], RunResult] = accept
    with mirror_of(run_dir) as mirror:
        assert conclude_remote(mirror, ended(), check).changes == "1 file changed"
    assert seen == [False]
