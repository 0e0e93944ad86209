"""
Print for people: colours only on a terminal that wants them, nothing that could drive it.

Answers and summaries go to standard output, progress and notices to standard error.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import suppress
from enum import IntEnum
from typing import TYPE_CHECKING, TextIO

import click

from pi_subagents.core.plain_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pi_subagents.core.engine_values import HostProgram
    from pi_subagents.core.profile.questions import Asker
    from pi_subagents.service.looking import LookingPlace

FALLBACK_WIDTH = 100


class Verbosity(IntEnum):
    """How much a person wants to read."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


class Console:
    """Where a verb writes, and what a host that lends it its own dialogs knows."""

    ask: Asker | None = None  # what asks its questions, where that is not this terminal
    models: tuple[str, ...] | None = None  # what to offer without asking pi
    trusted: bool | None = None  # what it decided on this directory; else pi's records count
    host: HostProgram | None = None  # what it runs in, where that is a pi

    def __init__(self, verbosity: Verbosity = Verbosity.NORMAL) -> None:
        self.verbosity = verbosity

    def place(self, cwd: Path) -> LookingPlace:
        """Return where a verb looks around, with what the host knows."""
        from pi_subagents.service.looking import LookingPlace

        return LookingPlace(cwd, os.environ, self.host, self.trusted)

    def answer(self, text: str, **style: object) -> None:
        """Write what was asked for."""
        self._write(sys.stdout, text, style)

    def answer_in_pieces(self, pieces: Iterable[tuple[str, dict[str, object]]]) -> None:
        """Write a line of what was asked for, each piece in its own style."""
        styled = (self.style(printable(text), sys.stdout, **style) for text, style in pieces)
        click.echo("".join(styled))

    def notice(self, text: str) -> None:
        """Write something once, before or after the work."""
        if self.verbosity > Verbosity.QUIET:
            self._write(sys.stderr, _in_words(text, sys.stderr), {"fg": "yellow"})

    def question(self, text: str) -> None:
        """Ask something, and stay on the line."""
        click.echo(printable(text), file=sys.stderr, nl=False)

    def progress(self, text: str, **style: object) -> None:
        """Write what is going on."""
        if self.verbosity > Verbosity.QUIET:
            self._write(sys.stderr, text, style)

    def beside(self, line: str) -> None:
        """Write a line beside the answer; where nobody can read it, the work goes on."""
        with suppress(OSError):
            click.echo(line, file=sys.stderr)

    def json(self, value: dict[str, object]) -> None:
        """Write one object for a script, with its version."""
        self._write(sys.stdout, json.dumps({"schemaVersion": 1, **value}, indent=2), {})

    def style(self, text: str, stream: TextIO, **style: object) -> str:
        """Return the text, coloured where the stream is a terminal that wants colours."""
        return click.style(text, **style) if coloured(stream) else text  # type: ignore[arg-type]  # styles are ours, by name

    def _write(self, stream: TextIO, text: str, style: dict[str, object]) -> None:
        safe = printable(text)
        line = self.style(safe, stream, **style) if style else safe
        if stream is sys.stderr:
            self.beside(line)
        else:
            click.echo(line, file=stream)


def _in_words(text: str, stream: TextIO) -> str:
    """Return a text whose lines end between words where a terminal would cut them anywhere."""
    if not stream.isatty():
        return text
    import textwrap

    def wrapped(line: str) -> str:
        return textwrap.fill(
            line,
            width(stream),
            break_long_words=False,  # paths are there to be copied
            break_on_hyphens=False,
        )

    return "\n".join(map(wrapped, text.split("\n")))


def coloured(stream: TextIO) -> bool:
    """Return whether colours are welcome."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def can_be_painted_on(stream: TextIO) -> bool:
    """Return whether there are keys, and a terminal that can do more than print lines."""
    is_dumb = os.environ.get("TERM", "dumb") in ("", "dumb")
    return not is_dumb and sys.stdin.isatty() and stream.isatty()


def width(stream: TextIO) -> int:
    """Return how many characters fit on a line."""
    if not stream.isatty():
        return 160
    columns = 0
    if not os.environ.get("COLUMNS"):  # shutil looks at standard output alone
        with suppress(OSError, ValueError):
            columns = os.get_terminal_size(stream.fileno()).columns
    return columns or shutil.get_terminal_size((FALLBACK_WIDTH, 24)).columns
