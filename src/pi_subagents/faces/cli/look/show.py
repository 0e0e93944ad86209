"""`subagents show`: one run, its answer, what happened and where its files are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.faces.cli.console import Console

MAX_TOOLS = 5
MAX_NAME = 60


@click.command("show")
@click.argument("run")
@click.option("--output", "only_output", is_flag=True, help="Print the answer and nothing else.")
@options.json_option
@click.pass_obj
def command(console: Console, *, run: str, only_output: bool, as_json: bool) -> None:
    """
    Show one RUN: result, transcript, files.

    RUN is an id from `subagents runs` or its first characters.
    """
    from pi_subagents.service.runs import Runs

    found = Runs().find(run)
    if as_json:
        _json(console, found)
    elif only_output:
        console.answer(found.output)
    else:
        _people(console, found)


def _json(console: Console, run: RunRecord) -> None:
    from pi_subagents.core.run.result import result_to_json
    from pi_subagents.faces.cli.look.runs import run_to_json
    from pi_subagents.service.run_contents import files_of, meta_of, transcript_of

    console.json(
        {
            **run_to_json(run),
            "meta": meta_of(run),
            "result": result_to_json(run.result) if run.result else None,
            "transcript": transcript_of(run),
            "files": files_of(run),
        }
    )


def _people(console: Console, run: RunRecord) -> None:
    from pi_subagents.faces.cli.look.runs import duration
    from pi_subagents.service.run_contents import files_of, transcript_of

    length = duration(run.duration_ms)
    console.answer(f"{run.name}: {run.status} after {length}", bold=True)
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
    console.answer("\nTask", bold=True)
    console.answer(run.meta.task)
    console.answer("\nTranscript", bold=True)
    console.answer(transcript_of(run))
    if run.output:
        console.answer("\nAnswer", bold=True)
        console.answer(run.output)
    console.answer("\nFiles", bold=True)
    for path in files_of(run):
        console.answer(path)


def _time_spent(run: RunRecord) -> str:
    """Return what took how long, as far as the child told; transcripts say nothing of it."""
    from pi_subagents.core.plain_text import one_line
    from pi_subagents.faces.cli.look.runs import duration
    from pi_subagents.service.run_contents import events_of
    from pi_subagents.view.time_spent import time_spent

    spent = time_spent(events_of(run))
    parts = [f"model {duration(spent.model_ms)}"] if spent.model_ms else []
    if spent.tools:
        slowest = [
            f"{one_line(each.name, MAX_NAME)} {duration(each.total_ms)}"
            + (f" in {each.calls} calls" if each.calls > 1 else "")
            for each in spent.tools[:MAX_TOOLS]
        ]
        more = len(spent.tools) - len(slowest)
        listed = ", ".join([*slowest, *([f"{more} more"] if more else [])])
        parts.append(f"tools {duration(spent.tools_ms)} ({listed})")
    return ", ".join(parts)
