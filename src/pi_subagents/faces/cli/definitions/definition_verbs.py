"""
The verbs that `subagents profile` and `subagents preset` share: list, path, lint, a bare name.

In: a Catalogue.  Out: commands that read, print and end alike for both kinds, and change nothing.
"""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pi_subagents.core.value import replace
from pi_subagents.faces.cli import messages, options
from pi_subagents.faces.cli.console import width
from pi_subagents.faces.cli.definitions.add import add_command
from pi_subagents.faces.cli.definitions.lookup import (
    Catalogue,
    origin_to_json,
    overridden,
    print_problems,
    problem_to_json,
)
from pi_subagents.faces.cli.suggesting import meant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.definitions.definition import FileProblem, Loaded
    from pi_subagents.core.definitions.found import Choice, Definitions
    from pi_subagents.faces.cli.console import Console

L = TypeVar("L", bound="Loaded")
VERB_LIKENESS = 0.7  # higher than elsewhere: most words here are names


class DefinitionGroup(click.Group):
    """The shared verbs, and others; a word that is no verb is a name to show."""

    def __init__(
        self,
        name: str | None = None,
        *,
        catalogue: Catalogue[Any],
        show: click.Command,
        writers: Sequence[click.Command] = (),
        aliases: Mapping[str, str],
        **more: Any,
    ) -> None:
        first, *rest = (
            make(catalogue) for make in (_list_command, add_command, _path_command, _lint_command)
        )
        verbs = [first, show, rest[0], *writers, *rest[1:]]
        super().__init__(name, verbs, subcommand_metavar="COMMAND|NAME [ARGS]...", **more)
        self._catalogue = catalogue
        self._show = show
        self._aliases = aliases

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order a newcomer meets them."""
        del ctx
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb, also by its other names."""
        return super().get_command(ctx, self._aliases.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Take what is no verb for a name, unless it has no such name and looks like a verb."""
        word = args[0]
        if self.get_command(ctx, word) is None:
            close = meant(word, (*self.commands, *self._aliases), VERB_LIKENESS)
            if close and word not in self._catalogue.complete(ctx, None, word):
                ctx.fail(f'No such command or {self._catalogue.noun} "{word}".{close}')
            return self._show.name, self._show, args
        return super().resolve_command(ctx, args)

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Offer verbs, then names."""
        from click.shell_completion import CompletionItem

        names = self._catalogue.complete(ctx, None, incomplete)
        return [*super().shell_complete(ctx, incomplete), *map(CompletionItem, names)]


def _list_command(catalogue: Catalogue[L]) -> click.Command:
    """Return the verb that lists what can be named."""
    noun = catalogue.noun

    @click.command(
        "list",
        short_help=f"List the {noun}s (also: ls).",
        help=f"""
        List the {noun}s that tasks in this directory can name, and where each comes from.

        Files that cannot be loaded are named on standard error; `subagents {noun} lint` looks
        closer.
        """,
    )
    @options.json_option
    @click.pass_obj
    def list_all(console: Console, *, as_json: bool) -> None:
        files = catalogue.files(console)
        found, choices = files.load(), files.choices()
        listed = [name for name, choice in choices.items() if choice.loaded or choice.asks]
        notes = [
            choice.said
            for name, choice in choices.items()
            if choice.said and choice.loaded != found.get(name)
        ]
        if as_json:
            rows = [_row(catalogue, name, choices[name], found) for name in listed]
            problems = [problem_to_json(each) for each in found.problems]
            more = {"notes": notes} if notes else {}
            console.json({f"{noun}s": rows, "problems": problems, **more})
            return
        if listed:
            console.answer(f"Subagent {noun}s:", bold=True)
        else:
            console.answer(catalogue.none_found)
        for name in listed:
            console.answer(_listed(catalogue, name, choices[name], found))
        print_problems(console, found.problems)
        for note in notes:
            console.notice(note)

    return list_all


def _row(
    catalogue: Catalogue[L], name: str, choice: Choice[L], found: Definitions[L]
) -> dict[str, object]:
    loaded = choice.loaded or found.by_name[name]
    summary = catalogue.summary(loaded) if choice.loaded else f"{catalogue.noun}: {name}"
    row = origin_to_json(loaded, found) | {"summary": summary}
    return row | {"asksFirst": True} if choice.asks else row


def _listed(catalogue: Catalogue[L], name: str, choice: Choice[L], found: Definitions[L]) -> str:
    loaded = choice.loaded
    if loaded is None:
        return f"  {catalogue.noun}: {name} ({messages.ASKS_FIRST})"
    origin = loaded.scope
    if loaded != found.get(name):
        origin += f", {messages.PROJECTS_NOT_USED}"
    elif overridden(loaded, found):
        origin += ", overrides global"
    line = f"  {catalogue.summary(loaded)} ({origin})"
    if not sys.stdout.isatty():
        return line  # whoever reads it next may search it
    return textwrap.fill(
        line,
        width(sys.stdout),
        subsequent_indent=" " * 6,
        break_long_words=False,  # paths are there to be copied
        break_on_hyphens=False,
    )


def _path_command(catalogue: Catalogue[L]) -> click.Command:
    """Return the verb that prints where files are."""
    noun = catalogue.noun

    @click.command(
        "path",
        short_help=f"Print where {noun}s are kept, or the file of one.",
        help=f"""
        Print both directories of {noun}s, or the file of the {noun} NAME.

        \b
        To edit one:  $EDITOR "$(subagents {noun} path NAME)"
        """,
    )
    @click.argument("name", required=False, shell_complete=catalogue.complete)
    @options.json_option
    @click.pass_obj
    def path(console: Console, name: str | None, *, as_json: bool) -> None:
        if name is None:
            _print_directories(console, catalogue, as_json=as_json)
            return
        loaded, _ = catalogue.find_used(console, name, catalogue.load())
        if as_json:
            console.json({"name": name, "scope": loaded.scope, "path": loaded.path})
        else:
            console.answer(loaded.path)

    return path


def _print_directories(console: Console, catalogue: Catalogue[L], *, as_json: bool) -> None:
    places = catalogue.files(console).directories()
    there = {scope: os.path.isdir(place) for scope, place in places.items()}  # noqa: PTH112 - never raises
    if as_json:
        rows = [{"scope": s, "path": str(p), "exists": there[s]} for s, p in places.items()]
        console.json({"directories": rows})
        return
    for scope, place in places.items():
        console.answer(f"{scope:<9}{place}{'' if there[scope] else ' (does not exist yet)'}")


def _lint_command(catalogue: Catalogue[L]) -> click.Command:
    """Return the verb that checks every file."""
    noun = catalogue.noun

    @click.command(
        "lint",
        short_help=f"Check every {noun} file, line by line.",
        help=f"""
        Check every {noun} file, yours and this project's, and print each problem as PATH:LINE:
        PROBLEM. Tools, providers and models that pi does not have are named, with the nearest.

        A {noun} with a warning can be used; any other problem keeps it from being used. Exit code:
        0 every {noun} can be used, 1 some cannot.
        """,
    )
    @click.option("--strict", is_flag=True, help="Fail on warnings too.")
    @options.json_option
    @click.pass_obj
    def lint(console: Console, *, strict: bool, as_json: bool) -> int:
        files = catalogue.files(console)
        models, unchecked = files.models_to_check()
        problems, found = files.lint(models), files.load()
        count = len(found.by_name) + len(found.overridden)
        wrong = [each for each in problems if not each.is_note]
        passed = not (wrong if strict else [each for each in wrong if each.fatal])
        if as_json:
            rows = [problem_to_json(each) for each in problems]
            console.json({"ok": passed, f"{noun}s": count, "problems": rows})
            return 0 if passed else 1
        for problem in problems:
            console.answer(
                _problem_line(problem),
                fg="red" if problem.fatal else None if problem.is_note else "yellow",
            )
        console.answer(f"{_counted(count, noun)}, {_counted(len(wrong), 'problem')}")
        if unchecked:
            console.notice(messages.models_not_checked(unchecked))
        return 0 if passed else 1

    return lint


def _problem_line(problem: FileProblem) -> str:
    """Return a problem in the form that editors jump to."""
    kind = "" if problem.fatal else "note: " if problem.is_note else "warning: "
    return str(replace(problem, problem=f"{kind}{problem.problem}"))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
