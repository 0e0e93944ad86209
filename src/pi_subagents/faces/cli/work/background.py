"""`subagents background`: start, list, wait for and stop background runs."""

from __future__ import annotations

import asyncio
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.faces.cli import completing, messages, options
from pi_subagents.faces.cli.given import FiniteRange, text_or_typed
from pi_subagents.faces.cli.look.runs import print_end, print_heading
from pi_subagents.faces.cli.look.sessions import print_answer
from pi_subagents.faces.cli.main import EXIT_FAILED
from pi_subagents.faces.cli.suggesting import SuggestingGroup
from pi_subagents.faces.cli.table import print_table, status_cell, style_of
from pi_subagents.faces.cli.work.asking import ask
from pi_subagents.view.amounts import large
from pi_subagents.view.failure import explain_failure
from pi_subagents.view.messages import LAST_WORDS, background_not_started
from pi_subagents.view.states import state_of
from pi_subagents.view.time_spent import age

if TYPE_CHECKING:
    from pi_subagents.core.preset.request import StatusRequest
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.background import BackgroundRuns
    from pi_subagents.service.call import Options

HEADINGS = ("RUN", "STATUS", "AGE", "PRESET", "TASK")
FOLLOW_S = 0.2
MAX_PRESET = 24
MAX_NAME = 40  # of a run that failed, so that there is room for the reason
MAX_ERROR = 200


@click.group("background", cls=SuggestingGroup)
def background() -> None:
    """
    Start, list, wait for and stop background runs.

    A background run goes on after the terminal is closed and after you log out. These commands
    find it again from any directory. RUN is any id of a run or a session, or its first characters,
    the name of a task, or `last`.

    \b
    Examples:
      subagents background start repo-scout "Which modules have no tests?"
      subagents background status
      subagents background wait && subagents background status --all
      subagents background logs -f 3f2a
      subagents background stop 3f2a
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"


@background.command("start")
@click.argument("preset", shell_complete=completing.presets)
@click.argument("task", metavar="TASK|-")
@click.option("--model", help="Model, instead of the preset's.")
@options.engine_option
@options.on_option
@click.option("--cwd", help="Working directory (default: this one).")
@options.budget_options
@options.schema_option
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
    engine: str | None,
    on: str | None,
    cwd: str | None,
    budget: dict[str, str] | None,
    schema: object,
    trust_project: bool,
    offline: bool,
    as_json: bool,
) -> int:
    """
    Start TASK with PRESET and return at once with the run's id.

    Exit code: 0 started, 1 it could not be started, 2 refused.
    """
    text = text_or_typed(console, task, "the task")
    parameters = {
        "preset": preset, "task": text, "model": model, "engine": engine, "cwd": cwd,
        "outputSchema": schema,
    }  # fmt: skip
    chosen: Options = {
        "budget": budget,
        "offline": offline,
        "trust_project": trust_project,
        "runner": options.runner_of(None, on),
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
        console.answer(background_not_started(run.meta.preset, run.short_id, run.error_message))
        return EXIT_FAILED
    console.answer(messages.background_started(run.meta.preset, run.short_id))
    return 0


@background.command("status")
@options.id_argument("run", "[RUN]", required=False)
@options.all_option("All of them, not only those that are active.")
@options.wait_option(0.0, "Wait up to SECONDS.")
@options.json_option
@click.pass_obj
def status(
    console: Console, *, run: str | None, show_all: bool, wait_s: float, as_json: bool
) -> None:
    """
    List the background runs that are active, or show one RUN with its answer.

    --wait waits until RUN has ended; without RUN, until the first active one has.
    """
    if as_json:
        parameters = {"runId": run, "includeCompleted": show_all, "waitSeconds": wait_s}
        print_answer(console, "background_agent_status", parameters, as_json=True)
        return
    from pi_subagents.core.preset.request import StatusRequest

    known = _known()
    if run:
        run_id = known.find(run).run_id
        _wait(known, StatusRequest(run_id, wait_s=wait_s))
        _print_run(console, known.find(run_id))
        return
    runs = _wait(known, StatusRequest(wait_s=wait_s))
    shown = [each for each in runs if show_all or each.active]
    if shown:
        _table(console, shown)
    elif not show_all and runs:
        console.answer(messages.NOTHING_RUNNING)
    else:
        console.answer(messages.NO_BACKGROUND_RUNS)
    if len(shown) < len(runs):
        console.notice(messages.ended_left_out(len(shown), len(runs)))


@background.command("wait")
@options.id_argument("runs", "[RUN]...", many=True, required=False)
@click.option("--timeout", type=FiniteRange(0), metavar="SECONDS", help="Wait up to SECONDS.")
@click.pass_obj
def wait(console: Console, *, runs: tuple[str, ...], timeout: float | None) -> int:
    """
    Wait until every RUN has ended; without RUN, until all that are active have.

    The wait ends, too, when one of them asks something (`subagents answer` shows it).
    Exit code: 0 all completed, 1 some did not, one asks, or the time was up.
    """
    from pi_subagents.core.preset.request import StatusRequest

    known = _known()
    found = [known.find(run) for run in runs] or [run for run in known.all() if run.active]
    wanted = list(dict.fromkeys(run.run_id for run in found))
    deadline = time.monotonic() + (timeout if timeout is not None else 10**9)
    while True:
        mine = [known.find(run_id) for run_id in wanted]
        asks = any(run.question for run in mine)
        if asks or not any(run.active for run in mine) or time.monotonic() >= deadline:
            break
        running = next(run.run_id for run in mine if run.active)
        left = min(max(deadline - time.monotonic(), 0), 60)
        _wait(known, StatusRequest(run_id=running, wait_s=left))
    if mine:
        _table(console, mine)
    else:
        console.notice(messages.NOTHING_RUNNING)
    return 0 if all(run.status == "completed" for run in mine) else 1


@background.command("stop")
@options.id_argument("run", "[RUN]", required=False)
@options.all_option("All of them.")
@options.json_option
@click.pass_obj
def stop(console: Console, *, run: str | None, show_all: bool, as_json: bool) -> None:
    """Stop one RUN, or every background run with --all."""
    if bool(run) == show_all:
        raise click.UsageError("Name a RUN, or add --all to stop every background run.")
    if as_json:
        print_answer(console, "background_agent_stop", {"runId": run or None}, as_json=True)
        return
    stopped = asyncio.run(_known().stop(run or None))
    for each in stopped:
        print_end(console, each)
    if not stopped:
        console.answer(messages.NOTHING_RUNNING)


@background.command("logs")
@options.id_argument("run", "RUN")
@click.option("-f", "--follow", is_flag=True, help="Go on until the run has ended.")
@click.pass_obj
def logs(console: Console, *, run: str, follow: bool) -> None:
    """Print what a RUN has done so far: its transcript."""
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
        ended_so = state_of(known.find(found.run_id)).word
        console.notice(f"Run {found.short_id}: {ended_so}")


def _known() -> BackgroundRuns:
    from pi_subagents.service.background import BackgroundRuns
    from pi_subagents.service.runs import Runs

    return BackgroundRuns(Runs())


def _wait(known: BackgroundRuns, request: StatusRequest) -> list[RunRecord]:
    from pi_subagents.core.stop_switch import StopSwitch

    return asyncio.run(known.wait(request, StopSwitch()))


def _print_run(console: Console, run: RunRecord) -> None:
    print_heading(console, run)
    if run.output and run.status != "completed":
        console.answer(f"\n{LAST_WORDS}")
    if run.output:
        console.answer(f"\n{run.output}")


def _task(run: RunRecord) -> str:
    """Return what a run is about, and why it waits or failed if it does or did."""
    why = run.why_it_waits
    if state_of(run).role in ("bad", "lost"):
        why = one_line(explain_failure(run.error_message).what, MAX_ERROR)
    shown = f"{one_line(run.title, MAX_NAME)} — {why}" if why else run.title
    return f"{large(run.usage)} {shown}".lstrip()


def _table(console: Console, runs: list[RunRecord]) -> None:
    now = time.time() * 1000
    rows = [
        (
            run.short_id,
            status_cell(run),
            age(now - run.meta.created_at_ms),
            one_line(run.meta.preset, MAX_PRESET) or "-",
            _task(run),
        )
        for run in runs
    ]
    print_table(console, HEADINGS, rows, [style_of(run) for run in runs])
