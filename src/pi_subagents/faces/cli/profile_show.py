"""
`subagents profile show`: one profile, and what a sub-agent would get from it here.

In: a name.  Out: every field that is set, where it came from, what would be left out or refused,
and with `--invocation` pi's options and the names of variables.  A key is masked everywhere.
"""

from __future__ import annotations

import os
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.definitions import (
    origin_to_json,
    print_detail,
    problem_to_json,
    problems_of,
    tell_problems,
)
from pi_subagents.faces.cli.profile_names import PROFILES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.definition import FileProblem
    from pi_subagents.core.invocation import Invocation
    from pi_subagents.core.profile import LoadedProfile, Profile
    from pi_subagents.delegation.preparation import Preparation
    from pi_subagents.disk.profile_files import Profiles
    from pi_subagents.faces.cli.console import Console

RUN = "RUN"  # stands for the directory and the id of a run that does not exist yet


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

    What would keep a sub-agent here from using it, or be left out, is told on standard error.
    """
    from pi_subagents.core.profile_text import profile_detail
    from pi_subagents.disk.project_trust import is_trusted
    from pi_subagents.errors import ProfileRefused

    found = PROFILES.load()
    loaded = PROFILES.find(console, name, found)
    problems = problems_of(loaded, found)
    decided = console.trusted
    trusted = is_trusted(Path.cwd(), os.environ) if decided is None else decided
    prepared = _prepared(loaded, found, trusted=trusted)
    planned = _planned(prepared, trusted=trusted) if invocation else None
    if as_json:
        console.json(_to_json(loaded, found, problems, prepared, planned))
    else:
        print_detail(console, profile_detail(loaded.profile), loaded, found)
        tell_problems(console, problems)
        for note in prepared.notes:
            console.notice(note)
    if prepared.refusal and invocation:
        raise ProfileRefused(prepared.refusal)
    if prepared.refusal and not as_json:
        console.notice(f"Tasks with this profile cannot start: {prepared.refusal}")
    if planned and not as_json:
        _print_invocation(console, planned)


def _prepared(loaded: LoadedProfile, found: Profiles, *, trusted: bool) -> Preparation:
    """Return what a call would make of the profile, or why it would be refused."""
    from pi_subagents.core.project_definitions import PROFILE
    from pi_subagents.core.request import Task, checked_request
    from pi_subagents.delegation.definition_choice import choose_definition
    from pi_subagents.delegation.preparation import Preparation
    from pi_subagents.delegation.profiles import prepare_profiles
    from pi_subagents.disk.config_home import data_dir
    from pi_subagents.disk.definition_answers import DefinitionAnswers
    from pi_subagents.disk.model_config import configured_providers
    from pi_subagents.disk.settings_files import load_settings
    from pi_subagents.disk.skill_files import discover_skills
    from pi_subagents.engines.pi_command import traits_here
    from pi_subagents.errors import RequestError

    try:
        (prepared,) = prepare_profiles(
            checked_request([Task("show", "show")], loaded.profile.name),
            found,
            trusted=trusted,
            parent_tools=None,
            traits=traits_here(os.environ, Path.cwd()),
            own_providers=lambda: configured_providers(os.environ),
            skills=partial(discover_skills, Path.cwd(), os.environ),
            choose=partial(
                choose_definition,
                PROFILE,
                policy=load_settings(Path.cwd(), os.environ)[0].project_definitions,
                trusted=trusted,
                answers=DefinitionAnswers(data_dir(os.environ)),
            ),
        )
    except RequestError as error:
        return Preparation(refusal=str(error))
    return prepared


def _planned(prepared: Preparation, *, trusted: bool) -> Invocation | None:
    """Return the invocation of a run in this directory, unless it would be refused."""
    from pi_subagents.core.invocation import plan_invocation
    from pi_subagents.core.profile_invocation import profile_invocation
    from pi_subagents.disk.desk import APPEND_PROMPT, SYSTEM_PROMPT
    from pi_subagents.disk.settings_files import load_settings
    from pi_subagents.engines.pi_command import traits_here

    profile = prepared.profile
    if profile is None or prepared.refusal:
        return None
    added = profile_invocation(
        profile,
        system_prompt_file=f"{RUN}/{SYSTEM_PROMPT}" if profile.system_prompt else None,
        append_prompt_file=f"{RUN}/{APPEND_PROMPT}" if profile.append_system_prompt else None,
        skill_paths=prepared.skill_paths,
        parent_tools=None,
        traits=traits_here(os.environ, Path.cwd()),
    )
    settings, _ = load_settings(Path.cwd(), os.environ)
    return plan_invocation((), run_id=RUN, trusted=trusted, profile=added, mode=settings.child_mode)


def _print_invocation(console: Console, planned: Invocation) -> None:
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
    found: Profiles,
    problems: Sequence[FileProblem],
    prepared: Preparation,
    planned: Invocation | None,
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
    from pi_subagents.core.profile import FIELDS, Profile
    from pi_subagents.core.profile_text import mask_key

    unset = Profile("")
    values = {key: getattr(profile, field) for key, field in FIELDS.items()}
    given = {key: v for key, v in values.items() if v != getattr(unset, FIELDS[key])}
    return given | ({"apiKey": mask_key(profile.api_key)} if profile.api_key else {})
