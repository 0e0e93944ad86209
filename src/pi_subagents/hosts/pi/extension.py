"""
Where the extension for pi is, which Python owns it, and which of pi's settings name it.

In: an environment, a settings file of pi.  Out: paths.  The one thing written is a note in the data
directory, by which the extension finds the Python whose package it is part of.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.config.settings_files import MAX_SETTINGS_BYTES, project_settings_file
from pi_subagents.core import messages as core_messages
from pi_subagents.core.value import value
from pi_subagents.engines.pi.skills.packages import resolved_path
from pi_subagents.engines.pi.skills.settings import (
    LOCAL,
    NPM,
    parse_package_source,
    parse_skill_settings,
)
from pi_subagents.system.home import agent_dir, data_dir
from pi_subagents.system.safe_io import make_private_dirs, read_json, replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST_NAME = "pi"  # for `install`, and for people
INTERPRETERS_NAME = "pi-extension.json"
MAX_INTERPRETERS_BYTES = 1024 * 1024
SCHEMA_VERSION = 1
# The two packages that ours follows: they register tools of the same names.
RIVALS = ("@harms-haus/pi-subagents", "pi-subagents")


@value
class NamedPackages:
    """What a settings file of pi names: extensions of ours, rivals, or why it cannot be read."""

    path: Path
    ours: tuple[Path, ...] = ()
    rivals: tuple[str, ...] = ()
    problem: str = ""


def extension_dir() -> Path:
    """Return the folder that pi loads: a package of pi inside this Python package."""
    return Path(__file__).resolve().parents[2] / "pi_extension"


def pi_settings_file(cwd: Path, env: Mapping[str, str], *, project: bool) -> Path:
    """Return the settings file that pi itself reads packages from."""
    if project:
        return project_settings_file(cwd)
    return agent_dir({**env, "PI_AGENT_DIR": ""}) / "settings.json"  # pi does not know ours


def named_packages(settings: Path, env: Mapping[str, str]) -> NamedPackages:
    """Return which packages of interest a settings file names."""
    try:
        content = read_json(settings.resolve(), MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        return NamedPackages(settings)
    except (OSError, ValueError, RuntimeError) as error:
        return NamedPackages(settings, problem=core_messages.file_unusable(str(error)))
    ours, rivals = [], []
    for entry in parse_skill_settings(content).packages:
        source = parse_package_source(entry.source)
        if path := copy_of_ours(entry.source, settings, env):
            ours.append(path)
        elif source.kind == NPM and source.place in RIVALS:
            rivals.append(entry.source)
    return NamedPackages(settings, tuple(ours), tuple(rivals))


def copy_of_ours(entry: object, settings: Path, env: Mapping[str, str]) -> Path | None:
    """Return the folder that an entry of `packages` names, if it is a copy of the extension."""
    given = entry.get("source") if isinstance(entry, dict) else entry
    source = parse_package_source(given) if isinstance(given, str) else None
    if source is None or source.kind != LOCAL:
        return None
    path = resolved_path(source.place, settings.parent, env)
    return path if path.parts[-2:] == extension_dir().parts[-2:] else None


def remember_interpreter(env: Mapping[str, str]) -> None:
    """Note for the extension which Python owns it; where that cannot be noted, it looks around."""
    path = data_dir(env) / INTERPRETERS_NAME
    known = {
        folder: python
        for folder, python in _known_interpreters(path).items()
        if Path(folder).is_dir()
    }
    wanted = {**known, str(extension_dir()): sys.executable}
    if wanted != known:
        content = {"schemaVersion": SCHEMA_VERSION, "pythons": wanted}
        with suppress(OSError):
            make_private_dirs(path.parent)
            replace_file(path, json.dumps(content, indent=2).encode() + b"\n")


def _known_interpreters(path: Path) -> dict[str, str]:
    try:
        content = read_json(path, MAX_INTERPRETERS_BYTES)
    except (OSError, ValueError):
        return {}
    pythons = content.get("pythons") if isinstance(content, dict) else None
    if not isinstance(pythons, dict):
        return {}
    return {folder: python for folder, python in pythons.items() if isinstance(python, str)}
