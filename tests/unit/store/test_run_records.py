from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from tests.fakes.run_places import run_at
from tests.unit.core.given_values import texts, thoroughly

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.record import Liveness, RunMeta, RunProgress, RunRecord
from pi_subagents.core.run.result import RunResult, result_to_json
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.errors import RunAmbiguous, RunNotFound, RunUnreadable
from pi_subagents.service.runs import Runs
from pi_subagents.store import messages as store_messages
from pi_subagents.store.desk import STOPPED
from pi_subagents.store.run_log import RunLog
from pi_subagents.store.run_records import directory_of, load_record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

A, B, C = "aaaa" + "0" * 28, "aaab" + "0" * 28, "bbbb" + "0" * 28
META = {"schemaVersion": 1, "runId": A, "name": "build", "createdAt": 1000, "n": 7}
RESULT = RunResult(
    A, "s", "build", "failed", error_message="429", usage=Usage(input=5), duration_ms=1500
)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    directory = run_at(tmp_path / A)
    os.close(directory.begin(META, b""))
    return directory


def asked(run: RunDir) -> RunRecord:
    meta = RunMeta(name="build", created_at_ms=1000)
    return RunRecord(A, meta, path=str(run.path), desk=str(run.desk.path))


def journal(run: RunDir, *happened: ev.Event) -> None:
    log = RunLog(run, "t")
    for event in happened:
        log.record(event, 1)
    log.close()


def test_a_finished_run_is_what_its_result_says(run: RunDir) -> None:
    run.write_result(RESULT)
    journal(run, ev.StateChanged("running"))
    for liveness in (Liveness.FINISHED, Liveness.LOST):
        found = load_record(run, liveness)
        assert found == replace(asked(run), result=RESULT)
        assert (found.status, found.duration_ms, found.usage) == ("failed", 1500, Usage(input=5))
        assert (found.error_message, found.active) == ("429", False)


def test_a_result_counts_once_nobody_answers_for_the_run_any_more(run: RunDir) -> None:
    """Its supervisor writes it last thing; what stands there before is somebody else's."""
    run.write_result(RESULT)
    journal(run, ev.StateChanged("running"))
    found = load_record(run, Liveness.ALIVE)
    assert (found.status, found.result, found.active) == ("running", None, True)
    run.desk.take_turn(STOPPED)  # its planner lives on
    assert load_record(run, Liveness.ALIVE).result == RESULT


def test_a_supervised_run_is_in_the_state_of_its_journal(run: RunDir) -> None:
    journal(
        run,
        ev.StateChanged("starting"),
        ev.StateChanged("running"),
        ev.AssistantMessage("a", usage=Usage(input=1)),
        ev.AssistantMessage("b", usage=Usage(input=2)),
    )
    found = load_record(run, Liveness.ALIVE)
    assert found == replace(asked(run), progress=RunProgress("running", Usage(input=3)))
    assert (found.status, found.duration_ms, found.active) == ("running", 0, True)


def test_the_duration_of_a_run_counts_from_its_start(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_123 * 10**6)
    run.write_meta({**META, "startedAt": 1_700_000_000_000})
    assert load_record(run, Liveness.ALIVE).duration_ms == 123
    run.write_meta({**META, "startedAt": 10**15})  # a clock that was set back
    assert load_record(run, Liveness.ALIVE).duration_ms == 0


def test_a_queued_run_is_planned(run: RunDir) -> None:
    found = load_record(run, Liveness.ALIVE)
    assert found == asked(run)
    assert (found.status, found.active) == ("planned", True)


def test_a_lost_run_is_interrupted_with_the_words_of_the_seed(run: RunDir) -> None:
    journal(run, ev.StateChanged("running"), ev.AssistantMessage("a", usage=Usage(input=1)))
    found = load_record(run, Liveness.LOST)
    assert found == replace(asked(run), progress=RunProgress("running", Usage(input=1)), lost=True)
    assert (found.status, found.error_message) == ("interrupted", core_messages.INTERRUPTED)
    assert (found.duration_ms, found.active) == (0, False)


def test_a_damaged_journal_is_read_as_far_as_it_goes(run: RunDir) -> None:
    journal(run, ev.StateChanged("running"))
    with run.events.open("ab") as file:
        file.write(b'{"v":1,"seq"')
    assert load_record(run, Liveness.ALIVE).status == "running"
    run.events.unlink()
    run.events.mkdir()
    assert load_record(run, Liveness.ALIVE).status == "planned"


def test_what_is_no_text_or_no_time_in_meta_is_not_told(run: RunDir) -> None:
    run.write_meta({**META, "sessionId": 7, "task": None, "startedAt": "now", "timeoutS": "long"})
    assert load_record(run, Liveness.ALIVE) == asked(run)


@pytest.mark.parametrize(
    "content", [None, b"", b"{}", b"[]"], ids=["absent", "empty", "other", "list"]
)
def test_a_run_that_cannot_be_told_says_why(run: RunDir, content: bytes | None) -> None:
    run.desk.remove()
    run.meta.unlink()
    if content is not None:
        run.meta.write_bytes(content)
    with pytest.raises(RunUnreadable) as refusal:
        load_record(run, Liveness.LOST)
    assert str(refusal.value).startswith(f'Run "{A[:8]}" cannot be read: ')


def test_a_damaged_result_says_so(run: RunDir) -> None:
    run.result.write_text("{}")
    with pytest.raises(RunUnreadable) as refusal:
        load_record(run, Liveness.LOST)
    reason = "result.json is damaged or of another version"
    assert str(refusal.value) == f'Run "{A[:8]}" cannot be read: {reason}'


NOT_OURS: dict[str, Callable[[RunDir], object]] = {
    "a directory": lambda run: run.result.mkdir(),
    "a link": lambda run: run.result.symlink_to(run.meta),
    "a FIFO": lambda run: os.mkfifo(run.result),
    "of another run": lambda run: write(run, replace(RESULT, run_id=B)),
    "of another session": lambda run: write(run, replace(RESULT, session_id="other")),
}


def write(run: RunDir, result: RunResult) -> None:
    run.result.write_text(json.dumps(result_to_json(result)))


@pytest.mark.parametrize("kind", NOT_OURS)
@pytest.mark.parametrize(
    ("status", "output", "message"),
    [
        ("completed", "42", ""),
        ("failed", "42", store_messages.FAILED_BY_JOURNAL),
        ("aborted", "42", core_messages.STOPPED_ON_REQUEST),
        ("interrupted", "42", core_messages.INTERRUPTED),
    ],
)
def test_instead_of_a_result_that_is_not_ours_the_journal_tells(
    run: RunDir, kind: str, status: str, output: str, message: str
) -> None:
    run.write_meta({**META, "sessionId": "s", "notes": ["Mind this."]})
    journal(
        run,
        ev.StateChanged("running"),
        ev.UserMessage("What is it?"),
        ev.AssistantMessage("42", stop_reason="stop"),
        ev.StateChanged(status),
    )
    NOT_OURS[kind](run)
    found = load_record(run, Liveness.LOST)
    assert found.result is not None
    assert (found.status, found.result.output, found.error_message) == (status, output, message)
    assert found.result.notes == ("Mind this.", store_messages.NOTE_BY_JOURNAL)
    assert (found.result.run_id, found.result.session_id, found.result.name) == (A, "s", "build")
    assert found.active is False


@pytest.mark.parametrize("kind", NOT_OURS)
def test_without_an_end_in_the_journal_such_a_run_is_lost(run: RunDir, kind: str) -> None:
    run.write_meta({**META, "sessionId": "s"})
    journal(run, ev.StateChanged("running"))
    NOT_OURS[kind](run)
    found = load_record(run, Liveness.LOST)
    assert (found.status, found.result) == ("interrupted", None)


# Finding one by its id


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    found = Runs(tmp_path / "project", {"PI_SUBAGENTS_DATA": str(tmp_path / "data")})
    found.store.prepare()
    return found


def finished(runs: Runs, run_id: str) -> RunDir:
    run = runs.store.run_dir(run_id)
    os.close(run.begin({"runId": run_id, "createdAt": 1}, b""))
    run.write_result(RunResult(run_id, "s", "n", "completed"))
    return run


def test_a_run_is_found_by_its_id_or_its_beginning(runs: Runs) -> None:
    first, other = finished(runs, A), finished(runs, C)
    assert [directory_of(runs.find(each)) for each in (A, "aaaa", "bbbb0")] == [first, first, other]


def test_a_beginning_of_several_runs_is_ambiguous(runs: Runs) -> None:
    longer = "aaaa1" + "0" * 27
    finished(runs, A), finished(runs, longer)
    with pytest.raises(RunAmbiguous) as refusal:
        runs.find("aaaa")
    assert refusal.value.matches == (A, longer)


@pytest.mark.parametrize(
    "asked",
    ["", "cccc", "AAAA", "../x", "..", ".", "/etc", "aaaa/../bbbb", "aaaa\n", "aaaa*",
     "aaaa\0", A + "0", "*", "\ud800"],
)  # fmt: skip
def test_whatever_else_is_asked_for_is_not_found(runs: Runs, asked: str) -> None:
    finished(runs, A), finished(runs, C)
    with pytest.raises(RunNotFound) as refusal:
        runs.find(asked)
    assert str(refusal.value) == (
        f'Run "{asked}" not found in {runs.store.runs_dir}. `subagents runs` lists what is there.'
    )


@thoroughly
@given(texts)
def test_no_name_leads_out_of_the_store(
    tmp_path_factory: pytest.TempPathFactory, asked: str
) -> None:
    place = tmp_path_factory.getbasetemp() / "find"
    runs = Runs(place, {"PI_SUBAGENTS_DATA": str(place / "data")})
    with pytest.raises(RunNotFound):
        runs.find(asked)


def test_a_link_among_the_runs_is_not_followed(runs: Runs, tmp_path: Path) -> None:
    elsewhere = run_at(tmp_path / A)
    os.close(elsewhere.begin(META, b""))
    (runs.store.runs_dir / A).symlink_to(elsewhere.path)
    with pytest.raises(RunNotFound):
        runs.find(A)


def test_a_run_that_came_with_a_repository_is_shown_but_never_touched(runs: Runs) -> None:
    foreign = runs.store.run_dir(B)
    os.close(foreign.begin({"runId": B, "createdAt": 1, "sessionId": "s", "seal": "0" * 32}, b""))
    journal(foreign, ev.StateChanged("running"))
    before = sorted(path.name for path in foreign.path.iterdir())
    assert (runs.recover(), runs.find(B).status) == ([], "interrupted")
    assert sorted(path.name for path in foreign.path.iterdir()) == before
    assert json.loads(foreign.meta.read_bytes())["seal"] == "0" * 32
