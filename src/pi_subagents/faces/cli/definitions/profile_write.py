"""
`subagents profile create` and `edit`: write a profile's file, by questions or by options.

In: a name, and fields as options or as answers.  Out: one private file, written whole after a
review or as the options say; nothing, if the person leaves.  An edited file keeps its comments.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pi_subagents.core.path_text import shorten_path
from pi_subagents.core.profile.questions import CANCEL
from pi_subagents.core.value import replace
from pi_subagents.errors import ProfileExists, ProfileKeyInProject
from pi_subagents.faces.cli import messages
from pi_subagents.faces.cli.console import can_be_painted_on
from pi_subagents.faces.cli.definitions.lookup import PROFILES, candidates
from pi_subagents.faces.cli.definitions.profile_fields import (
    field_options,
    is_any_given,
    with_fields,
)
from pi_subagents.faces.cli.messages import NOTHING_CHANGED, NOTHING_SAVED

if TYPE_CHECKING:
    from pi_subagents.core.profile.profile import LoadedProfile, Profile
    from pi_subagents.core.profile.questions import Asker, Gesture
    from pi_subagents.core.profile.steps import Start, WizardOutcome
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.definitions.files import ProfileFiles

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

    Answer with arrow keys, by number on a plain terminal, or line by line through a pipe. Escape
    (or a line with -) skips a field, Shift+Tab (or <) goes back a question, Ctrl+C quits without
    saving; Escape twice in a row offers to quit. The file is shown before it is saved. With
    options, nothing is asked.
    """
    from pi_subagents.core.definitions.definition import GLOBAL
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.core.profile.steps import Start, WizardOutcome

    files = PROFILES.files(console)
    places = _free_places(files, name, scope)
    wanted: WizardOutcome | Gesture
    asks = not (yes or is_any_given(given))
    if not asks:
        wanted = WizardOutcome(with_fields(Profile(name), given), scope or GLOBAL)
        files.refuse_useless(wanted.profile)
    else:
        wanted = _asked(console, Start(Profile(name), scope or GLOBAL, places), before="")
    if not isinstance(wanted, WizardOutcome):
        return _left(console, wanted)
    warnings = files.create(wanted.profile, wanted.scope)
    return _saved(console, wanted, warnings, asked=asks)


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

    Enter keeps what is there. No, or Escape, leaves a field out; Shift+Tab goes back; Ctrl+C quits
    without saving. Only the lines of fields that change are rewritten: comments and everything else
    in the file stay. With options, nothing is asked; an empty value removes its field.
    """
    from pi_subagents.core.profile.steps import WizardOutcome

    files = PROFILES.files(console)
    loaded = PROFILES.find(console, name, files.load(), scope)
    before = files.text_of(loaded)
    wanted: WizardOutcome | Gesture
    if is_any_given(given):
        wanted = WizardOutcome(with_fields(loaded.profile, given), loaded.scope)
        files.refuse_useless(wanted.profile)
    elif yes:
        raise click.UsageError("Nothing to change: give a field as an option, or leave out --yes.")
    else:
        wanted = _asked(console, _edit_start(files, loaded), before)
    if not isinstance(wanted, WizardOutcome):
        return _left(console, wanted)
    if wanted.scope != loaded.scope:
        warnings = files.create(wanted.profile, wanted.scope, before)
    elif wanted.profile == loaded.profile:
        console.answer(NOTHING_CHANGED)
        return 0
    else:
        warnings = files.change(wanted.profile, loaded, before)
    return _saved(console, wanted, warnings)


def _free_places(files: ProfileFiles, name: str, scope: str | None) -> dict[str, str]:
    """Return the files that a new profile may get; one that is there already is not replaced."""
    PROFILES.check_name(name)
    for loaded in candidates(name, files.load()):
        if scope in (None, loaded.scope):
            raise ProfileExists(name, loaded.path)
    scopes = [scope] if scope else list(files.directories())
    return {each: _short(files.free_file(name, each)) for each in scopes}


def _edit_start(files: ProfileFiles, loaded: LoadedProfile) -> Start:
    """Return where an edit begins; it may also be saved in the other scope, if nothing is there."""
    from pi_subagents.core.definitions.definition import GLOBAL, PROJECT
    from pi_subagents.core.profile.steps import Start

    if loaded.profile.api_key and loaded.scope == PROJECT:
        raise ProfileKeyInProject(loaded.name)
    places = {loaded.scope: _short(Path(loaded.path))}
    other = GLOBAL if loaded.scope == PROJECT else PROJECT
    if not loaded.profile.api_key:
        with suppress(ProfileExists):
            places[other] = _short(files.free_file(loaded.name, other))
    return Start(loaded.profile, loaded.scope, places, edits=True)


def _asked(console: Console, start: Start, before: str) -> WizardOutcome | Gesture:
    from pi_subagents.core.profile.asking import run_steps
    from pi_subagents.faces.profile_wizard.offers import offers_here

    try:
        return run_steps(
            console.ask or _prompts(),
            start,
            offers_here(console),
            lambda profile, _scope: _review(start.profile, profile, before),
        )
    except KeyboardInterrupt:  # also while pi is asked for its models
        return CANCEL


def _review(was: Profile, profile: Profile, before: str) -> str:
    """Return the file as it would be, but for the key, and which fields it would lose."""
    from pi_subagents.core.profile.edit import changed_fields, edit_profile_text
    from pi_subagents.core.profile.profile import FIELDS
    from pi_subagents.core.profile.text import mask_key, profile_to_markdown

    if before and profile == was and not profile.api_key:
        return before
    shown = replace(profile, api_key=profile.api_key and mask_key(profile.api_key))
    text = edit_profile_text(before, shown) if before else profile_to_markdown(shown)
    lost = tuple(k for k in changed_fields(was, profile) if not getattr(profile, FIELDS[k]))
    return f"{text.rstrip()}\n\n{messages.fields_left_out(lost)}" if lost else text


def _prompts() -> Asker:
    """Return what asks: keys need a terminal that can be painted on."""
    if can_be_painted_on(sys.stderr):
        from pi_subagents.faces.profile_wizard.arrow_prompts import ArrowPrompts

        return ArrowPrompts()
    from pi_subagents.faces.profile_wizard.line_prompts import LinePrompts

    return LinePrompts()


def _saved(
    console: Console, outcome: WizardOutcome, warnings: tuple[str, ...], *, asked: bool = False
) -> int:
    name = outcome.profile.name
    console.answer(messages.profile_saved(name, outcome.scope))
    if asked:
        console.progress(messages.use_profile(name), dim=True)
    choice = PROFILES.files(console).choices().get(name)
    used = choice.loaded if choice else None
    if used and used.scope != outcome.scope:
        console.notice(messages.note_hidden("profile", name, used.scope, used.path))
    for warning in warnings:
        console.notice(warning)
    return 0


def _left(console: Console, gesture: Gesture) -> int:
    console.answer(NOTHING_SAVED)
    return EXIT_CANCELLED if gesture is CANCEL else EXIT_DECLINED


def _short(path: Path) -> str:
    return shorten_path(str(path), str(Path.cwd()), os.environ.get("HOME", ""))
