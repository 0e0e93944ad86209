"""
Write what was found for strangers: a bug report without secrets.

Versions, checks and plain numbers of the settings; no value of a variable, no argument of a
command, no name of a person: directories are replaced by what they are.
"""

from __future__ import annotations

import os
import platform
import pwd
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents._version import __version__
from pi_subagents.config.settings_files import load_settings
from pi_subagents.core import settings as core_settings
from pi_subagents.system.home import CheckedPlace, agent_dir, data_dir, home_dir, project_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.check import Check
    from pi_subagents.core.settings import Settings

END = (
    "This report holds no keys, no prompts and no values of environment variables; "
    "read it once before you send it."
)


def format_report(checks: Sequence[Check], cwd: Path, env: Mapping[str, str]) -> str:
    """Return the whole text."""
    place = CheckedPlace(cwd, env)
    lines = [
        "subagents doctor --report",
        "",
        f"pi-subagents {__version__}",
        f"Python {platform.python_version()} ({platform.python_implementation()})",
        f"{platform.system()} {platform.release()} {platform.machine()}",
        "",
        "Checks",
        *(f"  {check.state:<8}{check.id}: {_flat(check)}" for check in checks),
        "",
        "Settings in effect",
        *(f"  {line}" for line in _settings(place)),
        "",
        END,
    ]
    return hide_places("\n".join(lines), place)


def hide_places(text: str, place: CheckedPlace) -> str:
    """Return the text with directories replaced by what they are, and without the user's name."""
    for path, label in _labels(place):
        # Whole components only: /data must not be found in /database.
        text = re.sub(rf"{re.escape(path)}(?![\w.-])", label, text)
    for name in _user_names(place):
        text = re.sub(rf"(?<=/){re.escape(name)}(?![\w.-])", "<user>", text)
    return text


def _user_names(place: CheckedPlace) -> set[str]:
    names = {place.env.get(variable, "") for variable in ("USER", "LOGNAME")}
    with suppress(KeyError):  # a container without this user in its data base
        names.add(pwd.getpwuid(os.getuid()).pw_name)
    return names - {""}


def _labels(place: CheckedPlace) -> list[tuple[str, str]]:
    """Return the directories to hide, the longest first."""
    named = (
        (project_root(place.cwd), "<project>"),
        (agent_dir(place.env), "<agent directory>"),
        (data_dir(place.env), "<data directory>"),
        (Path(sys.prefix), "<python>"),
        (home_dir(place.env), "~"),
    )
    labels: dict[str, str] = {}
    for path, label in named:
        for form in (str(path), os.path.realpath(path)):
            if form != "/":
                labels.setdefault(form, label)
    return sorted(labels.items(), key=lambda each: len(each[0]), reverse=True)


def _flat(check: Check) -> str:
    return " | ".join((check.public or check.found).splitlines())


def _settings(place: CheckedPlace) -> list[str]:
    settings, _ = load_settings(place.cwd, place.env)
    defaults = core_settings.Settings()
    lines = [_number(key, name, settings, defaults) for key, name in core_settings.NUMBERS.items()]
    lines.append(f"pi_command: {'not set' if settings.pi_command is None else 'set (not shown)'}")
    if settings.extra:
        lines.append(f"other keys: {len(settings.extra)} (not shown)")
    return lines


def _number(key: str, name: str, settings: Settings, defaults: Settings) -> str:
    value, usual = getattr(settings, name), getattr(defaults, name)
    shown = "not set" if value is None else f"{value:g}"
    return f"{key}: {shown}{' (default)' if value == usual else ''}"
