"""
What options and arguments hold, read the same way by every verb.

In: what was typed.  Out: a number that can be counted with, or a text, from the arguments or from
standard input; click's BadParameter otherwise.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.core.offline.script import Script
    from pi_subagents.faces.cli.console import Console


class FiniteRange(click.FloatRange):
    """A number within limits; click itself lets NaN through, which is neither in nor out."""

    def convert(
        self,
        value: Any,  # a text, or a default
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the number, or refuse what is none."""
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number.", param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return super().convert(number, param, ctx)


class WhereToRun(click.ParamType[str]):
    """Where tasks run: here, or with the workers of a cluster, perhaps those of a tag."""

    name = "DESTINATION"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return what may be typed."""
        del param, ctx
        return "here|cluster[:TAG]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the destination, or refuse what is none."""
        from pi_subagents.core.cluster.messages import WRONG_DESTINATION
        from pi_subagents.core.cluster.state import HERE, tag_of

        if value != HERE and tag_of(value) is None:
            self.fail(f"{value!r} {WRONG_DESTINATION}.", param, ctx)
        return str(value)


def text_or_typed(console: Console, argument: str, what: str) -> str:
    """Return the argument, or standard input where it is `-`; notify whoever has to type it."""
    if argument == "-" and sys.stdin.isatty():
        from pi_subagents.faces.cli.messages import type_it

        console.notice(type_it(what))
    return text_or_stdin(argument)


def text_or_stdin(argument: str) -> str:
    """Return the argument, or all of standard input where it is `-`."""
    if argument != "-":
        return argument
    return sys.stdin.buffer.read().decode("utf-8-sig", "replace")


def schema_in(path: Path) -> object:
    """Return the JSON of a file; what it has to be is checked where it is used."""
    import json

    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise click.BadParameter(f"{path} cannot be read as JSON: {error}") from error


def offline_choice(*, offline: bool, script: Path | None) -> bool | Script:
    """Return what `Options` takes: yes, no, or a checked script."""
    if script is None:
        return offline
    from pi_subagents.core.messages import file_unusable
    from pi_subagents.core.offline.script import parse_script_text
    from pi_subagents.errors import OfflineScriptError

    try:
        return parse_script_text(script.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise OfflineScriptError(str(script), file_unusable(str(error))) from error
