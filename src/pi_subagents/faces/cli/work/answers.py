"""
Print the answers of a delegation, each once.

Whoever reads on (a pipe, `-q`) gets the answers alone: one as it is, several under a heading each.
What a task said that did not complete is no answer: on a terminal it stands below a heading that
says so, elsewhere standard error says how to read it.  Where a value was asked for, it is the
answer.  On a terminal Markdown is rendered.  How each task ended is said beside them, on standard
error, by whatever showed the progress; where nothing did, a failure or an empty answer is said
here.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pi_subagents.core.messages import NOTE_EMPTY_ANSWER, more_lines
from pi_subagents.core.plain_text import printable
from pi_subagents.core.run.record import short_id
from pi_subagents.faces.cli.console import Verbosity, coloured, width
from pi_subagents.faces.terminal.cells import cells
from pi_subagents.view.failure import explain_failure
from pi_subagents.view.messages import last_words_of, partial_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.run.result import RunResult
    from pi_subagents.faces.cli.console import Console

MAX_RENDERED = 200_000  # characters: more is printed as it is, which takes no time


def print_answers(
    console: Console,
    results: Sequence[RunResult],
    names: Sequence[str],
    most_rows: int | None = None,
) -> None:
    """Print what each task answered, under its name; on a terminal, of each so much at most."""
    to_read = sys.stdout.isatty() and console.verbosity > Verbosity.QUIET
    named = list(zip(results, names, strict=True))
    # A script must not take the placeholder of an empty answer for one.
    answered = [
        (result, name)
        for result, name in named
        if result.output and not result.no_answer and (result.completed or to_read)
    ]
    for number, (result, name) in enumerate(answered):
        if len(results) > 1 or result.is_partial:
            title = partial_of(name) if result.is_partial else name
            between = "" if number == 0 and not to_read else "\n"
            console.answer(f"{between}{_heading(title, to_read=to_read)}\n", bold=to_read)
        rows = most_rows if to_read else None
        whole = result.value_text or result.output  # who asked for a value reads nothing else
        text = whole if rows is None else _beginning(whole, rows)
        _print_answer(console, text, to_read=to_read)
    if console.verbosity == Verbosity.QUIET:
        for result, name in named:
            if result.no_answer:
                console.beside(printable(f"{name}: {NOTE_EMPTY_ANSWER}"))
            elif not result.completed:
                why, *to_do = explain_failure(result.error_message).lines or ("",)
                for line in (f"{name}: {why}", *to_do):
                    console.beside(printable(line))
    for result, name in named:
        if result.is_partial and not to_read:
            console.beside(printable(last_words_of(name, short_id(result.session_id))))


def _beginning(text: str, most_rows: int) -> str:
    """Return the lines that fit into so many rows of the terminal, and how many do not."""
    lines = text.rstrip("\n").split("\n")
    rows, shown = 0, 0
    for line in lines:
        rows += max(1, -(-cells(line) // width(sys.stdout)))
        if rows > most_rows:
            break
        shown += 1
    rest = [more_lines(len(lines) - shown)] if shown < len(lines) else []
    return "\n".join((*lines[:shown], *rest))


def _heading(name: str, *, to_read: bool) -> str:
    return f"── {name} ──" if to_read else f"## {name}"


def _print_answer(console: Console, text: str, *, to_read: bool) -> None:
    if not (to_read and coloured(sys.stdout)) or len(text) > MAX_RENDERED:
        console.answer(text.rstrip("\n"))
        return
    from rich.console import Console as Rich
    from rich.markdown import Markdown

    # A link is shown with its address: not every terminal can open one that is hidden.
    answer = Markdown(printable(text), hyperlinks=False)
    for token in answer.parsed:
        for part in token.children or ():
            if part.type == "softbreak":  # models end a line where they mean one to end
                part.type = "hardbreak"
    Rich(width=width(sys.stdout)).print(answer)
