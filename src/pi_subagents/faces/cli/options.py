"""Options that several verbs share, so that they read and behave the same everywhere."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from pi_subagents.faces.cli.console import Console, Verbosity
from pi_subagents.faces.cli.given import FiniteRange, offline_choice

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.service.call import Options

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
_script_option = click.option(
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
_concurrency_option = click.option(
    "--concurrency",
    type=click.IntRange(1, 16),
    help="Children at once (default: subagents.max_concurrency, 4).",
)
_runner_option = click.option(
    "--runner",
    type=click.Choice(["process", "tmux"]),
    help="Where children run: out of sight, or each in a tmux window that shows its transcript "
    "(default: subagents.runner, process).",
)


def child_options(command: Callback) -> Callback:
    """Add what every verb takes that starts children; it gets all of it as `chosen`."""

    @wraps(command)
    def gathered(
        *arguments: Any,
        offline: bool,
        offline_script: Path | None,
        trust_project: bool,
        concurrency: int | None,
        runner: str | None,
        **others: Any,
    ) -> Any:
        chosen: Options = {
            "offline": offline_choice(offline=offline, script=offline_script),
            "concurrency": concurrency,
            "runner": runner,
            "trust_project": trust_project,
        }
        return command(*arguments, chosen=chosen, **others)

    wrapped = cast("Callback", gathered)
    for option in (
        _script_option,
        offline_option,
        _runner_option,
        _concurrency_option,
        trust_option,
    ):
        wrapped = option(wrapped)
    return wrapped


def wait_option(default_s: float, text: str) -> Callable[[Callback], Callback]:
    """Return the option that waits for something, at most an hour."""
    return click.option("--wait", "wait_s", type=FiniteRange(0, 3600), default=default_s, help=text)


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
