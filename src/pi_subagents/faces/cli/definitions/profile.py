"""
`subagents profile`: its verbs in one group; show a profile, delete its file.

In: a verb, or the name of a profile, which shows it: every field that is set, where it came from,
what would be left out or refused, and with `--invocation` what a sub-agent would get from it here.
Out: text or JSON in which keys are masked.  Only `create`, `edit` and `delete` change anything: one
file, after a question or as options say.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.core.plain_text import printable
from pi_subagents.core.profile.questions import Confirm
from pi_subagents.errors import ProfileRefused
from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.definitions.definition_verbs import DefinitionGroup
from pi_subagents.faces.cli.definitions.import_agents import import_agents
from pi_subagents.faces.cli.definitions.lookup import (
    PROFILES,
    candidates,
    origin_to_json,
    print_detail,
    print_problems,
    problem_to_json,
    problems_of,
)
from pi_subagents.faces.cli.definitions.profile_write import create, edit
from pi_subagents.faces.cli.messages import CANNOT_CONFIRM, DELETES_NOTHING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.definitions.definition import FileProblem
    from pi_subagents.core.definitions.found import Definitions
    from pi_subagents.core.profile.profile import LoadedProfile, Profile
    from pi_subagents.core.run.spec import ChildOrder
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.delegation import Preparation


@click.command("show", short_help="Show one profile; the API key is masked.")
@click.argument("name", shell_complete=PROFILES.complete)
@click.option(
    "--invocation",
    is_flag=True,
    help="Also show the options of pi and the names of variables a sub-agent would get here.",
)
@options.json_option
@click.pass_obj
def show(console: Console, name: str, *, invocation: bool, as_json: bool) -> None:
    """
    Show every field that the profile NAME sets, and where it comes from.

    Where two scopes have one of this name, the one that tasks here get is shown. What is left out
    of it, or keeps tasks from using it, goes to standard error.
    """
    from pi_subagents.core.profile.text import profile_detail
    from pi_subagents.service.looking import plan_named, prepare_named

    found = PROFILES.load()
    loaded, _ = PROFILES.find_used(console, name, found)
    problems = problems_of(loaded, found)
    place = console.place(Path.cwd())
    prepared = prepare_named(name, place)
    planned = plan_named(prepared, place) if invocation else None
    if as_json:
        console.json(_to_json(loaded, found, problems, prepared, planned))
    else:
        print_detail(console, profile_detail(loaded.profile), loaded, found)
        print_problems(console, problems)
        for note in prepared.notes:
            console.notice(note)
    if prepared.refusal and invocation:
        raise ProfileRefused(prepared.refusal)
    if prepared.refusal and not as_json:
        console.notice(f"Tasks with this profile cannot start: {prepared.refusal}")
    if planned and not as_json:
        _print_invocation(console, planned)


@click.command("delete", short_help="Delete a profile's file (also: rm, remove).")
@click.argument("name", shell_complete=PROFILES.complete)
@click.option(
    "--scope",
    type=click.Choice(["global", "project"]),
    help="Which one, where both scopes have a profile of this name.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete(console: Console, name: str, *, scope: str | None, yes: bool) -> int:
    """
    Delete the file of the profile NAME, after asking.

    Where the file is a link, the link is removed and what it leads to stays.
    """
    chosen = _chosen(console, name, scope)
    if not yes and not _confirmed(console, chosen):
        console.answer("Nothing was deleted.")
        return 1
    PROFILES.files(console).delete(chosen)
    console.answer(f'Deleted the {chosen.scope} profile "{name}": {chosen.path}')
    if left := PROFILES.load().get(name):
        console.notice(f'"{name}" is now the {left.scope} profile in {left.path}.')
    return 0


@click.group(
    "profile",
    cls=DefinitionGroup,
    catalogue=PROFILES,
    show=show,
    writers=(import_agents, create, edit, delete),
    aliases={"ls": "list", "new": "create", "rm": "delete", "remove": "delete"},
)
def profile() -> None:
    """
    Profiles say how sub-agents run: model, tools, system prompt, and more, under a name.

    Each is a Markdown file with front matter, in a directory of yours (global) or of this project;
    a project's profile takes precedence over a global one of the same name. Use one with
    `subagents run --profile NAME`.

    `subagents profile NAME` is short for `subagents profile show NAME`.
    """


def _print_invocation(console: Console, planned: ChildOrder) -> None:
    from pi_subagents.service.looking import RUN

    console.answer("")
    console.answer(f"Options of pi ({RUN} is the directory of the run, which holds the prompts):")
    for line in _option_lines(planned.argv):
        console.answer(f"  {line}")
    console.answer("Variables beside your own (values are not shown):")
    for name, value in planned.environment.items():
        console.answer(f"  {name}" if value else f"  {name} (set to nothing)")


def _option_lines(arguments: Sequence[str]) -> list[str]:
    """Return a line per option with its values, quoted as a shell wants them."""
    lines: list[str] = []
    for item in arguments:
        if item.startswith("-") or not lines:
            lines.append(shlex.quote(item))
        else:
            lines[-1] += f" {shlex.quote(item)}"
    return lines


def _to_json(
    loaded: LoadedProfile,
    found: Definitions[LoadedProfile],
    problems: Sequence[FileProblem],
    prepared: Preparation,
    planned: ChildOrder | None,
) -> dict[str, object]:
    whole: dict[str, object] = {
        **origin_to_json(loaded, found),
        "profile": _profile_to_json(loaded.profile),
        "problems": [problem_to_json(each) for each in problems],
        "notes": list(prepared.notes),
        "refusal": prepared.refusal or None,
    }
    if planned:
        variables = [{"name": n, "empty": not v} for n, v in planned.environment.items()]
        whole["invocation"] = {"arguments": list(planned.argv), "environment": variables}
    return whole


def _profile_to_json(profile: Profile) -> dict[str, object]:
    """Return the fields that are set, as a file calls them; the key is masked."""
    from pi_subagents.core.profile.profile import FIELDS, Profile
    from pi_subagents.core.profile.text import mask_key

    unset = Profile("")
    values = {key: getattr(profile, field) for key, field in FIELDS.items()}
    given = {key: v for key, v in values.items() if v != getattr(unset, FIELDS[key])}
    return given | ({"apiKey": mask_key(profile.api_key)} if profile.api_key else {})


def _chosen(console: Console, name: str, scope: str | None) -> LoadedProfile:
    """Return the profile that is meant; the scope must be given where there are two."""
    found = PROFILES.load()
    first = PROFILES.find(console, name, found, scope)
    if scope is None and len(candidates(name, found)) > 1:
        raise click.UsageError(
            f'There are two profiles "{name}". Choose one: --scope project or --scope global.'
        )
    return first


def _confirmed(console: Console, chosen: LoadedProfile) -> bool:
    given = Path(chosen.path)
    real = given.parent.resolve() / given.name  # the directory may be a link to anywhere
    where = f"{chosen.scope} profile: {real}"
    question = f'Delete subagent profile "{chosen.profile.name}"?'
    if console.ask:
        asked = Confirm(
            "Delete profile?", question, default=False, text=where, escape=DELETES_NOTHING
        )
        return console.ask.confirm(asked) is True
    if not sys.stdin.isatty():
        raise click.UsageError(CANNOT_CONFIRM)
    click.echo(printable(where), err=True)
    return click.confirm(question, err=True)
