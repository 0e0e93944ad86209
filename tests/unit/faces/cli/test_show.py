from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import JournalEntry, encode_entry
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.usage import Usage
from pi_subagents.faces.cli import main as cli
from pi_subagents.service.runs import Runs
from pi_subagents.store.run_store import new_run_id

if TYPE_CHECKING:
    from pathlib import Path

BILLED = Usage(1000, 234, 0, 0, 1234, 0.5, cost_is_billed=True)
RECKONED = Usage(1000, 234, 0, 0, 1234, 0.5)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    project = tmp_path / "project"
    (project / ".pi").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PI_SUBAGENTS_DATA", str(tmp_path / "data"))
    return Runs(project)


def shown(
    runs: Runs, capsys: pytest.CaptureFixture[str], usage: Usage, *events: ev.Event
) -> list[str]:
    """Return the head of what is shown of a finished run with these events."""
    runs.store.prepare()
    made = runs.store.run_dir(new_run_id())
    os.close(made.begin({"runId": made.run_id, "sessionId": "s", "name": "n", "createdAt": 1}, b""))
    entries = (JournalEntry(number, 1, event) for number, event in enumerate(events, 1))
    made.events.write_bytes(b"".join(map(encode_entry, entries)))
    made.write_result(RunResult(made.run_id, "s", "n", "completed", usage=usage, duration_ms=9000))
    runs.index.adopt([made])
    with pytest.raises(SystemExit) as ended:
        cli.main(["show", made.run_id])
    assert not ended.value.code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "✓ n: completed after 9s"
    return lines[3 : lines.index("")]


def test_a_cost_that_the_provider_billed_is_told_as_such(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(runs, capsys, BILLED) == ["1,234 tokens, cost 0.5000 (billed by the provider)"]
    assert shown(runs, capsys, RECKONED) == ["1,234 tokens, cost 0.5000"]
    assert shown(runs, capsys, Usage(1, 1, 0, 0, 2)) == ["2 tokens"]


def finished(name: str, took_ms: int) -> ev.ToolFinished:
    return ev.ToolFinished("1", name, "", failed=False, duration_ms=took_ms)


def test_what_took_how_long_is_told_where_the_child_told_it(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    message = ev.AssistantMessage("a", duration_ms=4200)
    events = (message, finished("bash", 3000), finished("read", 40), finished("bash", 1000))
    assert shown(runs, capsys, Usage(), *events) == [
        "model 4.2s, tools 4.0s (bash 4.0s in 2 calls, read 0.0s)"
    ]
    assert shown(runs, capsys, Usage(), message) == ["model 4.2s"]
    assert shown(runs, capsys, Usage(), ev.AssistantMessage("a"), finished("bash", 0)) == []


def test_only_the_tools_that_took_longest_are_named_and_no_name_reaches_the_terminal_raw(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    many = [finished(f"t{number}\x1b[2J", 1000 * number) for number in range(1, 8)]
    assert shown(runs, capsys, Usage(), *many) == [
        "tools 28s (t7 7.0s, t6 6.0s, t5 5.0s, t4 4.0s, t3 3.0s, 2 more)"
    ]
