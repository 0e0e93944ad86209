"""`subagents report`: what sub-agents did, as one file to pass on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.faces.cli.console import Console
    from pi_subagents.view.report.report import WorkReport

LAST = "last"


@click.command("report")
@options.id_argument("any_id", "[CALL|SESSION]", required=False)
@click.option("--last", "is_last", is_flag=True, help="The call of the newest run (the default).")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where to write it: .html, .md or .json. Without it, Markdown is printed.",
)
@click.pass_obj
def report(console: Console, *, any_id: str | None, is_last: bool, output: Path | None) -> None:
    """
    Report what the sub-agents of a call or a session did, in one file to pass on: a timeline,
    answers, costs, changes.

    CALL is the id of a call or of one of its runs, or the name of a task; SESSION that of a
    session; or the beginning of an id. A page (.html) needs nothing beside it and runs no script.
    What looks like a key, token or password is left out, and so are the values of variables and
    profiles that hold one; read it once before you pass it on.

    \b
    Examples:
      subagents report -o report.html
      subagents report 3f9c -o report.json
      subagents report --last | gh pr comment --body-file -
    """  # noqa: D301 - the summary is wrapped; the backspace is click's mark
    if any_id and is_last:
        raise click.UsageError("A CALL or SESSION and --last contradict each other.")
    write = as_text if output is None else _form(output)
    from pi_subagents.service.reporting import keep_report, make_report

    made = make_report(any_id or LAST)
    if output is None:
        console.answer(write(made).rstrip("\n"))
        return
    keep_report(output, write(made))
    console.progress(f"{output}: {made.title}, {', '.join(made.facts)}")


def as_text(made: WorkReport) -> str:
    """Return the report as Markdown."""
    from pi_subagents.view.report.as_markdown import as_markdown

    return as_markdown(made)


def _as_page(made: WorkReport) -> str:
    from pi_subagents.faces.report.page import as_page

    return as_page(made)


def _as_json(made: WorkReport) -> str:
    from pi_subagents.view.report.report import report_to_json

    return json.dumps(report_to_json(made), indent=2) + "\n"


_FORMS: dict[str, Callable[[WorkReport], str]] = {
    ".html": _as_page, ".htm": _as_page, ".md": as_text, ".markdown": as_text, ".json": _as_json,
}  # fmt: skip


def _form(output: Path) -> Callable[[WorkReport], str]:
    """Return what writes a report as the name of its file says."""
    if form := _FORMS.get(output.suffix.lower()):
        return form
    raise click.UsageError(f"What {output} is to be is not known: name it .html, .md or .json.")
