"""`subagents background`: runs that go on by themselves, and how they stand."""

from __future__ import annotations

import asyncio
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.console import width
from pi_subagents.faces.cli.given import FiniteRange, text_or_typed
from pi_subagents.faces.cli.look.sessions import print_answer
from pi_subagents.faces.cli.main import EXIT_FAILED
from pi_subagents.faces.cli.table import duration, print_table, room_for_last
from pi_subagents.faces.cli.work.asking import ask
from pi_subagents.view.messages import background_not_started

if TYPE_CHECKING:
    from pi_subagents.core.preset.request import StatusRequest
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.background import BackgroundRuns
    from pi_subagents.service.call import Options

HEADINGS = ("RUN", "STATUS", "AGE", "PRESET", "TASK")
COLOURS = {"completed": "green", "failed": "red", "aborted": "yellow"}
FOLLOW_S = 0.2
SHOWN_ID = 8
NOTHING = "No background runs. Start one: subagents background start PRESET TASK"
STARTED = """\
Started {preset} in the background as run {run}.
How it stands, and its answer: subagents background status {run}"""
ENDED_ONES = "None is running; --all lists those that ended."
NOTHING_TO_WAIT_FOR = "Nothing is running."


@click.group("background")
def background() -> None:
    """
    Start runs that go on by themselves, and look after them from anywhere.

    A background run survives the end of whoever started it, the terminal and the log-out. It is
    found again by every later call, from any directory.

    \b
    Examples:
      subagents background start repo-scout "Which modules have no tests?"
      subagents background status
      subagents background wait && subagents background status --all
      subagents background logs -f 3f2a
      subagents background stop 3f2a
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"


@background.command("start")
@click.argument("preset")
@click.argument("task", metavar="TASK|-")
@click.option("--model", help="Model, instead of the preset's.")
@click.option("--cwd", help="Working directory (default: this one).")
@options.trust_option
@options.offline_option
@options.json_option
@click.pass_obj
def start(
    console: Console,
    *,
    preset: str,
    task: str,
    model: str | None,
    cwd: str | None,
    trust_project: bool,
    offline: bool,
    as_json: bool,
) -> int:
    """
    Start TASK with PRESET and return at once with the run's id.

    Exit code: 0 started, 1 it could not be started, 2 refused.
    """
    text = text_or_typed(console, task, "the task")
    parameters = {"preset": preset, "task": text, "model": model, "cwd": cwd}
    chosen: Options = {
        "offline": offline,
        "trust_project": trust_project,
        "on_notice": console.notice,
    }
    if sys.stdin.isatty() and sys.stderr.isatty():
        chosen["ask"] = partial(ask, console)
    if as_json:
        print_answer(console, "background_agent", parameters, chosen, as_json=True)
        return 0
    from pi_subagents.core.preset.request import parse_background
    from pi_subagents.service.background import ask_and_start
    from pi_subagents.view.background import never_started

    run = asyncio.run(ask_and_start(parse_background(parameters, str(Path.cwd())), chosen))
    if never_started(run):
        console.answer(background_not_started(run.meta.preset, run.run_id, run.error_message))
        return EXIT_FAILED
    console.answer(STARTED.format(preset=run.meta.preset, run=run.run_id[:SHOWN_ID]))
    return 0


@background.command("status")
@click.argument("run", required=False)
@click.option("-a", "--all", "everything", is_flag=True, help="Ended runs too.")
@options.wait_option(0.0, "Wait so long.")
@options.json_option
@click.pass_obj
def status(
    console: Console, *, run: str | None, everything: bool, wait_s: float, as_json: bool
) -> None:
    """
    Show how background runs stand: all that are active, or one RUN with its answer.

    The beginning of a RUN id is enough. With --wait: until it ended, or the first active one.
    """
    if as_json or run:
        parameters = {"runId": run, "includeCompleted": everything, "waitSeconds": wait_s}
        print_answer(console, "background_agent_status", parameters, as_json=as_json)
        return
    from pi_subagents.core.preset.request import StatusRequest
    from pi_subagents.view.background import counts, footer

    runs = _wait(_known(), StatusRequest(wait_s=wait_s))
    shown = [each for each in runs if everything or each.active]
    if shown:
        _table(console, shown)
    console.answer(footer(counts(runs)) if runs else NOTHING)
    if runs and not shown:
        console.notice(ENDED_ONES)


@background.command("wait")
@click.argument("runs", nargs=-1)
@click.option("--timeout", type=FiniteRange(0), help="Give up after so many seconds.")
@click.pass_obj
def wait(console: Console, *, runs: tuple[str, ...], timeout: float | None) -> int:
    """
    Wait until RUNS ended, or all that are active.

    Exit code: 0 all completed, 1 some failed or the time was up.
    """
    from pi_subagents.core.preset.request import StatusRequest

    known = _known()
    wanted = {known.find(run).run_id for run in runs} or {
        run.run_id for run in known.all() if run.active
    }
    deadline = time.monotonic() + (timeout if timeout is not None else 10**9)
    while True:
        mine = [run for run in known.all() if run.run_id in wanted]
        if not any(run.active for run in mine) or time.monotonic() >= deadline:
            break
        running = next(run.run_id for run in mine if run.active)
        left = min(max(deadline - time.monotonic(), 0), 60)
        _wait(known, StatusRequest(run_id=running, wait_s=left))
    if mine:
        _table(console, mine)
    else:
        console.notice(NOTHING_TO_WAIT_FOR)
    return 0 if all(run.status == "completed" for run in mine) else 1


@background.command("stop")
@click.argument("run", required=False)
@click.option("--all", "everything", is_flag=True, help="All that are active.")
@options.json_option
@click.pass_obj
def stop(console: Console, *, run: str | None, everything: bool, as_json: bool) -> None:
    """Stop one RUN, or all with --all."""
    if bool(run) == everything:
        raise click.UsageError("Name a RUN, or say --all.")
    print_answer(console, "background_agent_stop", {"runId": run or None}, as_json=as_json)


@background.command("logs")
@click.argument("run")
@click.option("-f", "--follow", is_flag=True, help="Go on until the run ended.")
@click.pass_obj
def logs(console: Console, *, run: str, follow: bool) -> None:
    """Print what a RUN has done so far: its transcript."""
    from pi_subagents.view.background import background_status

    known = _known()
    found = known.find(run)
    run_dir = known.directory(found)
    path = run_dir.transcript
    shown = 0
    while True:
        ended = not run_dir.alive()  # asked before reading: nothing is missed
        if path.exists():
            with path.open("rb") as file:
                file.seek(shown)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1] if not ended else data
            shown += len(whole)
            click.echo(printable(whole.decode("utf-8", "replace")), nl=False)
            sys.stdout.flush()
        if ended or not follow:
            break
        time.sleep(FOLLOW_S)
    if follow:
        console.notice(f"Run {found.run_id}: {background_status(known.find(found.run_id))}")


def _known() -> BackgroundRuns:
    from pi_subagents.service.background import BackgroundRuns
    from pi_subagents.service.runs import Runs

    return BackgroundRuns(Runs())


def _wait(known: BackgroundRuns, request: StatusRequest) -> list[RunRecord]:
    from pi_subagents.core.stop_switch import StopSwitch

    return asyncio.run(known.wait(request, StopSwitch()))


def _table(console: Console, runs: list[RunRecord]) -> None:
    from pi_subagents.view.background import background_status

    now = time.time() * 1000
    rows = [
        (
            run.run_id[:SHOWN_ID],
            background_status(run),
            duration(now - run.meta.created_at_ms),
            one_line(run.meta.preset, 24),
        )
        for run in runs
    ]
    room = max(room_for_last(HEADINGS[:-1], rows, width(sys.stdout)), 20)
    whole = [
        (*row, one_line(run.error_message or run.meta.task, room))
        for row, run in zip(rows, runs, strict=True)
    ]
    print_table(console, HEADINGS, whole, COLOURS)
