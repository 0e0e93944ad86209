"""
Load the settings of one directory: the global file, then the project's.

A file that is missing is no problem; one that cannot be read or is not JSON is reported and
counts as missing.  Nothing is created and no parent directory is searched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.settings import Settings, SettingsProblem, parse_settings
from pi_subagents.system.home import PROJECT_DIR, agent_dir
from pi_subagents.system.safe_io import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_SETTINGS_BYTES = 1024 * 1024


def global_settings_file(env: Mapping[str, str]) -> Path:
    """Return pi's own settings file, whose `subagents` key is ours."""
    return agent_dir(env) / "settings.json"


def project_settings_file(cwd: Path) -> Path:
    """Return the settings file of exactly this directory."""
    return cwd / PROJECT_DIR / "settings.json"


def load_settings(
    cwd: Path, env: Mapping[str, str]
) -> tuple[Settings, tuple[SettingsProblem, ...]]:
    """Return the settings for callers in `cwd`, and what is wrong with their files."""
    problems: list[SettingsProblem] = []
    contents = [
        _load(path, problems) for path in (global_settings_file(env), project_settings_file(cwd))
    ]
    settings, found = parse_settings(*contents)
    return settings, (*problems, *found)


def _load(path: Path, problems: list[SettingsProblem]) -> object:
    try:
        # A settings file may be a link: people keep them in dotfile repositories.
        return read_json(path.resolve(), MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RuntimeError) as error:
        problems.append(SettingsProblem(str(path), core_messages.file_unusable(str(error))))
        return None
