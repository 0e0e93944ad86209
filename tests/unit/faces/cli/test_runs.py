"""What `runs`, `show`, `stop`, `output` and `steer` show of runs, and how runs may be called."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.fleet_place import FleetPlace

from pi_subagents.core.messages import NO_TEXT_OUTPUT
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.question import LIMIT, WaitingFor
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.faces.cli import main as cli

if TYPE_CHECKING:
    from pathlib import Path

SESSION = "5e551011aaaaaaaa"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FleetPlace:
    project = tmp_path / "project"
    (project / ".pi").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("PI_SUBAGENTS_DATA", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return FleetPlace(project, {"HOME": str(tmp_path / "home")})


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            cli.main(list(arguments))
        out, err = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return stop.value.code, out, err

    return run


def columns(out: str) -> list[list[str]]:
    """Return the lines of a table without its headings and without ages."""
    return [[*line.split()[:3], *line.split()[4:]] for line in out.splitlines()[1:]]


def test_runs_are_listed_with_short_ids_signs_words_and_prompts(
    place: FleetPlace, said: Any
) -> None:
    place.finished("review", output="Fine.")
    place.finished("quiet", output=NO_TEXT_OUTPUT)
    place.finished("enough", status="aborted")
    going = place.going_on("task-1", task="Count the\nfiles in src")
    going.does(ev.StateChanged("running"))
    code, out, err = said("runs")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["RUN", "STATUS", "AGE", "TIME", "TOKENS", "TASK"]
    lines = sorted(columns(out))
    assert [[*line[:3], *line[5:]] for line in lines] == [
        ["00010000", "✓", "completed", "review"],
        ["00020000", "⚠", "completed", "quiet"],
        ["00030000", "■", "stopped", "enough"],
        ["00040000", "●", "running", "Count", "the", "files", "in", "src"],
    ]
    statuses = {
        run["runId"][:4]: run["status"] for run in json.loads(said("runs", "--json")[1])["runs"]
    }
    assert statuses == {
        "0001": "completed",
        "0002": "completed",
        "0003": "aborted",
        "0004": "running",
    }
    going.ends()


def test_why_a_run_waits_and_until_when_is_listed_and_shown(place: FleetPlace, said: Any) -> None:
    why = "acme has reached its limit; goes on at 14:05:10"
    going = place.going_on("task-1", task="Count them")
    going.waits(WaitingFor(5_000, why, kind=LIMIT))
    _, out, _ = said("runs")
    assert out.splitlines()[1].split()[:3] == ["00010000", "◔", "waiting"]
    assert out.splitlines()[1].endswith(f"Count them — {why}")
    (run,) = json.loads(said("runs", "--json")[1])["runs"]
    assert run["waitingFor"] == {
        "kind": "limit", "until": 5_000, "text": why, "options": [], "id": "",
    }  # fmt: skip
    assert why in said("show", "0001")[1].splitlines()
    code, out, _ = said("answer", "0001")
    assert (code, "asks nothing" in out.lower()) == (1, True)
    code, out, err = said("answer", "nobody", "x", "--json")
    assert (code, json.loads(out)["isError"], err) == (2, True, ""), "a refusal is JSON as well"


def test_a_list_says_how_many_it_leaves_out(place: FleetPlace, said: Any) -> None:
    for number in range(23):
        place.finished(f"run {number}")
    assert (len(columns(said("runs")[1])), said("runs")[2]) == (
        20, "20 of 23 runs; --limit N or --all shows more.\n",
    )  # fmt: skip
    assert said("runs", "--limit", "2")[2] == "2 of 23 runs; --limit N or --all shows more.\n"
    for everything in (("--all",), ("-a",), ("--limit", "23")):
        code, out, err = said("runs", *everything)
        assert (code, len(columns(out)), err) == (0, 23, "")
    assert json.loads(said("runs", "--json")[1])["total"] == 23
    assert said("runs", "--all", "--limit", "2")[0] == 2


def test_what_is_active_is_listed_alone(place: FleetPlace, said: Any) -> None:
    place.finished("over")
    assert said("runs", "--active") == (0, "Nothing is running.\n", "")
    going = place.going_on("working")
    assert [line[-1] for line in columns(said("runs", "--active")[1])] == ["working"]
    going.ends()


def test_every_verb_takes_every_name(place: FleetPlace, said: Any) -> None:
    run = place.finished("auth", SESSION, output="Two bugs.")
    place.finished("other", "0therother")
    for wanted in (run.run_id, "00010000", SESSION, SESSION[:8], "auth"):
        assert said("show", "--output", wanted) == (0, "Two bugs.\n", "")
        assert said("output", wanted) == (0, "Two bugs.\n", "")
        assert said("background", "logs", wanted)[0] == 0
        code, out, _ = said("background", "status", wanted)
        assert (code, out.splitlines()[0]) == (0, "✓ auth: completed after 1s")
        code, _, err = said("stop", wanted)
        assert (code, err) == (
            2, 'Error: Run "00010000" is not running (status: completed); nothing to stop.\n',
        )  # fmt: skip
        assert said("background", "stop", wanted)[::2] == (code, err)
        code, out, _ = said("steer", wanted, "hello")
        assert (code, "has already ended (status: completed)" in out) == (1, True)
    assert said("session", "00010000") == said("session", "auth")
    assert said("show", "last")[1].splitlines()[0] == "✓ other: completed after 1s"


def test_what_could_be_several_is_refused_with_a_list(place: FleetPlace, said: Any) -> None:
    place.finished("same")
    place.finished("same")
    for verb in ("show", "stop", "output", "session"):
        code, out, err = said(verb, "same")
        assert (code, out) == (2, "")
        assert err.startswith('Error: "same" could be any of these runs. Say which, by its id:\n')
        assert [line.split()[0] for line in err.splitlines()[1:]] == ["00020000", "00010000"]


def test_a_run_is_shown_with_its_whole_task(place: FleetPlace, said: Any) -> None:
    task = "Count the files.\n" * 200
    run = place.going_on("task-1", task=task[:2000], taskLength=len(task))
    run.run_dir.prompt.write_text(task)
    run.ends()
    code, out, _ = said("show", "last")
    lines = out.splitlines()
    assert (code, lines[0]) == (
        0, "✓ Count the files. Count the files. Count the files. Count th…: completed after 1s",
    )  # fmt: skip
    assert lines[1] == "run 00010000, session session-"
    assert lines.count("Count the files.") == 200


def test_of_a_run_each_thing_is_shown_once(place: FleetPlace, said: Any) -> None:
    run = place.finished("count", SESSION, output="There are 3.\n\nAll in src.\n")
    run.transcript.write_text(f"# count (run {run.run_id})\nls src\nThere are 3.\n\nAll in src.\n")
    _, out, _ = said("show", "count")
    assert out.partition("\nTranscript\n")[2].split("\n") == [
        "ls src", "", "Answer", "There are 3.", "", "All in src.", "",
        "", f"Files in {run.path}", "  ".join(sorted(path.name for path in run.path.iterdir())), "",
    ]  # fmt: skip


def test_an_answer_that_is_missing_is_told_in_the_words_of_the_screen(
    place: FleetPlace, said: Any
) -> None:
    place.finished("enough", SESSION, status="aborted", error_message="Stopped on request")
    assert said("output", "last")[::2] == (1, "Session 5e551011: stopped\n")


def test_a_sender_on_a_terminal_sees_that_it_waits(
    place: FleetPlace, said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = "Waiting until it has read the message (up to 0.1 s)..."
    going = place.going_on("task-1", engine="pi", childMode="rpc")
    assert waiting not in said("steer", "last", "hello", "--wait", "0.1")[2]
    monkeypatch.setattr("pi_subagents.faces.cli.look.sessions.on_a_terminal", lambda: True)
    assert waiting in said("steer", "last", "hello", "--wait", "0.1")[2]
    going.ends()
    assert waiting not in said("steer", "last", "hello", "--wait", "0.1")[2]


# What was spent

USED = Usage(input=1_200_000, output=30_000, cache_read=5, total_tokens=1_230_005, cost=0.5)


def test_large_runs_are_marked_and_the_sum_is_below_the_list(place: FleetPlace, said: Any) -> None:
    place.finished("large", usage=USED)
    place.finished("small", usage=replace(USED, total_tokens=1_000_000))
    _, out, _ = said("runs")
    *rows, total = out.splitlines()[1:]
    assert sorted(row.split()[5] for row in rows) == ["!1,230,005", "1,000,000"]
    assert total == "2 runs, 2,230,005 tokens, $1.00"
    tasks = sorted(
        row.split("$")[0].split("  ")[-1] for row in said("sessions")[1].splitlines()[1:]
    )
    assert [task.strip() for task in tasks] == ["!1.2M large", "small"]


def test_usage_shows_a_bar_for_each_project_and_all_figures_to_scripts(
    place: FleetPlace, said: Any
) -> None:
    place.finished("one", usage=USED)
    place.finished("two", usage=USED)
    code, out, err = said("usage", "--by", "project")
    assert (code, err) == (0, "")
    headings, row, total = out.splitlines()
    assert headings.split() == ["PROJECT", "RUNS", "TOKENS", "COST", "SHARE"]
    assert row.split()[1:] == ["2", "2,460,000", "$1.00", "█" * 20]
    assert total == "2 runs, 2,460,000 tokens, $1.00"
    found = json.loads(said("usage", "--by", "project", "--json")[1])
    assert found["incompleteSince"] is None
    assert found["usage"] == [
        {
            "project": found["usage"][0]["project"],
            "runs": 2,
            "tokens": 2_460_000,
            "totalTokens": 2_460_010,
            "cost": 1.0,
        }
    ]
