"""Clocks that jump change nothing but timestamps, and what is secret shows up nowhere."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

import pytest
from tests.fakes.auditor import find_text, read_journal
from tests.fakes.child_modes import takes_long
from tests.fakes.processes import PROC, command_lines, parent_of
from tests.fakes.workplace import answered, comparable
from tests.faults.aftermath import INTERRUPTED, output_of, program
from tests.faults.crashing import POINT_VARIABLE
from tests.faults.records import make_run, make_site

from pi_subagents import errors
from pi_subagents.core import messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.files import MARKER_VARIABLE
from pi_subagents.core.run.result import result_to_json
from pi_subagents.core.run.retention import Look
from pi_subagents.runners import supervisor_start
from pi_subagents.service import runs
from pi_subagents.service.runs import Runs, look_now
from pi_subagents.system import crash_points

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.workplace import Workplace

pytestmark = takes_long
DAY_MS = 86_400_000
# Every look at the time of day is a day away from the last one, forth and back.
JUMPY = (
    "import time\n"
    "real, looks = time.time_ns, iter(range(10**9))\n"
    "time.time_ns = lambda: real() + (-1) ** next(looks) * 86_400_000_000_000\n"
)
BACKWARDS = (
    "import time\n"
    "real, looks = time.time_ns, iter(range(10**9))\n"
    "time.time_ns = lambda: real() - next(looks) * 86_400_000_000_000\n"
)


@pytest.mark.parametrize("clock", [JUMPY, BACKWARDS], ids=["forth and back", "ever backwards"])
async def test_a_time_of_day_that_jumps_changes_no_deadline_and_no_duration(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, clock: str
) -> None:
    monkeypatch.setattr(supervisor_start, "BOOT", clock + supervisor_start.BOOT)
    work = place.delegate(
        "answers", "hangs", timeout_s=2.0, extend_debounce_s=0.0, stop_grace_s=0.2
    )
    child = await place.child("answers")
    await child.tool("bash", {"command": "date"})
    await child.answer_and_exit("now")
    await (await place.child("hangs")).gone()
    answers, hangs = await work.results()
    assert (answers.status, answers.output) == ("completed", "now")
    assert (hangs.status, hangs.error_message) == ("failed", messages.timed_out(2.0))
    for result in (answers, hangs):
        assert result.duration_ms // DAY_MS == 0  # a look at that clock would be a day off
        assert result.finished_at_ms - result.started_at_ms == result.duration_ms
    for run in place.run_dirs():  # in order by their numbers, whatever their times
        times = [entry.time_ms for entry in read_journal(run)]
        assert max(times) - min(times) >= DAY_MS


def test_looks_under_a_clock_that_was_set_back_or_forth_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site(tmp_path)
    finished, lost = make_run(site.runs(), "a"), make_run(site.runs(), "b", finished=False)
    real_ns, real = time.time_ns, time.time
    for days in (-10_000, -1, 1, 20, 40, 10_000, 41):  # far beyond what is kept, too
        monkeypatch.setattr(time, "time_ns", lambda days=days: real_ns() + days * DAY_MS * 10**6)
        monkeypatch.setattr(time, "time", lambda days=days: real() + days * DAY_MS / 1000)
        here = site.runs()
        here.recover()
        assert here.keep_tidy() == []
        assert all(not isinstance(view, Exception) for view in here.newest())
        assert finished.read_result() is not None
        result = lost.read_result()
        assert result is not None
        assert (result.status, result.duration_ms) == ("interrupted", 0)


def test_a_clock_that_stays_ahead_removes_what_is_old_by_it_a_day_later_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site(tmp_path)
    run = make_run(site.runs(), "a")
    begin = look_now()

    def looked(days: float, up_days: float) -> list[str]:
        """Look when the clock says so many days more, and the machine is up for so many."""
        now_ms = begin.now_ms + int(days * DAY_MS)
        now = Look(now_ms, begin.boot, begin.up_s + up_days * 86_400)
        monkeypatch.setattr(runs, "look_now", lambda: now)
        monkeypatch.setattr(time, "time", lambda: now_ms / 1000)
        return [each.run_id for each in site.runs().keep_tidy()]

    assert looked(0, 0) == []
    assert looked(40, 0.01) == []  # ahead
    assert looked(0.02, 0.02) == []  # and back
    assert looked(41, 1.5) == []  # ahead once more: only the time before is proven
    assert run.path.is_dir()
    assert looked(42.1, 2.6) == [run.run_id]
    assert not run.path.exists()


# Secrets


KEY = "sk-canary-4f1d8c27a96be035"
OWN = "sk-canary-own-91c2d7e4"


def all_command_lines() -> bytes:
    return b"\n".join(command_lines().values())


async def test_a_key_in_the_environment_shows_up_nowhere(place: Workplace) -> None:
    """The child gets it, for that is what it is for; nobody else learns of it."""
    env = {**place.env, "ANTHROPIC_API_KEY": KEY}
    notices: list[str] = []
    work = place.delegate_by_api("good", "bad", env=env, on_notice=notices.append, profile=None)
    good, bad = await place.child("good"), await place.child("bad")
    assert good.environment["ANTHROPIC_API_KEY"] == KEY
    await work.sees(ev.StateChanged("running"), "good")
    assert KEY.encode() not in all_command_lines()
    supervisor = parent_of(good.pid)
    assert KEY.encode() in (PROC / str(supervisor) / "environ").read_bytes(), "it was looked for"
    await bad.stderr("no such model\n")
    await bad.exit(1)
    await good.answer_and_exit("done")
    results = await work.results()
    told_to_caller = repr([result_to_json(result) for result in results]) + repr(work.updates)
    assert KEY not in told_to_caller + "".join(notices)
    assert find_text(place.project, KEY.encode()) == []
    assert find_text(place.home, KEY.encode()) == []


async def test_a_key_for_one_run_travels_neither_by_command_line_nor_by_file(
    place: Workplace,
) -> None:
    for run_ends in ("well", "badly"):
        name = f"ends {run_ends}"
        work = place.delegate(name, environment={"OPENAI_API_KEY": OWN, MARKER_VARIABLE: "d" * 32})
        (run,) = [run for run in place.run_dirs() if run.read_meta()["name"] == name]
        child = await place.child(name)
        assert child.environment["OPENAI_API_KEY"] == OWN
        await work.sees(ev.StateChanged("running"))
        supervisor = parent_of(child.pid)
        assert OWN.encode() not in all_command_lines()
        assert OWN.encode() not in (PROC / str(supervisor) / "environ").read_bytes()
        if run_ends == "well":
            await child.answer_and_exit("done")
        else:
            await child.exit(3)
        result = await work.result()
        assert OWN not in repr(result)
        assert find_text(run.path, OWN.encode()) == []
    assert find_text(place.project, OWN.encode()) == []
    assert find_text(place.home, OWN.encode()) == []


async def test_a_key_stays_secret_when_everything_goes_wrong(place: Workplace) -> None:
    env = {
        "ANTHROPIC_API_KEY": KEY,
        POINT_VARIABLE: crash_points.TOOL_CALL,
    }
    async with program(place, "caller.py", "attached", str(place.project), "x", env=env) as caller:
        child = await place.child("x")
        child.tell("tool", name="bash", arguments={"command": "make"})
        output = await output_of(caller)
    assert INTERRUPTED in output
    assert KEY not in output
    Runs(place.project, place.env).recover()
    assert find_text(place.project, KEY.encode()) == []
    assert find_text(place.home, KEY.encode()) == []


async def test_a_program_that_cannot_be_started_does_not_show_the_environment(
    place: Workplace,
) -> None:
    work = place.delegate_by_api(
        "absent", env={**place.env, "KEY": KEY, "PI_SUBAGENTS_PI": "/absent/pi"}
    )
    try:
        shown = repr(await work.results())
    except errors.SubagentsError as refusal:
        shown = str(refusal)
    assert "absent" in shown
    assert KEY not in shown
    assert find_text(place.project, KEY.encode()) == []


# The terminal


async def test_what_a_child_prints_cannot_drive_a_terminal_through_its_transcript(
    place: Workplace,
) -> None:
    hostile = (
        "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\u202e\rgone\x08\x1b]8;;http://x\x07y\x1b\\\U000e0041"
    )
    work = place.delegate_by_api("hostile")
    child = await place.child("hostile")
    await child.tool("bash", {"command": f"echo {hostile}"}, result=hostile)
    await child.line(hostile.encode())
    await child.stderr(hostile + "\n")
    await child.answer_and_exit(hostile)
    result = await work.result()
    assert comparable(result) == answered("hostile", hostile, message_count=4, tool_call_count=1,
                                    usage=result.usage)  # fmt: skip
    run = place.run_dir(child)
    text = run.transcript.read_bytes().decode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\U000e0041]", text), repr(text)
    journal = run.events.read_bytes()
    assert re.fullmatch(rb"[\n -~]*", journal), "the journal keeps it, escaped"
    assert os.path.getsize(run.events) > len(hostile)
