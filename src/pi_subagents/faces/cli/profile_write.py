"""
`subagents profile create` and `edit`: write a profile's file, by questions or by options.

In: a name, and fields as options or as answers.  Out: one private file, written whole after a
review or as the options say; nothing, if the person leaves.  An edited file keeps its comments.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pi_subagents.faces.cli.definitions import candidates
from pi_subagents.faces.cli.profile_fields import field_options, is_any_given, with_fields
from pi_subagents.faces.cli.profile_names import PROFILES

if TYPE_CHECKING:
    from pi_subagents.core.profile import LoadedProfile, Profile
    from pi_subagents.core.profile_questions import Ask, Gesture
    from pi_subagents.core.profile_steps import Outcome, Start
    from pi_subagents.faces.cli.console import Console

EXIT_DECLINED = 1
EXIT_CANCELLED = 130

yes_option = click.option(
    "--yes", "--no-input", "yes", is_flag=True, help="Ask nothing: save what the options say."
)


@click.command("create", short_help="Create a profile, by questions or by options (also: new).")
@click.argument("name")
@click.option("--scope", type=click.Choice(["global", "project"]), help="Whose profile it is.")
@field_options
@yes_option
@click.pass_obj
def create(console: Console, /, name: str, *, scope: str | None, yes: bool, **given: Any) -> int:
    """
    Create the profile NAME. Without options for its fields, you are asked for them.

    Answer with arrow keys, by number on a plain terminal, or line by line through a pipe. Esc or -
    leaves a field out, Ctrl+C saves nothing. The file is shown before it is saved. With options,
    nothing is asked.
    """
    from pi_subagents.core.definition import GLOBAL
    from pi_subagents.core.profile import Profile
    from pi_subagents.core.profile_steps import Outcome, Start
    from pi_subagents.disk.profile_files import save_new_profile

    places = _free_places(name, scope)
    wanted: Outcome | Gesture
    asks = not (yes or is_any_given(given))
    if not asks:
        wanted = Outcome(_checked(with_fields(Profile(name), given)), scope or GLOBAL)
    else:
        wanted = _asked(console, Start(Profile(name), scope or GLOBAL, places), before="")
    if not isinstance(wanted, Outcome):
        return _left(console, wanted)
    save_new_profile(wanted.profile, wanted.scope, Path.cwd(), os.environ)
    return _saved(console, wanted, asked=asks)


@click.command("edit", short_help="Change a profile, by questions or by options.")
@click.argument("name", shell_complete=PROFILES.complete)
@click.option(
    "--scope",
    type=click.Choice(["global", "project"]),
    help="Which one, where both scopes have a profile of this name (default: the project's).",
)
@field_options
@yes_option
@click.pass_obj
def edit(console: Console, /, name: str, *, scope: str | None, yes: bool, **given: Any) -> int:
    """
    Change the profile NAME. Without options for its fields, you are asked for them.

    Enter keeps what is there. No, or Esc, leaves a field out; Ctrl+C saves nothing. Only the lines
    of fields that change are written anew: comments and everything else in the file stay. With
    options, nothing is asked; an empty value leaves its field out.
    """
    from pi_subagents.core.profile_steps import Outcome
    from pi_subagents.disk.profile_files import profile_file_text

    loaded = PROFILES.find(console, name, PROFILES.load(), scope)
    before = profile_file_text(loaded)
    wanted: Outcome | Gesture
    if is_any_given(given):
        wanted = Outcome(_checked(with_fields(loaded.profile, given)), loaded.scope)
    elif yes:
        raise click.UsageError("Nothing to change: give a field as an option, or leave out --yes.")
    else:
        wanted = _asked(console, _edit_start(loaded), before)
    if not isinstance(wanted, Outcome):
        return _left(console, wanted)
    return _save_edited(console, wanted, loaded, before)


def _save_edited(console: Console, wanted: Outcome, loaded: LoadedProfile, before: str) -> int:
    from pi_subagents.disk.profile_files import save_edited_profile, save_new_profile
    from pi_subagents.profile_messages import NOTHING_CHANGED

    if wanted.scope != loaded.scope:
        save_new_profile(wanted.profile, wanted.scope, Path.cwd(), os.environ, before)
    elif wanted.profile == loaded.profile:
        console.answer(NOTHING_CHANGED)
        return 0
    else:
        save_edited_profile(wanted.profile, loaded, before)
    return _saved(console, wanted)


def _free_places(name: str, scope: str | None) -> dict[str, str]:
    """Return the files that a new profile may get; one that is there already is not replaced."""
    from pi_subagents.disk.profile_files import new_profile_file
    from pi_subagents.errors import ProfileExists

    PROFILES.checked_name(name)
    for loaded in candidates(name, PROFILES.load()):
        if scope in (None, loaded.scope):
            raise ProfileExists(name, loaded.path)
    scopes = [scope] if scope else list(PROFILES.directories())
    files = {each: new_profile_file(name, each, Path.cwd(), os.environ) for each in scopes}
    return {each: _short(path) for each, path in files.items()}


def _edit_start(loaded: LoadedProfile) -> Start:
    """Return where an edit begins; it may also be saved in the other scope, if nothing is there."""
    from pi_subagents.core.definition import GLOBAL, PROJECT
    from pi_subagents.core.profile_steps import Start
    from pi_subagents.disk.profile_files import new_profile_file
    from pi_subagents.errors import ProfileExists, ProfileKeyInProject

    if loaded.profile.api_key and loaded.scope == PROJECT:
        raise ProfileKeyInProject(loaded.name)
    places = {loaded.scope: _short(Path(loaded.path))}
    other = GLOBAL if loaded.scope == PROJECT else PROJECT
    if not loaded.profile.api_key:
        try:
            free = new_profile_file(loaded.name, other, Path.cwd(), os.environ)
            places[other] = _short(free)
        except ProfileExists:
            pass
    return Start(loaded.profile, loaded.scope, places, edits=True)


def _asked(console: Console, start: Start, before: str) -> Outcome | Gesture:
    from pi_subagents.core.profile_questions import CANCEL
    from pi_subagents.core.profile_steps import run_steps
    from pi_subagents.faces.profile_wizard.offers import offers_here

    def review(profile: Profile, _scope: str) -> str:
        return _review(start.profile, profile, before)

    try:
        return run_steps(console.ask or _prompts(), start, offers_here(console), review)
    except KeyboardInterrupt:  # also while pi is asked for its models
        return CANCEL


def _review(was: Profile, profile: Profile, before: str) -> str:
    """Return the file as it would be, but for the key, and which fields it would lose."""
    from pi_subagents import profile_messages
    from pi_subagents.core.profile import FIELDS
    from pi_subagents.core.profile_edit import changed_fields, edit_profile_text
    from pi_subagents.core.profile_text import mask_key, profile_to_markdown
    from pi_subagents.core.value import replace

    if before and profile == was and not profile.api_key:
        return before
    shown = replace(profile, api_key=profile.api_key and mask_key(profile.api_key))
    text = edit_profile_text(before, shown) if before else profile_to_markdown(shown)
    lost = tuple(k for k in changed_fields(was, profile) if not getattr(profile, FIELDS[k]))
    return f"{text.rstrip()}\n\n{profile_messages.fields_left_out(lost)}" if lost else text


def _prompts() -> Ask:
    """Return who asks: keys need a terminal that can be painted on."""
    is_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if is_terminal and os.environ.get("TERM", "dumb") not in ("", "dumb"):
        from pi_subagents.faces.profile_wizard.arrow_prompts import ArrowPrompts

        return ArrowPrompts()
    from pi_subagents.faces.profile_wizard.line_prompts import LinePrompts

    return LinePrompts()


def _checked(profile: Profile) -> Profile:
    """Return the profile unless every call that names it would be refused."""
    from pi_subagents.core.extra_args import extra_args_problem
    from pi_subagents.core.profile_check import profile_refusal
    from pi_subagents.engines.pi_command import traits_here
    from pi_subagents.errors import ProfileRefused

    traits = traits_here(os.environ, Path.cwd())
    if problem := profile_refusal(profile, traits)[1] or extra_args_problem(profile, traits):
        raise ProfileRefused(problem)
    return profile


def _saved(console: Console, outcome: Outcome, *, asked: bool = False) -> int:
    from pi_subagents import profile_messages
    from pi_subagents.core.profile_check import profile_warnings
    from pi_subagents.engines.pi_command import traits_here

    name = outcome.profile.name
    console.answer(profile_messages.profile_saved(name, outcome.scope))
    if asked:
        console.progress(profile_messages.use_profile(name), dim=True)
    used = PROFILES.load().get(name)
    if used and used.scope != outcome.scope:
        console.notice(profile_messages.note_profile_hidden(name, used.path))
    for _, warning in profile_warnings(outcome.profile, traits_here(os.environ, Path.cwd())):
        console.notice(warning)
    return 0


def _left(console: Console, gesture: Gesture) -> int:
    from pi_subagents.core.profile_questions import CANCEL
    from pi_subagents.profile_messages import NOTHING_SAVED

    console.answer(NOTHING_SAVED)
    return EXIT_CANCELLED if gesture is CANCEL else EXIT_DECLINED


def _short(path: Path) -> str:
    from pi_subagents.core.path_text import shorten_path

    return shorten_path(str(path), str(Path.cwd()), os.environ.get("HOME", ""))
