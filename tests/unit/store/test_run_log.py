from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.fakes.run_places import run_at

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import JournalEntry, decode_entry
from pi_subagents.store import run_log
from pi_subagents.store.run_log import CappedFile, RunLog
from pi_subagents.system.calls import FileCalls

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    directory = run_at(tmp_path / ("a" * 32))
    os.close(directory.begin({"runId": "a" * 32}, b""))
    return directory


def entries(run: RunDir) -> list[JournalEntry | None]:
    return [decode_entry(line) for line in run.events.read_bytes().splitlines()]


def test_an_event_is_journaled_and_put_into_words(run: RunDir) -> None:
    log = RunLog(run, "build (run 1)")
    happened: list[ev.Event] = [
        ev.StateChanged("running"),
        ev.ToolStarted(ev.ToolCall("c", "read", {"path": "a.txt"})),
        ev.ToolFinished("c", "read", "content", failed=False),
        ev.AssistantMessage("All \x1b[31mdone\x1b[0m. \ud800", stop_reason="stop"),
        ev.AssistantMessage("  "),
    ]
    assert [log.record(event, 1000 + n) for n, event in enumerate(happened)] == [True] * 5
    log.sync()
    log.close()
    assert entries(run) == [
        JournalEntry(n + 1, 1000 + n, event) for n, event in enumerate(happened)
    ]
    assert run.transcript.read_text(encoding="utf-8") == (
        "# build (run 1)\nReading a.txt\nFinished reading a.txt\nAll done. \ufffd\n"
    )
    assert (log.truncated, log.notes()) == (False, ())


def test_the_title_cannot_drive_a_terminal(run: RunDir) -> None:
    RunLog(run, "evil\x1b]0;x\x07").close()
    assert run.transcript.read_bytes() == b"# evil\n"


def test_whoever_watches_is_shown_what_the_transcript_gets(run: RunDir) -> None:
    shown: list[bytes] = []
    log = RunLog(run, "t\x1b[2J", show=shown.append)
    log.record(ev.StateChanged("running"), 1)
    log.record(ev.AssistantMessage("Done.\x07 \x9b31mReally."), 2)
    log.close()
    assert shown == [b"# t\n", b"Done. Really.\n"]
    assert run.transcript.read_bytes() == b"".join(shown)


def test_raw_output_is_kept_as_it_came(run: RunDir) -> None:
    log = RunLog(run, "t")
    log.output(b"\xff\x00half a li")
    log.output(b"ne\n")
    log.error_output(b"oops\r\n")
    log.close()
    assert (run.stdout.read_bytes(), run.stderr.read_bytes()) == (
        b"\xff\x00half a line\n", b"oops\r\n",
    )  # fmt: skip


def test_the_journal_ends_with_a_whole_record_and_a_note(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_log, "TRANSCRIPT_SHARE", 1)  # long enough not to be cut as well
    log = RunLog(run, "t", max_bytes=4 * 200)
    kept = [log.record(ev.Note(f"number {n}"), n) for n in range(9)]
    log.record(ev.Settled(), 9)  # would fit, but a gap must not look like the whole
    log.close()
    assert kept == [True] * 3 + [False] * 6
    assert entries(run) == [JournalEntry(n + 1, n, ev.Note(f"number {n}")) for n in range(3)]
    assert log.truncated
    assert log.notes() == (
        "events.jsonl reached its limit of 200 bytes; what followed was not kept.",
    )


def test_raw_logs_are_cut_at_the_byte_and_say_so(run: RunDir) -> None:
    log = RunLog(run, "t", max_bytes=64 * 4)
    log.output(b"1" * 60)
    log.output(b"2" * 10)
    log.output(b"more")
    log.error_output(b"1234")
    log.close()
    assert run.stdout.read_bytes() == b"1" * 60 + b"2" * 4
    assert run.stderr.read_bytes() == b"1234"
    assert log.notes() == ("stdout.log reached its limit of 64 bytes; what followed was not kept.",)


def test_the_transcript_ends_with_a_whole_text(run: RunDir) -> None:
    log = RunLog(run, "t", max_bytes=16 * 100)
    for n in range(3):
        assert log.record(ev.Note(f"note {n} " + "x" * 41), n)
    log.close()
    assert run.transcript.read_text() == f"# t\nnote 0 {'x' * 41}\n"
    assert len(entries(run)) == 3


def test_all_files_of_a_run_together_take_less_than_it_may() -> None:
    shares = (
        run_log.STDOUT_SHARE,
        run_log.JOURNAL_SHARE,
        run_log.TRANSCRIPT_SHARE,
        run_log.STDERR_SHARE,
    )
    assert sum(1 / share for share in shares) < 0.6


def test_text_that_is_no_record_is_journaled_only_so_often(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_log, "MAX_TEXT_LINES", 3)
    log = RunLog(run, "t")
    kept = [
        log.record(ev.OutputText("o"), 1),
        log.record(ev.ErrorText("e"), 2),
        log.record(ev.OutputText("o"), 3),
        log.record(ev.ErrorText("e"), 4),
        log.record(ev.Note("n"), 5),
    ]
    log.close()
    assert kept == [True, True, True, False, True]
    assert [entry.event for entry in entries(run) if entry] == [
        ev.OutputText("o"), ev.ErrorText("e"), ev.OutputText("o"), ev.Note("n"),
    ]  # fmt: skip


def test_long_texts_are_cut_in_the_journal(run: RunDir) -> None:
    log = RunLog(run, "t")
    log.record(ev.UserMessage("x" * 10**6), 1)
    log.close()
    assert run.events.stat().st_size < 300_000
    assert b"more characters]" in run.events.read_bytes()


def test_a_log_that_cannot_be_opened_never_harms_the_run(run: RunDir) -> None:
    run.transcript.write_text("someone was here")
    log = RunLog(run, "t")
    assert log.record(ev.Note("n"), 1) is True
    log.sync()
    log.close()
    log.close()
    assert (run.transcript.read_text(), log.truncated) == ("someone was here", True)
    assert log.notes() == (
        "transcript.log could not be written (File exists); what followed was not kept.",
    )


def test_a_full_disk_is_told_as_such_and_a_limit_as_a_limit(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = RunLog(run, "t", max_bytes=64 * 4)
    log.error_output(b"12345")

    def full(descriptor: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    def broken(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(FileCalls, "write", staticmethod(full))
        log.record(ev.Settled(), 1)
        log.output(b"x")
        patch.setattr(FileCalls, "fsync", staticmethod(broken))
        log.sync()  # what went wrong first is the reason
    log.close()
    assert log.notes() == (
        "events.jsonl could not be written (No space left on device); what followed was not kept.",
        "stdout.log could not be written (No space left on device); what followed was not kept.",
        "stderr.log reached its limit of 4 bytes; what followed was not kept.",
    )


def test_a_log_that_cannot_be_written_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = CappedFile(tmp_path / "log", 100)

    def full(descriptor: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(FileCalls, "write", staticmethod(full))
        assert file.write(b"x") is False
    assert (file.write(b"y"), file.truncated) == (False, True)
    file.close()


def test_a_failed_flush_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = CappedFile(tmp_path / "log", 100)

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(FileCalls, "fsync", staticmethod(fail))
        file.sync()
    assert (file.truncated, file.problem) == (True, "Input/output error")
    file.close()
    file.sync()  # a closed file has nothing to flush
