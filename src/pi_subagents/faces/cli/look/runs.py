"""
`subagents runs`, `show` and `stop`: what ran here or is running, one run in full, the end of one.

In: the runs of this project; one by any id, the beginning of one, a task's name, or `last`.  Out: a
table, text or JSON; only `stop` changes anything.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.question import waiting_part
from pi_subagents.core.run.record import short_id
from pi_subagents.core.run.result import work_to_json
from pi_subagents.core.usage import Usage, usage_to_json
from pi_subagents.errors import RunUnreadable
from pi_subagents.faces.cli import messages, options
from pi_subagents.faces.cli.look.timeline import print_timelines, timelines_to_json
from pi_subagents.faces.cli.table import print_table, status_cell, style_of
from pi_subagents.view.amounts import marked, money
from pi_subagents.view.failure import ending_lines, explain_failure
from pi_subagents.view.messages import LAST_WORDS
from pi_subagents.view.states import state_of
from pi_subagents.view.time_spent import age, length, part_length

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.faces.cli.console import Console

NEWEST = 20
HEADINGS = ("RUN", "STATUS", "AGE", "TIME", "TOKENS", "TASK")
MAX_TOOLS = 5
MAX_TOOL_NAME = 60
MAX_NAME = 60


@click.command("runs")
@options.all_option("All of them, not only the newest 20.")
@options.limit_option("The newest N.")
@click.option("--active", is_flag=True, help="Only those that have not ended.")
@click.option("--timeline", is_flag=True, help="Draw when each did what, call by call.")
@options.json_option
@click.pass_obj
def runs(
    console: Console,
    *,
    show_all: bool,
    limit: int | None,
    active: bool,
    timeline: bool,
    as_json: bool,
) -> None:
    """
    List the runs of this project, newest first.

    Every other command takes the short ids under RUN. With --timeline each run is a bar: when it
    waited, worked, called tools. Runs of one call are together, on one scale of time.
    """
    from pi_subagents.service.runs import Runs

    most = options.most_of(show_all=show_all, limit=limit, default=NEWEST)
    known = Runs()
    found: list[RunRecord] = []
    for run in known.newest():
        if isinstance(run, RunUnreadable):
            console.notice(str(run))
        elif run.active or not active:
            found.append(run)
        if most and len(found) >= most and not active:
            break
    total = len(found) if active else max(len(found), len(known.here()))
    shown = found[:most]
    if as_json:
        drawn = timelines_to_json(shown) if timeline else {}
        console.json({"total": total, "runs": [_run_to_json(run) for run in shown], **drawn})
    elif shown and timeline:
        print_timelines(console, shown)
    elif shown:
        _table(console, shown)
    else:
        console.answer(messages.NOTHING_RUNNING if active else messages.NO_RUNS_YET)
    if most and total > most:
        console.notice(messages.left_out(len(shown), total, "runs"))


@click.command("show")
@options.id_argument("run", "RUN")
@click.option("--output", "only_output", is_flag=True, help="Print the answer and nothing else.")
@options.json_option
@click.pass_obj
def show(console: Console, *, run: str, only_output: bool, as_json: bool) -> None:
    """
    Show one RUN: task, transcript, answer, files.

    RUN is any id of a run or a session, or its first characters, the name of a task, or `last`.
    """
    from pi_subagents.service.runs import Runs

    found = Runs().find(run)
    if as_json:
        _print_json(console, found)
    elif only_output:
        console.answer(found.output)
        if found.output and found.status != "completed":
            console.notice(LAST_WORDS)
    else:
        _print_run(console, found)


@click.command("stop")
@options.id_argument("run", "RUN")
@click.option(
    "--force",
    is_flag=True,
    help="Do not wait five seconds for a clean end, and end a run that does not answer, too.",
)
@click.pass_obj
def stop(console: Console, *, run: str, force: bool) -> None:
    """
    Stop one RUN and wait until its whole process tree is gone.

    RUN is any id of a run or a session, or its first characters, the name of a task, or `last`. Its
    result says that it was stopped; runs beside it go on.
    """
    from pi_subagents.service.runs import Runs

    known = Runs()
    found = known.find(run)
    if found.active:
        console.progress(f"Stopping {_name(found)} ({found.short_id})...")
    print_end(console, known.stop(found, force=force))


def print_heading(console: Console, run: RunRecord) -> None:
    """Print how a run stands, its ids, and what went wrong."""
    state = state_of(run)
    after = f" after {length(run.duration_ms)}" if run.duration_ms else ""
    console.answer(f"{state.sign} {_name(run)}: {state.word}{after}", bold=True)
    resumed = f", resumed ({run.resumed})" if run.resumed else ""
    fork = f", forked from {short_id(run.meta.forked_from)}" if run.meta.forked_from else ""
    agent = f", on {run.agent}" if run.agent else ""
    worker = f", on the {run.worker}" if run.worker else ""
    ids = f"run {run.short_id}, session {short_id(run.session_id)}"
    console.answer(f"{ids}{agent}{worker}{resumed}{fork}")
    console.answer(f"in {run.meta.cwd}")
    if run.why_it_waits:
        console.answer(run.why_it_waits)
    if run.work:
        console.answer(run.work)
    lines = ending_lines(run.error_message, run.result.notes if run.result else ())
    for number, text in enumerate(lines):
        failed = number == 0 and run.error_message
        console.answer(text, **(style_of(run) if failed else {"dim": True}))


def print_end(console: Console, run: RunRecord) -> None:
    """Print how a run ended that was stopped, perhaps too late."""
    console.answer(f"{_name(run)} ({run.short_id}): {state_of(run).word}")


def _name(run: RunRecord) -> str:
    return one_line(run.title, MAX_NAME)


def _run_to_json(run: RunRecord) -> dict[str, object]:
    return {
        "runId": run.run_id,
        "sessionId": run.session_id,
        "callId": run.meta.call_id or None,
        "name": run.name,
        "status": run.status,
        "createdAt": run.meta.created_at_ms,
        "durationMs": run.duration_ms,
        "usage": usage_to_json(run.usage),
        "errorMessage": run.error_message or None,
        **waiting_part(run.waiting_for),
        **work_to_json(run.result),
        "resumed": run.resumed or None,
        "engine": run.meta.engine or None,
        **({"worker": run.meta.worker} if run.meta.worker else {}),
        "path": run.path,
    }


def _table(console: Console, found: list[RunRecord]) -> None:
    now = time.time() * 1000
    worked = any(run.work for run in found)
    headings = (*HEADINGS[:-1], *([messages.WORK_HEADING] if worked else []), HEADINGS[-1])
    rows = [
        (
            run.short_id,
            status_cell(run),
            age(now - run.meta.created_at_ms),
            age(run.duration_ms) if run.duration_ms else "-",
            marked(f"{run.usage.total_tokens:,}", run.usage) if run.usage.total_tokens else "-",
            *([run.work or "-"] if worked else []),
            f"{_name(run)} — {elsewhere}"
            if (elsewhere := run.why_it_waits or run.worker)
            else run.title,
        )
        for run in found
    ]
    print_table(console, headings, rows, [style_of(run) for run in found])
    used = sum((run.usage for run in found), Usage())
    if used.total_tokens:
        paid = money(used.cost) if used.cost else ""
        total = messages.spent_in_all(len(found), f"{used.total_tokens:,}", paid)
        console.answer(total, dim=True)


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
    from pi_subagents.service.run_contents import files_of, said_in, task_of

    print_heading(console, run)
    if run.usage.total_tokens:
        billed = " (billed by the provider)" if run.usage.cost_is_billed else ""
        cost = f", cost {run.usage.cost:.4f}{billed}" if run.usage.cost else ""
        console.answer(f"{run.usage.total_tokens:,} tokens{cost}")
    if took := _time_spent(run):
        console.answer(took)
    said_above = run.error_message in explain_failure(run.error_message).lines
    sections = {
        "Task": task_of(run),
        # What was said last stands below it, under a heading of its own.
        "Transcript": said_in(run).removesuffix(run.output.rstrip()).rstrip(),
        "Answer" if run.status == "completed" else LAST_WORDS: run.output,
        # As a provider put it, where it is said in other words above.
        "Error": "" if said_above else run.error_message,
    }
    for title, text in sections.items():
        if text:
            console.answer(f"\n{title}", bold=True)
            console.answer(text)
    console.answer(f"\nFiles in {run.path}", bold=True)
    console.answer("  ".join(Path(path).name for path in files_of(run)))


def _time_spent(run: RunRecord) -> str:
    """Return what took how long, as far as the child reported it; transcripts have no times."""
    from pi_subagents.service.run_contents import events_of
    from pi_subagents.view.time_spent import time_spent

    spent = time_spent(events_of(run))
    parts = [f"model {part_length(spent.model_ms)}"] if spent.model_ms else []
    if spent.tools:
        slowest = [
            f"{one_line(each.name, MAX_TOOL_NAME)} {part_length(each.total_ms)}"
            + (f" in {each.calls} calls" if each.calls > 1 else "")
            for each in spent.tools[:MAX_TOOLS]
        ]
        more = len(spent.tools) - len(slowest)
        listed = ", ".join([*slowest, *([f"{more} more"] if more else [])])
        parts.append(f"tools {part_length(spent.tools_ms)} ({listed})")
    return ", ".join(parts)
