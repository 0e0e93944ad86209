"""Check what the user configured: agent directory, settings, profiles, presets, MCP hosts."""

from __future__ import annotations

import difflib
import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pi_subagents.config import messages as config_messages
from pi_subagents.config.settings_files import (
    MAX_SETTINGS_BYTES,
    global_settings_file,
    load_settings,
    project_settings_file,
)
from pi_subagents.core import messages as core_messages
from pi_subagents.core import settings as core_settings
from pi_subagents.core.check import Check, Subject
from pi_subagents.errors import McpNotInstalled
from pi_subagents.hosts.files import configured_hosts, program_of, starts_this
from pi_subagents.service.definitions.files import PresetFiles, ProfileFiles
from pi_subagents.service.looking import LookingPlace
from pi_subagents.system.home import AGENT_DIR_VARIABLES, CheckedPlace, agent_dir
from pi_subagents.system.safe_io import read_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pi_subagents.core.definitions.definition import FileProblem
    from pi_subagents.core.settings import SettingsProblem

AGENT_DIR = Subject("agent-dir", "Agent directory")
GLOBAL_SETTINGS = Subject("settings-global", "Global settings")
PROJECT_SETTINGS = Subject("settings-project", "Project settings")
PROFILES = Subject("profiles", "Profiles")
PRESETS = Subject("presets", "Presets")
HOSTS = Subject("mcp-hosts", "MCP hosts")

OURS, PIS = AGENT_DIR_VARIABLES
LIKENESS = 0.85
READABLE = os.R_OK | os.X_OK
MAX_LISTED = 10
NO_LIBRARY = "the library `mcp` is not installed here: `subagents mcp` cannot start"


def check_agent_dir(place: CheckedPlace) -> Check:
    """Check where pi's own configuration is looked for, and why there."""
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
        return AGENT_DIR.note(f"{found} does not exist yet; pi will create it")
    return AGENT_DIR.ok(found)


def check_global_settings(place: CheckedPlace) -> Check:
    """Check the user's own settings."""
    return _settings(GLOBAL_SETTINGS, core_settings.GLOBAL, global_settings_file(place.env), place)


def check_project_settings(place: CheckedPlace) -> Check:
    """Check the project's settings."""
    return _settings(
        PROJECT_SETTINGS, core_settings.PROJECT, project_settings_file(place.cwd), place
    )


def _settings(subject: Subject, name: str, path: Path, place: CheckedPlace) -> Check:
    _, problems = load_settings(place.cwd, place.env)
    own = [_words(each, name, path) for each in problems if _concerns(each, name, path)]
    if own:
        return subject.problem(
            "\n".join([f"{path}", *own]), "Correct the file; until then, the defaults apply."
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
            found.append(f"{key} (did you mean {meant[0]}?)")
    return found


def check_profiles(place: CheckedPlace) -> Check:
    """Check which profiles cannot be used, and which show their key to others."""
    files = ProfileFiles(LookingPlace(place.cwd, place.env))
    problems = [each for each in files.lint() if not each.is_note]
    known = files.load()
    # A problem may quote what is in the file; the one about keys never does.
    exposed = config_messages.key_readable_by_others("")
    keys = [str(each) for each in problems if each.problem.startswith(exposed)]
    return _definitions(PROFILES, "profile", len(known.by_name), problems, keys)


def check_presets(place: CheckedPlace) -> Check:
    """Check which presets cannot be used."""
    files = PresetFiles(LookingPlace(place.cwd, place.env))
    problems = files.lint()
    return _definitions(PRESETS, "preset", len(files.load().by_name), problems, [])


def _definitions(
    subject: Subject, noun: str, in_use: int, problems: Sequence[FileProblem], keys: list[str]
) -> Check:
    """Return the check of one kind of files; `keys` are lines about keys that others may read."""
    count = f"{in_use} in use" if in_use else "none"
    broken = [f"{each.path}:{each.line}: cannot be used" for each in problems if each.fatal]
    if broken or keys:
        listed = [count, *broken, *keys]
        if (more := len(listed) - MAX_LISTED) > 0:
            listed[MAX_LISTED:] = [core_messages.more_lines(more)]
        with_keys = f", {len(keys)} with a key that others may read" if keys else ""
        return subject.problem(
            "\n".join(listed),
            f"`subagents {noun} lint` says what is wrong, line by line.",
            public=f"{count}; {len(broken)} broken{with_keys}",
        )
    if problems:
        found = f"{count}; {len(problems)} warning{'' if len(problems) == 1 else 's'}"
        return subject.note(found, f"`subagents {noun} lint` lists them.")
    return subject.ok(count)


def check_hosts(place: CheckedPlace) -> Check:
    """Check which hosts start our server, and what keeps the server from starting."""
    found = list(configured_hosts(place.cwd, place.env))
    unreadable = [each for each in found if each.problem]
    entries = [each for each in found if not each.problem]
    gone = [each for each in entries if program_of(each, place.env) is None]
    titles = ", ".join(dict.fromkeys(each.host.title for each in entries)) or "none"
    found_out = [f"{each.path}: {each.argv[0]} is gone" for each in gone]
    fixes = [f"subagents install {each.host.name}" for each in gone]
    public = [f"{len(gone)} with a command that is gone"] if gone else []
    if any(starts_this(each, place.env) for each in entries) and find_spec("mcp") is None:
        found_out.append(NO_LIBRARY)
        fixes.append(str(McpNotInstalled()))
        public.append(NO_LIBRARY)
    if found_out:
        return HOSTS.problem(
            "\n".join([titles, *found_out]),
            "; ".join(dict.fromkeys(fixes)),
            public="; ".join([titles, *public]),
        )
    if unreadable:
        count = f"{len(unreadable)} file{'' if len(unreadable) == 1 else 's'}"
        return HOSTS.note(
            "\n".join([titles, *(f"{each.path}: {each.problem}" for each in unreadable)]),
            "Correct these files if those hosts should start our server.",
            public=f"{titles}; {count} cannot be read",
        )
    return HOSTS.ok(titles)
