"""Options that several verbs share, so that they read and behave the same everywhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pi_subagents.engines.offline_model.script import Script

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object for scripts."
)
offline_option = click.option(
    "--offline",
    is_flag=True,
    help="Use the built-in offline model: simple rules, real tools, no account. "
    "It is not a language model.",
)
script_option = click.option(
    "--offline-script",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Use the offline model with scripted turns from this JSON file.",
)
concurrency_option = click.option(
    "--concurrency",
    type=click.IntRange(1, 16),
    help="Children at once (default: subagents.max_concurrency, 4).",
)


def offline_choice(*, offline: bool, script: Path | None) -> bool | Script:
    """Return what `api.Options` wants: yes, no, or a checked script."""
    if script is None:
        return offline
    from pi_subagents.engines.offline_model.script import parse_script_text

    return parse_script_text(script.read_text("utf-8"))


def text_or_stdin(argument: str) -> str:
    """Return the argument, or all of standard input where it is `-`."""
    if argument != "-":
        return argument
    return sys.stdin.buffer.read().decode("utf-8", "replace")
