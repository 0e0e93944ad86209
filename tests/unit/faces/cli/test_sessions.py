from __future__ import annotations

import json
import os
import subprocess
import sys
import termios
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from pi_subagents.core.run.result import RunResult
from pi_subagents.core.usage import Usage, usage_to_json
from pi_subagents.faces.cli import main as cli
from pi_subagents.service.runs import Runs
from pi_subagents.service.sessions import session_list
from pi_subagents.store.run_store import new_run_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

NOW = time.time_ns() // 1_000_000
INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)"
NO_TEXT_OUTPUT = "(no text output from sub-agent)"
ESCAPE = "\x1b"


class Place:
    """A project with runs that no process made."""

    def __init__(self, path: Path) -> None:
        self.runs = Runs(path)
        self.locks: list[int] = []

    def run(
        self,
        session: str,
        started: int = NOW,
        *,
        name: str = "count",
        status: str = "completed",
        known: bool = True,
        **result: Any,
    ) -> RunDir:
        """Make a run that ended so, that runs while the test does, or that a crash left."""
        self.runs.store.prepare()
        made = self.runs.store.run_dir(new_run_id())
        meta = {
            "runId": made.run_id, "sessionId": session, "name": name, "createdAt": started - 7,
            "startedAt": started,
        }  # fmt: skip
        lock = made.begin(meta, b"")
        if status == "running":
            self.locks.append(lock)
        else:
            os.close(lock)
        if status not in ("running", "lost"):
            made.write_result(
                RunResult(made.run_id, session, name, status, **result)  # type: ignore[arg-type]  # states and kinds by name
            )
        if known:
            self.runs.index.adopt([made])
        return made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    project = tmp_path / "project"
    (project / ".pi").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PI_SUBAGENTS_DATA", str(tmp_path / "data"))
    made = Place(project)
    yield made
    for lock in made.locks:
        os.close(lock)


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            cli.main(["sessions", *arguments])
        out, err = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return stop.value.code, out, err

    return run


def days(number: int) -> int:
    return NOW - number * 86_400_000


def listed(said: Any, *arguments: str) -> Any:
    code, out, _ = said("--json", *arguments)
    assert code == 0
    return json.loads(out)


def ids(said: Any, *arguments: str) -> list[str]:
    return [session["sessionId"] for session in listed(said, *arguments)["sessions"]]


def test_where_there_is_nothing_it_says_what_to_type(place: Place, said: Any) -> None:
    del place
    hint = 'No sessions here yet. Try: subagents run --offline "List the files"\n'
    assert said() == (0, hint, "")
    assert listed(said) == {"schemaVersion": 1, "total": 0, "sessions": []}


def test_the_table_has_a_line_per_session_newest_first(place: Place, said: Any) -> None:
    place.run("a" * 16, days(3), name="first")
    place.run("b" * 16, days(5), name="other", status="failed", error_message="429")
    place.run("a" * 16, days(2), name="again", model="big")
    place.run("c" * 16, days(4), name="long one", status="running")
    code, out, err = said()
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "SESSION   RUNS  STATUS       AGE  MODEL  TASK",
        "aaaaaaaa  2     ✓ completed  2d   big    again",
        "cccccccc  1     ● running    4d   -      long one",
        "bbbbbbbb  1     ✗ failed     5d   -      other",
    ]


def test_what_was_paid_for_a_session_is_told_where_there_is_any(place: Place, said: Any) -> None:
    place.run("a" * 16, days(2), usage=Usage(cost=0.5))
    place.run("a" * 16, days(1), usage=Usage(cost=0.25))
    place.run("b" * 16, days(3))
    assert said()[1].splitlines() == [
        "SESSION   RUNS  STATUS       AGE  MODEL  COST    TASK",
        "aaaaaaaa  2     ✓ completed  1d   -      0.7500  count",
        "bbbbbbbb  1     ✓ completed  3d   -      -       count",
    ]


def on_a_terminal(columns: int, **env: str) -> list[str]:
    """Return what the real command shows on a real terminal of that width."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    code = "from pi_subagents.faces.cli.main import main; main(['sessions'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**kept, "TERM": "xterm", **env},
        check=True,
    )
    os.close(theirs)
    assert done.stderr == b""
    shown = b""
    with suppress(OSError):  # what Linux says at the end of a terminal
        while part := os.read(ours, 4096):
            shown += part
    os.close(ours)
    return shown.decode().splitlines()


def test_every_line_fits_80_columns_and_cannot_drive_the_terminal(place: Place) -> None:
    place.run(
        "a" * 16, days(20), name=f"{ESCAPE}[31mmany\nwords " * 20, model="m" * 99,
        usage=Usage(cost=123.5),
    )  # fmt: skip
    lines = on_a_terminal(80, NO_COLOR="1")
    assert lines == [
        "SESSION   RUNS  STATUS       AGE  MODEL             COST      TASK",
        "aaaaaaaa  1     ✓ completed  20d  mmmmmmmmmmmmmmm…  123.5000  many words many w…",
    ]
    assert max(map(len, lines)) == 80


def test_a_narrow_terminal_still_sees_how_a_name_begins(place: Place) -> None:
    place.run("a" * 16, days(1), name="a name of some length")
    assert on_a_terminal(20, NO_COLOR="1")[1].endswith("-      a name …")


def test_colours_are_for_terminals_only(place: Place, said: Any) -> None:
    place.run("a" * 16, days(1))
    place.run("b" * 16, days(2), status="failed")
    place.run("c" * 16, days(3), status="running")
    assert ESCAPE not in said()[1]
    starts = [line[:5] for line in on_a_terminal(80)]
    assert starts == [f"{ESCAPE}[1mS", f"{ESCAPE}[32m", f"{ESCAPE}[31m", f"{ESCAPE}[36m"]


def test_a_wide_terminal_has_room_for_a_long_name(place: Place) -> None:
    place.run("a" * 16, days(1), name="n" * 180)
    (_, line) = on_a_terminal(200, NO_COLOR="1")
    assert (len(line), line.count("n")) == (200, 200 - line.index("nn") - 1)


def test_a_session_without_an_answer_is_marked(place: Place, said: Any) -> None:
    place.run("a" * 16, days(1), output=NO_TEXT_OUTPUT)
    assert said()[1].splitlines()[1] == "aaaaaaaa  1     ⚠ completed  1d   -      count"


def test_a_run_without_a_known_start_has_no_age(place: Place, said: Any) -> None:
    made = place.run("a" * 16)
    made.write_meta({"runId": made.run_id, "sessionId": "a" * 16, "name": "n"})
    assert said()[1].splitlines()[1] == "aaaaaaaa  1     ✓ completed  -    -      n"


def test_json_has_every_session_with_its_runs(place: Place, said: Any) -> None:
    usage = Usage(1, 2, 0, 0, 3, 0.5)
    first = place.run("a" * 16, 1000, name="first", status="failed", error_message="429")
    second = place.run("a" * 16, 2000, model="big", usage=usage, exit_code=0, output="secret")
    assert listed(said) == {
        "schemaVersion": 1,
        "total": 1,
        "sessions": [
            {
                "sessionId": "a" * 16,
                "status": "completed",
                "taskName": "count",
                "model": "big",
                "startedAt": 2000,
                "usage": usage_to_json(usage),
                "runCount": 2,
                "runs": [
                    {
                        "runId": first.run_id, "sessionId": "a" * 16, "taskName": "first",
                        "status": "failed", "errorMessage": "429", "exitCode": None,
                        "model": None, "usage": usage_to_json(Usage()), "startedAt": 1000,
                    },
                    {
                        "runId": second.run_id, "sessionId": "a" * 16, "taskName": "count",
                        "status": "completed", "errorMessage": None, "exitCode": 0,
                        "model": "big", "usage": usage_to_json(usage), "startedAt": 2000,
                    },
                ],
            }
        ],
    }  # fmt: skip


def test_a_run_that_waits_its_turn_counts_from_when_it_was_handed_out(
    place: Place, said: Any
) -> None:
    made = place.run("a" * 16, status="running")
    made.write_meta({"runId": made.run_id, "sessionId": "a" * 16, "createdAt": 1000})
    (session,) = listed(said)["sessions"]
    assert (session["startedAt"], session["runs"][0]["status"]) == (1000, "planned")


def test_a_run_that_a_crash_left_is_told_as_an_error(place: Place, said: Any) -> None:
    place.run("a" * 16, status="lost")
    (session,) = listed(said)["sessions"]
    heard = (session["status"], session["runs"][0]["status"], session["runs"][0]["errorMessage"])
    assert heard == ("error", "interrupted", INTERRUPTED)


def test_only_the_newest_32_are_listed_unless_more_are_asked_for(place: Place, said: Any) -> None:
    names = [f"{i:016x}" for i in range(40)]
    for i, session in enumerate(names):
        place.run(session, days(100 - i), status="running" if i == 0 else "completed")
    newest = names[::-1]
    code, out, err = said()
    assert (code, len(out.splitlines())) == (0, 1 + 32)
    assert err == "32 of 40 sessions; --limit N or --all shows more.\n"
    assert ids(said) == [*newest[:31], names[0]]  # what runs is never left out
    assert listed(said)["total"] == 40
    assert ids(said, "--all") == ids(said, "-a") == newest
    assert said("--all")[2] == ""
    assert ids(said, "--limit", "2") == [newest[0], names[0]]
    assert ids(said, "--limit", "35") == [*newest[:34], names[0]]


def test_a_session_of_several_runs_is_listed_whole_or_not_at_all(place: Place, said: Any) -> None:
    place.run("a" * 16, 1000)
    for i in range(33):
        place.run(f"{i:016x}", 2000 + i)
    place.run("a" * 16, 3000)
    assert ids(said) == [f"{i:016x}" for i in range(32, 0, -1)]
    assert listed(said, "--all")["sessions"][0]["runCount"] == 2


def test_what_was_said_is_not_carried_along(place: Place) -> None:
    place.run("a" * 16, output="a long answer")
    (session,) = session_list(place.runs).sessions
    assert (session.latest.output, session.latest.messages) == ("", ())


def test_of_many_runs_the_latest_ten_are_listed(place: Place, said: Any) -> None:
    made = [place.run("a" * 16, 1000 + i).run_id for i in range(12)]
    (session,) = listed(said)["sessions"]
    assert ([run["runId"] for run in session["runs"]], session["runCount"]) == (made[2:], 10)


def test_runs_stand_in_the_order_of_their_starts(place: Place, said: Any) -> None:
    later, earlier = place.run("a" * 16, 2000), place.run("a" * 16, 1000)
    (session,) = listed(said)["sessions"]
    assert [run["runId"] for run in session["runs"]] == [earlier.run_id, later.run_id]


def test_what_cannot_be_asked_for_by_its_session_is_not_listed(place: Place, said: Any) -> None:
    place.run("a" * 16)
    place.run("b" * 16, known=False)  # it came with a cloned repository
    place.run("")
    damaged = place.run("c" * 16)
    damaged.meta.write_bytes(b"{")
    assert ids(said) == ["a" * 16]


def test_without_an_index_everything_readable_is_listed(
    place: Place, said: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.run("a" * 16)
    (tmp_path / "file").touch()
    monkeypatch.setenv("PI_SUBAGENTS_DATA", str(tmp_path / "file"))
    assert ids(said) == ["a" * 16]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--all", "--limit", "3"), "Error: --all and --limit contradict each other.\n"),
        (("--limit", "0"), "Error: Invalid value for '--limit': 0 is not in the range x>=1.\n"),
    ],
)
def test_a_bound_that_makes_no_sense_is_refused(
    place: Place, said: Any, arguments: tuple[str, ...], message: str
) -> None:
    del place
    code, out, err = said(*arguments)
    assert (code, out) == (2, "")
    assert err.endswith(message)


# A part of what was said


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        ((), "one\ntwo (2)\nthree\nfour\n"),
        (("--grep", "(2)"), "2:two (2)\n"),
        (("--grep", "^t.*e$", "--regex", "--context", "1"), "2-two (2)\n3:three\n4-four\n"),
        (("--grep", "o", "--limit", "5"), "1:one\n"),
        (("--grep", "nine"), "(none of the 4 lines has it)\n"),
        (("--offset", "4", "--limit", "3"), "two\n"),
        (("--tail", "4"), "four\n"),
    ],
)
def test_a_part_of_an_answer_is_printed(
    place: Place, capsys: pytest.CaptureFixture[str], chosen: tuple[str, ...], shown: str
) -> None:
    place.run("5" * 16, output="one\ntwo (2)\nthree\nfour")
    for verb in ("output", "session"):
        with pytest.raises(SystemExit) as stop:
            cli.main([verb, "5" * 16, *chosen])
        assert (stop.value.code, capsys.readouterr().out) == (0, shown), verb


def test_a_pattern_that_is_none_is_refused(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.run("5" * 16, output="one")
    with pytest.raises(SystemExit) as stop:
        cli.main(["output", "5" * 16, "--grep", "(", "--regex"])
    assert stop.value.code == cli.EXIT_REFUSED
    assert "grep: is no pattern: " in capsys.readouterr().err
