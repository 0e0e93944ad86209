"""Options that several verbs share, so that they read and behave the same everywhere."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from pi_subagents.core.cluster.state import CLUSTER, HERE
from pi_subagents.core.runner_names import PROCESS, RUNNERS
from pi_subagents.core.workspace.modes import WORKSPACES
from pi_subagents.faces.cli import completing
from pi_subagents.faces.cli.console import Console, Verbosity
from pi_subagents.faces.cli.given import FiniteRange, WhereToRun, offline_choice, schema_in
from pi_subagents.faces.cli.main import EXIT_REFUSED
from pi_subagents.faces.cli.messages import ON_OR_RUNNER

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.service.call import Options

Callback = TypeVar("Callback", bound="Callable[..., Any]")

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object for scripts."
)
plain_option = click.option(
    "--plain",
    is_flag=True,
    help="Print progress line by line, without windows, also on a terminal.",
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
    "--profile",
    shell_complete=completing.profiles,
    help="Run with this profile (`subagents profile list` shows them).",
)
schema_option = click.option(
    "--schema",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    callback=lambda _ctx, _parameter, path: None if path is None else schema_in(path),
    metavar="FILE",
    help="The answers have to fit this JSON Schema; with --json each is there as `value`.",
)
trust_option = click.option(
    "--trust-project",
    is_flag=True,
    help="Trust this project for this command: its profiles may set extensions, extraArgs and "
    "apiKey, and pi loads its .pi settings.",
)
_concurrency_option = click.option(
    "--concurrency",
    type=click.IntRange(1, 16),
    help="Sub-agents at once (default: subagents.max_concurrency, 4).",
)
engine_option = click.option(
    "--engine",
    metavar="NAME",
    shell_complete=completing.engines,
    help="What kind of sub-agent (default: as the profile says, else subagents.engine, pi).",
)
_runner_option = click.option(
    "--runner",
    type=click.Choice([each for each in RUNNERS if each != CLUSTER]),
    help="Where sub-agents run: out of sight, or each in a tmux window that shows its transcript "
    "(default: subagents.runner, process).",
)
on_option = click.option(
    "--on",
    type=WhereToRun(),
    help="Run tasks on the workers of a cluster, or only on those with a tag; tasks that say where "
    "they run themselves stay there (default: subagents.runner, process).",
)
_workspace_option = click.option(
    "--workspace",
    type=click.Choice(WORKSPACES),
    help="Where tasks work: in this checkout, in a git worktree each (`subagents diff` and "
    "`apply` afterwards), or so where several may write (default: subagents.workspace, shared).",
)
_confine_option = click.option(
    "--confine",
    is_flag=True,
    help="Let sub-agents write only where they work, in temporary directories and in pi's own; "
    "the kernel enforces it (Linux 5.13).",
)
_keep_option = click.option(
    "--keep-worktree", is_flag=True, help="Leave worktrees there after their runs."
)


def refusals_in_json(command: Callback) -> Callback:
    """Let a verb with --json say in JSON, too, why it refuses; it stands below `pass_obj`."""

    @wraps(command)
    def guarded(console: Console, *, as_json: bool, **others: Any) -> Any:
        from pi_subagents.errors import SubagentsError

        try:
            return command(console, as_json=as_json, **others)
        except SubagentsError as refusal:
            if not as_json:
                raise
            from pi_subagents.view.answers import refusal_to_json

            console.json(refusal_to_json(str(refusal)))
            return EXIT_REFUSED

    return cast("Callback", guarded)


def runner_of(runner: str | None, on: str | None) -> str | None:
    """Return where tasks run that do not say it themselves."""
    if runner and on:
        raise click.UsageError(ON_OR_RUNNER)
    return PROCESS if on == HERE else on or runner


def child_options(command: Callback) -> Callback:
    """Add what every verb takes that starts children; it gets all of it as `chosen`."""

    @wraps(command)
    def gathered(
        *arguments: Any,
        offline: bool,
        offline_script: Path | None,
        trust_project: bool,
        concurrency: int | None,
        engine: str | None,
        runner: str | None,
        on: str | None,
        workspace: str | None,
        keep_worktree: bool,
        confine: bool,
        **others: Any,
    ) -> Any:
        chosen: Options = {
            "offline": offline_choice(offline=offline, script=offline_script),
            "concurrency": concurrency,
            "engine": engine,
            "runner": runner_of(runner, on),
            "trust_project": trust_project,
            "workspace": workspace,
            "keep_worktree": keep_worktree,
            "confine": confine,
        }
        return command(*arguments, chosen=chosen, **others)

    wrapped = cast("Callback", gathered)
    for option in (
        _script_option,
        offline_option,
        _runner_option,
        on_option,
        engine_option,
        _concurrency_option,
        _confine_option,
        _keep_option,
        _workspace_option,
        trust_option,
    ):
        wrapped = option(wrapped)
    return wrapped


def budget_options(command: Callback) -> Callback:
    """Add what limits the spending of a call; it gets all of it as `budget`."""
    kinds = ("tokens", "cost", "turns")

    @wraps(command)
    def gathered(*arguments: Any, **given: Any) -> Any:
        most = {kind: given.pop(f"max_{kind}") for kind in kinds}
        budget = {kind: text for kind, text in most.items() if text is not None}
        return command(*arguments, budget=budget or None, **given)

    wrapped = cast("Callback", gathered)
    for kind, example in zip(kinds, ("200k", "0.50", "20"), strict=True):
        what = f"Stop when all tasks together have used so much, such as {example}."
        option = click.option(
            f"--max-{kind}", metavar=kind.upper(), callback=_amount_of(kind), help=what
        )
        wrapped = option(wrapped)
    return wrapped


def _amount_of(kind: str) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """Return what refuses an amount that is none, by the name of its option."""

    def checked(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
        if given is not None:
            from pi_subagents.core.spending.budget import parse_budget

            try:
                parse_budget({kind: given})
            except ValueError as error:
                raise click.BadParameter(str(error)) from error
        return given

    return checked


def all_option(text: str) -> Callable[[Callback], Callback]:
    """Return the option that means one thing everywhere: all there is, no limit and no filter."""
    return click.option("-a", "--all", "show_all", is_flag=True, help=text)


def limit_option(text: str) -> Callable[[Callback], Callback]:
    """Return the option that sets how many are listed."""
    return click.option("--limit", type=click.IntRange(min=1), metavar="N", help=text)


def most_of(*, show_all: bool, limit: int | None, default: int) -> int | None:
    """Return how many to list; None for all."""
    if show_all and limit:
        raise click.UsageError("--all and --limit contradict each other.")
    return None if show_all else limit or default


def id_argument(
    name: str, metavar: str, *, many: bool = False, required: bool = True
) -> Callable[[Callback], Callback]:
    """Return the argument that takes any id, the beginning of one, a task's name, or `last`."""
    return click.argument(
        name,
        metavar=metavar,
        nargs=-1 if many else 1,
        required=required,
        shell_complete=completing.sessions if metavar == "SESSION" else completing.runs,
    )


def wait_option(default_s: float, text: str) -> Callable[[Callback], Callback]:
    """Return the option that waits for something, at most an hour."""
    return click.option(
        "--wait",
        "wait_s",
        type=FiniteRange(0, 3600),
        metavar="SECONDS",
        default=default_s,
        help=text,
    )


def part_options(command: Callback) -> Callback:
    """Add what chooses a part of a text; it gets all of it as `part`, as the tools take it."""
    names = ("grep", "regex", "context", "offset", "limit", "tail")

    @wraps(command)
    def gathered(*arguments: Any, **given: Any) -> Any:
        part = {name: given.pop(name) for name in names}
        return command(*arguments, part=part, **given)

    wrapped = cast("Callback", gathered)
    for name, text in (
        ("--tail", "Only the last N characters."),
        ("--limit", "At most N characters."),
        ("--offset", "Skip N characters."),
        ("--context", "N lines around each, too."),
    ):
        wrapped = click.option(name, type=click.IntRange(min=0), metavar="N", help=text)(wrapped)
    regex = click.option("--regex", is_flag=True, help="TEXT is a pattern (Python's `re`).")
    grep = click.option("--grep", metavar="TEXT", help="Only lines with this text, numbered.")
    return grep(regex(wrapped))


def verbosity_options(command: Callback) -> Callback:
    """Let -q and -v stand after the verb as well as before it."""
    for short, name, level, text in (
        ("-q", "--quiet", Verbosity.QUIET, "Print answers and errors only."),
        ("-v", "--verbose", Verbosity.VERBOSE, "Show more progress: tool results, ids, paths."),
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
