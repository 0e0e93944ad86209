"""
`subagents runs`, `show` and `stop`: what ran here or is running, one run in full, the end of one.

In: the runs of this project, by id or the beginning of one.  Out: a table, text or JSON; only
`stop` changes anything.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.usage import usage_to_json
from pi_subagents.errors import RunUnreadable
from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.table import duration, print_table

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.faces.cli.console import Console

COLOURS = {"completed": "green", "failed": "red", "aborted": "yellow", "interrupted": "yellow"}
NEWEST = 20
NOTHING_YET = 'No runs here yet. Try: subagents run --offline "List the files"'
HEADINGS = ("RUN", "STATUS", "AGE", "DURATION", "TOKENS", "NAME")
MAX_TOOLS = 5
MAX_TOOL_NAME = 60


@click.command("runs")
@click.option("--all", "show_all", is_flag=True, help="All of them, not only the newest 20.")
@click.option("--active", is_flag=True, help="Only those still running.")
@options.json_option
@click.pass_obj
def runs(console: Console, *, show_all: bool, active: bool, as_json: bool) -> None:
    """
    List the runs of this project, newest first.

    The beginning of a RUN id is enough for `show` and `stop`.
    """
    from pi_subagents.service.runs import Runs

    found: list[RunRecord] = []
    for run in Runs().newest():
        if isinstance(run, RunUnreadable):
            console.notice(str(run))
        elif run.active or not active:
            found.append(run)
        if not show_all and len(found) >= NEWEST:
            break
    if as_json:
        console.json({"runs": [_run_to_json(run) for run in found]})
    elif found:
        _table(console, found)
    else:
        console.answer("Nothing is running." if active else NOTHING_YET)


@click.command("show")
@click.argument("run")
@click.option("--output", "only_output", is_flag=True, help="Print the answer and nothing else.")
@options.json_option
@click.pass_obj
def show(console: Console, *, run: str, only_output: bool, as_json: bool) -> None:
    """
    Show one RUN: result, transcript, files.

    RUN is an id from `subagents runs` or its first characters.
    """
    from pi_subagents.service.runs import Runs

    found = Runs().find(run)
    if as_json:
        _print_json(console, found)
    elif only_output:
        console.answer(found.output)
    else:
        _print_run(console, found)


@click.command("stop")
@click.argument("run")
@click.option(
    "--force",
    is_flag=True,
    help="Do not wait five seconds for a clean end, and end a run that does not answer, too.",
)
@click.pass_obj
def stop(console: Console, *, run: str, force: bool) -> None:
    """
    Stop one RUN and wait until its whole process tree is gone.

    The run ends as aborted; its result says so, and its siblings go on.
    """
    from pi_subagents.service.runs import Runs

    known = Runs()
    found = known.find(run)
    if found.active:
        console.progress(f"Stopping {found.name} ({found.run_id[:12]})...")
    ended = known.stop(found, force=force)
    console.answer(f"{ended.name}: {ended.status}")


def _run_to_json(run: RunRecord) -> dict[str, object]:
    return {
        "runId": run.run_id,
        "sessionId": run.session_id,
        "name": run.name,
        "status": run.status,
        "createdAt": run.meta.created_at_ms,
        "durationMs": run.duration_ms,
        "usage": usage_to_json(run.usage),
        "errorMessage": run.error_message or None,
        "path": run.path,
    }


def _table(console: Console, found: list[RunRecord]) -> None:
    now = time.time() * 1000
    rows = [
        (
            run.run_id[:12],
            run.status,
            duration(now - run.meta.created_at_ms),
            duration(run.duration_ms) if run.duration_ms else "-",
            f"{run.usage.total_tokens:,}" if run.usage.total_tokens else "-",
            one_line(run.name, 50),
        )
        for run in found
    ]
    print_table(console, HEADINGS, rows, COLOURS)


def _print_json(console: Console, run: RunRecord) -> None:
    from pi_subagents.core.run.result import result_to_json
    from pi_subagents.service.run_contents import files_of, meta_of, transcript_of

    console.json(
        {
            **_run_to_json(run),
            "meta": meta_of(run),
            "result": result_to_json(run.result) if run.result else None,
            "transcript": transcript_of(run),
            "files": files_of(run),
        }
    )


def _print_run(console: Console, run: RunRecord) -> None:
    from pi_subagents.service.run_contents import files_of, transcript_of

    console.answer(f"{run.name}: {run.status} after {duration(run.duration_ms)}", bold=True)
    console.answer(f"run {run.run_id}, session {run.session_id}")
    console.answer(f"in {run.meta.cwd}")
    if run.usage.total_tokens:
        billed = " (billed by the provider)" if run.usage.cost_is_billed else ""
        cost = f", cost {run.usage.cost:.4f}{billed}" if run.usage.cost else ""
        console.answer(f"{run.usage.total_tokens:,} tokens{cost}")
    if took := _time_spent(run):
        console.answer(took)
    if run.error_message:
        console.answer(run.error_message, fg="red")
    for note in run.result.notes if run.result else ():
        console.answer(f"({note})", dim=True)
    sections = [("Task", run.meta.task), ("Transcript", transcript_of(run))]
    for title, text in [*sections, *([("Answer", run.output)] if run.output else [])]:
        console.answer(f"\n{title}", bold=True)
        console.answer(text)
    console.answer("\nFiles", bold=True)
    for path in files_of(run):
        console.answer(path)


def _time_spent(run: RunRecord) -> str:
    """Return what took how long, as far as the child reported it; transcripts have no times."""
    from pi_subagents.service.run_contents import events_of
    from pi_subagents.view.time_spent import time_spent

    spent = time_spent(events_of(run))
    parts = [f"model {duration(spent.model_ms)}"] if spent.model_ms else []
    if spent.tools:
        slowest = [
            f"{one_line(each.name, MAX_TOOL_NAME)} {duration(each.total_ms)}"
            + (f" in {each.calls} calls" if each.calls > 1 else "")
            for each in spent.tools[:MAX_TOOLS]
        ]
        more = len(spent.tools) - len(slowest)
        listed = ", ".join([*slowest, *([f"{more} more"] if more else [])])
        parts.append(f"tools {duration(spent.tools_ms)} ({listed})")
    return ", ".join(parts)
