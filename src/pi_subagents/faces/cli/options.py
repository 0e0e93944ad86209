"""Options that several verbs share, so that they read and behave the same everywhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pi_subagents.faces.cli.console import Console, Verbosity

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.offline.script import Script

Callback = TypeVar("Callback", bound="Callable[..., Any]")

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object for scripts."
)
plain_option = click.option(
    "--plain", is_flag=True, help="Progress line by line, also on a terminal: no windows."
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
profile_option = click.option(
    "--profile", help="Run with this profile (`subagents profile list` shows them)."
)
trust_option = click.option(
    "--trust-project",
    is_flag=True,
    help="Trust this project for this call: its profiles may set extensions, extraArgs and "
    "apiKey, and pi loads its .pi settings.",
)
concurrency_option = click.option(
    "--concurrency",
    type=click.IntRange(1, 16),
    help="Children at once (default: subagents.max_concurrency, 4).",
)
runner_option = click.option(
    "--runner",
    type=click.Choice(["process", "tmux"]),
    help="Where children run: out of sight, or each in a tmux window that shows its transcript "
    "(default: subagents.runner, process).",
)


def offline_choice(*, offline: bool, script: Path | None) -> bool | Script:
    """Return what `launch.Options` wants: yes, no, or a checked script."""
    if script is None:
        return offline
    from pi_subagents.core.messages import file_unusable
    from pi_subagents.core.offline.script import parse_script_text
    from pi_subagents.errors import OfflineScriptError

    try:
        return parse_script_text(script.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise OfflineScriptError(str(script), file_unusable(str(error))) from error


def verbosity_options(command: Callback) -> Callback:
    """Let -q and -v stand after the verb as well as before it."""
    for short, name, level, text in (
        ("-q", "--quiet", Verbosity.QUIET, "No progress: answers, summaries and errors."),
        ("-v", "--verbose", Verbosity.VERBOSE, "More progress: tool results, ids, paths."),
    ):
        command = click.option(
            short, name, is_flag=True, expose_value=False, callback=_sets(level), help=text
        )(command)
    return command


def _sets(level: Verbosity) -> Callable[[click.Context, click.Parameter, bool], None]:
    def callback(ctx: click.Context, _parameter: click.Parameter, given: bool) -> None:  # noqa: FBT001 - click's own
        if given:
            ctx.ensure_object(Console).verbosity = level

    return callback


def text_or_stdin(argument: str) -> str:
    """Return the argument, or all of standard input where it is `-`."""
    if argument != "-":
        return argument
    return sys.stdin.buffer.read().decode("utf-8-sig", "replace")
