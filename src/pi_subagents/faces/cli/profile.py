"""
`subagents profile`: which profiles there are, where they are kept, what is wrong with them.

In: a verb, or the name of a profile, which shows it.  Out: text or JSON in which keys are masked.
Only `delete` changes anything: one file, after a question or `--yes`.
"""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.console import width
from pi_subagents.faces.cli.profile_delete import delete
from pi_subagents.faces.cli.profile_names import (
    checked_name,
    complete_names,
    find_profile,
    overridden,
    problem_to_json,
    tell_problems,
)
from pi_subagents.faces.cli.profile_show import show

if TYPE_CHECKING:
    from pi_subagents.core.profile import LoadedProfile, ProfileProblem
    from pi_subagents.disk.profile_files import Profiles
    from pi_subagents.faces.cli.console import Console

ALIASES = {"ls": "list", "rm": "delete", "remove": "delete"}


class ProfileGroup(click.Group):
    """A group in which a word that is no verb is the name of a profile to show."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order a newcomer meets them."""
        del ctx
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb, also by its other names."""
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Take what is no verb for a name."""
        if self.get_command(ctx, args[0]) is None:
            return show.name, show, args
        return super().resolve_command(ctx, args)

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Offer verbs, then names."""
        from click.shell_completion import CompletionItem

        names = complete_names(ctx, None, incomplete)
        return [*super().shell_complete(ctx, incomplete), *map(CompletionItem, names)]


@click.group(
    "profile",
    cls=ProfileGroup,
    subcommand_metavar="COMMAND|NAME [ARGS]...",
    short_help="List, show, check and delete profiles.",
)
def command() -> None:
    """
    Profiles say how sub-agents run: model, tools, system prompt, and more, under a name.

    Each is a Markdown file with front matter, in a directory of yours (global) or of this project;
    a project's profile counts before a global one of the same name. Use one with
    `subagents run --profile NAME`.

    `subagents profile NAME` is short for `subagents profile show NAME`.
    """


@command.command("list", short_help="List the profiles (also: ls).")
@options.json_option
@click.pass_obj
def list_profiles(console: Console, *, as_json: bool) -> None:
    """
    List the profiles that tasks in this directory can name, and where each comes from.

    Files that cannot be loaded are named on standard error; `subagents profile lint` looks closer.
    """
    from pi_subagents import profile_messages
    from pi_subagents.disk.profile_files import load_profiles

    found = load_profiles(Path.cwd(), os.environ)
    if as_json:
        console.json(
            {
                "profiles": [_listed_to_json(each, found) for each in found.by_name.values()],
                "problems": [problem_to_json(each) for each in found.problems],
            }
        )
    elif found.by_name:
        console.answer("Subagent profiles:", bold=True)
        for loaded in found.by_name.values():
            console.answer(_listed(loaded, found))
    else:
        console.answer(profile_messages.NO_PROFILES)
    if not as_json:
        tell_problems(console, found.problems)


def _listed(loaded: LoadedProfile, found: Profiles) -> str:
    from pi_subagents.core.profile_text import profile_summary

    origin = f"{loaded.scope}, overrides global" if overridden(loaded, found) else loaded.scope
    line = f"  {profile_summary(loaded.profile)} ({origin})"
    if not sys.stdout.isatty():
        return line  # whoever reads it next may search it
    return textwrap.fill(
        line,
        width(sys.stdout),
        subsequent_indent=" " * 6,
        break_long_words=False,  # paths are there to be copied
        break_on_hyphens=False,
    )


def _listed_to_json(loaded: LoadedProfile, found: Profiles) -> dict[str, object]:
    from pi_subagents.core.profile_text import profile_summary

    return {
        "name": loaded.profile.name,
        "scope": loaded.scope,
        "path": loaded.path,
        "summary": profile_summary(loaded.profile),
        "overrides": overridden(loaded, found),
    }


command.add_command(show)
command.add_command(delete)


@command.command("path", short_help="Print where profiles are kept, or the file of one.")
@click.argument("name", required=False, shell_complete=complete_names)
@options.json_option
@click.pass_obj
def path(console: Console, name: str | None, *, as_json: bool) -> None:
    """
    Print both directories of profiles, or the file of the profile NAME.

    \b
    To edit one:  $EDITOR "$(subagents profile path NAME)"
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    if name is None:
        _print_directories(console, as_json=as_json)
        return
    from pi_subagents.disk.profile_files import load_profiles

    loaded = find_profile(console, checked_name(name), load_profiles(Path.cwd(), os.environ))
    if as_json:
        console.json({"name": name, "scope": loaded.scope, "path": loaded.path})
    else:
        console.answer(loaded.path)


def _print_directories(console: Console, *, as_json: bool) -> None:
    from pi_subagents.core.profile import GLOBAL, PROJECT
    from pi_subagents.disk.profile_files import profiles_dir

    places = {scope: profiles_dir(scope, Path.cwd(), os.environ) for scope in (GLOBAL, PROJECT)}
    there = {scope: os.path.isdir(place) for scope, place in places.items()}  # noqa: PTH112 - never raises
    if as_json:
        rows = [{"scope": s, "path": str(p), "exists": there[s]} for s, p in places.items()]
        console.json({"directories": rows})
        return
    for scope, place in places.items():
        console.answer(f"{scope:<9}{place}{'' if there[scope] else ' (does not exist yet)'}")


@command.command("lint", short_help="Check every profile file, line by line.")
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@options.json_option
@click.pass_obj
def lint(console: Console, *, strict: bool, as_json: bool) -> int:
    """
    Say what is wrong with any profile file, of yours and of this project, as PATH:LINE: PROBLEM.

    A profile with a warning can be used; any other problem keeps it from being used. Exit code:
    0 every profile can be used, 1 some cannot.
    """
    from pi_subagents.disk.profile_files import lint_profiles, load_profiles

    problems = lint_profiles(Path.cwd(), os.environ)
    found = load_profiles(Path.cwd(), os.environ)
    count = len(found.by_name) + len(found.overridden)
    passed = not (problems if strict else [each for each in problems if each.fatal])
    if as_json:
        rows = [problem_to_json(each) for each in problems]
        console.json({"ok": passed, "profiles": count, "problems": rows})
        return 0 if passed else 1
    for problem in problems:
        console.answer(_problem_line(problem), fg="red" if problem.fatal else "yellow")
    console.answer(f"{_counted(count, 'profile')}, {_counted(len(problems), 'problem')}")
    return 0 if passed else 1


def _problem_line(problem: ProfileProblem) -> str:
    """Return a problem in the form that editors jump to."""
    from dataclasses import replace

    return str(
        problem if problem.fatal else replace(problem, problem=f"warning: {problem.problem}")
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
