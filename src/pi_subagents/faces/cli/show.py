"""`subagents show`: one run, its answer, what happened and where its files are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options

if TYPE_CHECKING:
    from pi_subagents.delegation.run_view import RunView
    from pi_subagents.faces.cli.console import Console

MAX_TRANSCRIPT_BYTES = 64 * 1024 * 1024


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
    from pi_subagents.runs import Runs

    view = Runs().find(run)
    if as_json:
        _json(console, view)
    elif only_output:
        console.answer(view.result.output if view.result else "")
    else:
        _people(console, view)


def _json(console: Console, view: RunView) -> None:
    from pi_subagents.core.run_result import result_to_json
    from pi_subagents.faces.cli.runs import run_to_json

    console.json(
        {
            **run_to_json(view),
            "meta": dict(view.meta),
            "result": result_to_json(view.result) if view.result else None,
            "transcript": _transcript(view),
            "files": _files(view),
        }
    )


def _people(console: Console, view: RunView) -> None:
    from pi_subagents.faces.cli.runs import duration

    length = duration(view.duration_ms)
    console.answer(f"{view.text('name')}: {view.status} after {length}", bold=True)
    console.answer(f"run {view.run_dir.run_id}, session {view.text('sessionId')}")
    console.answer(f"in {view.text('cwd')}")
    if view.usage.total_tokens:
        billed = " (billed by the provider)" if view.usage.cost_is_billed else ""
        cost = f", cost {view.usage.cost:.4f}{billed}" if view.usage.cost else ""
        console.answer(f"{view.usage.total_tokens:,} tokens{cost}")
    if view.error_message:
        console.answer(view.error_message, fg="red")
    for note in view.result.notes if view.result else ():
        console.answer(f"({note})", dim=True)
    console.answer("\nTask", bold=True)
    console.answer(view.text("task"))
    console.answer("\nTranscript", bold=True)
    console.answer(_transcript(view))
    if view.result and view.result.output:
        console.answer("\nAnswer", bold=True)
        console.answer(view.result.output)
    console.answer("\nFiles", bold=True)
    for path in _files(view):
        console.answer(path)


def _transcript(view: RunView) -> str:
    from pi_subagents.disk.safe_io import read_bounded

    try:
        content = read_bounded(view.run_dir.transcript, MAX_TRANSCRIPT_BYTES)
    except OSError:
        return ""
    return content.decode("utf-8", "replace").rstrip("\n")


def _files(view: RunView) -> list[str]:
    return sorted(str(path) for path in view.run_dir.path.iterdir())
