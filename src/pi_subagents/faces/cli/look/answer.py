"""`subagents answer`: what a sub-agent asks, and somebody's answer to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.given import text_or_typed
from pi_subagents.faces.cli.main import EXIT_FAILED

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console


@click.command("answer")
@options.id_argument("any_id", "ID")
@click.argument("text", metavar="[TEXT|-]", required=False)
@click.option("--question", default="", metavar="N", help="Which one, where it asks several.")
@options.json_option
@click.pass_obj
@options.refusals_in_json
def answer(console: Console, *, any_id: str, text: str | None, question: str, as_json: bool) -> int:
    """
    Answer what a sub-agent asks; without TEXT, show what it asks.

    ID is the id of a run or a session or the beginning of one, the name of a task, or `last`.
    TEXT is an option, by its number or its words, or any text where there are no options; `-`
    reads it from standard input. The first answer counts: whoever is late is told so. A sub-agent
    asks only where its profile or task has `questions: ask` (docs/questions.md).

    Exit code: 0 answered, or shown, 1 it asks nothing or took another answer, 2 not found.

    \b
    Examples:
      subagents answer 3f9c              what does it want to know?
      subagents answer 3f9c 2            the second option
      subagents answer 3f9c "Use the staging database."
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    import asyncio

    from pi_subagents.core.run.answering import answer_report_to_json
    from pi_subagents.service.questions.answering import answer as give

    said = "" if text is None else text_or_typed(console, text, "the answer")
    if text is not None and not said.strip():
        raise click.UsageError("The answer is empty.")
    report = asyncio.run(give(any_id, said, question=question))
    if as_json:
        console.json(answer_report_to_json(report))
    else:
        console.answer(report.text)
    return EXIT_FAILED if report.status == "refused" else 0
