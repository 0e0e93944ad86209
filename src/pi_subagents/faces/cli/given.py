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

from pi_subagents.faces.cli import options

if TYPE_CHECKING:
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
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


def text_or_typed(console: Console, argument: str, what: str) -> str:
    """Return the argument, or standard input where it is `-`; tell whoever has to type that."""
    if argument == "-" and sys.stdin.isatty():
        from pi_subagents.faces.cli.messages import type_it

        console.notice(type_it(what))
    return options.text_or_stdin(argument)
