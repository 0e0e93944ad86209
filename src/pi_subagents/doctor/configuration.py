"""Check what the user configured: agent directory, settings files, trust, profiles, presets."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import profile_messages
from pi_subagents.core import settings as core_settings
from pi_subagents.disk.config_home import agent_dir, home_dir
from pi_subagents.disk.preset_files import lint_presets, load_presets
from pi_subagents.disk.profile_files import lint_profiles, load_profiles
from pi_subagents.disk.project_trust import is_trusted
from pi_subagents.disk.safe_io import read_json
from pi_subagents.disk.settings_files import (
    MAX_SETTINGS_BYTES,
    global_settings_file,
    load_settings,
    project_settings_file,
)
from pi_subagents.doctor.check import Check, Place, Subject
from pi_subagents.engines.pi_command import traits_here

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.definition import FileProblem
    from pi_subagents.core.settings import SettingsProblem

AGENT_DIR = Subject("agent-dir", "Agent directory")
GLOBAL_SETTINGS = Subject("settings-global", "Global settings")
PROJECT_SETTINGS = Subject("settings-project", "Project settings")
TRUST = Subject("project-trust", "Project trust")
PROFILES = Subject("profiles", "Profiles")
PRESETS = Subject("presets", "Presets")

OURS, PIS = "PI_AGENT_DIR", "PI_CODING_AGENT_DIR"
# What counts of a project's .pi in full only where it is trusted.
PROTECTED = (
    "agent-profiles",
    "settings.json",
    "extensions",
    "skills",
    "prompts",
    "themes",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
    "mcp.json",
)
LIKENESS = 0.85
READABLE = os.R_OK | os.X_OK
MAX_LISTED = 10


def check_agent_dir(place: Place) -> Check:
    """Tell where pi's own configuration is looked for, and who says so."""
    directory = agent_dir(place.env)
    chosen = next((name for name in (OURS, PIS) if place.env.get(name)), None)
    found = f"{directory} ({f'from {chosen}' if chosen else 'the default'})"
    if directory.exists() and not (directory.is_dir() and os.access(directory, READABLE)):
        return AGENT_DIR.problem(
            f"{found} is not a directory you can read",
            f"Give yourself access to it, or name another in {PIS}.",
        )
    if chosen == OURS and agent_dir({**place.env, OURS: ""}) != directory:
        return AGENT_DIR.problem(
            f"{found}, but pi itself does not read {OURS} and uses another",
            f"Set {PIS} instead: both read that one.",
        )
    if not directory.exists():
        return AGENT_DIR.note(f"{found} does not exist yet; pi makes it")
    return AGENT_DIR.ok(found)


def check_global_settings(place: Place) -> Check:
    """Tell what is wrong with the user's own settings."""
    return _settings(GLOBAL_SETTINGS, core_settings.GLOBAL, global_settings_file(place.env), place)


def check_project_settings(place: Place) -> Check:
    """Tell what is wrong with the project's settings."""
    return _settings(
        PROJECT_SETTINGS, core_settings.PROJECT, project_settings_file(place.cwd), place
    )


def _settings(subject: Subject, name: str, path: Path, place: Place) -> Check:
    _, problems = load_settings(place.cwd, place.env)
    own = [_words(each, name, path) for each in problems if _concerns(each, name, path)]
    if own:
        return subject.problem(
            "\n".join([f"{path}", *own]), "Correct the file; until then the defaults count."
        )
    if not os.path.lexists(path):
        return subject.ok(f"none ({path})")
    if typos := _typos(path):
        return subject.note(
            f"{path}: unknown and without effect: {', '.join(typos)}",
            "docs/settings.md lists the keys.",
        )
    return subject.ok(f"{path}")


def _concerns(problem: SettingsProblem, name: str, path: Path) -> bool:
    return problem.where == str(path) or problem.where.split(":")[0] == name


def _words(problem: SettingsProblem, name: str, path: Path) -> str:
    key = "" if problem.where == str(path) else problem.where.removeprefix(name).lstrip(": ")
    return f"{key}: {problem.problem}" if key else problem.problem


def _typos(path: Path) -> list[str]:
    """Name what is nearly a key of ours; anything else in the file is not ours to show."""
    content = read_json(path.resolve(), MAX_SETTINGS_BYTES)
    settings, _ = core_settings.parse_settings(content, None)
    found = []
    for key in settings.extra:
        meant = difflib.get_close_matches(key, core_settings.KEYS, n=1, cutoff=LIKENESS)
        if meant and meant[0] != key:
            found.append(f"{key} (meant: {meant[0]}?)")
    return found


def _has_protected(place: Place) -> bool:
    here, home = (Path(os.path.realpath(each)) for each in (place.cwd, home_dir(place.env)))
    own = any((here / ".pi" / name).exists() for name in PROTECTED)
    # The home's skills are the user's, not a project's: pi trusts them always.
    above = (each for each in (here, *here.parents) if each != home)
    return own or any((each / ".agents" / "skills").exists() for each in above)


def check_trust(place: Place) -> Check:
    """Tell whether children load what the project itself configures."""
    if is_trusted(place.cwd, place.env):
        return TRUST.ok("trusted: children load the project's own pi settings and extensions")
    if not _has_protected(place):
        return TRUST.ok("not trusted, which changes nothing: the project configures nothing for pi")
    return TRUST.note(
        "not trusted: children leave out the project's own pi settings and extensions",
        "If you trust it: start pi here and type /trust",
    )


def check_profiles(place: Place) -> Check:
    """Tell which profiles cannot be used, and which show their key to others."""
    found = lint_profiles(place.cwd, place.env, traits_here(place.env, place.cwd))
    problems = [each for each in found if not each.is_note]
    known = load_profiles(place.cwd, place.env)
    # A problem may quote what is in the file; the one about keys never does.
    exposed = profile_messages.key_readable_by_others("")
    keys = [str(each) for each in problems if each.problem.startswith(exposed)]
    return _definitions(PROFILES, "profile", len(known.by_name), problems, keys)


def check_presets(place: Place) -> Check:
    """Tell which presets cannot be used."""
    problems = lint_presets(place.cwd, place.env, traits_here(place.env, place.cwd))
    known = load_presets(place.cwd, place.env)
    return _definitions(PRESETS, "preset", len(known.by_name), problems, [])


def _definitions(
    subject: Subject, noun: str, in_use: int, problems: Sequence[FileProblem], keys: list[str]
) -> Check:
    """Tell how files of one kind stand; `keys` are the lines about keys that others may read."""
    count = f"{in_use} in use" if in_use else "none"
    broken = [f"{each.path}:{each.line}: cannot be used" for each in problems if each.fatal]
    if broken or keys:
        listed = [count, *broken, *keys]
        more = len(listed) - MAX_LISTED
        with_keys = f", {len(keys)} with a key that others may read" if keys else ""
        return subject.problem(
            "\n".join(
                [*listed[:MAX_LISTED], *([profile_messages.more_lines(more)] if more > 0 else [])]
            ),
            f"`subagents {noun} lint` says what is wrong, line by line.",
            public=f"{count}; {len(broken)} broken{with_keys}",
        )
    if problems:
        found = f"{count}; {len(problems)} warning{'' if len(problems) == 1 else 's'}"
        return subject.note(found, f"`subagents {noun} lint` lists them.")
    return subject.ok(count)
