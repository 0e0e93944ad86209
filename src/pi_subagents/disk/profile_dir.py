"""
Read one directory of profiles, `agent-profiles/*.md`.

In: a directory, which may be absent, and its scope.  Out: every profile that could be read, which
of them count, and what is wrong with each file.  A file that cannot be used is reported and never
hides the others; nothing here waits, and neither a file nor their number is without limit.
"""

from __future__ import annotations

import heapq
import os
import shlex
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents import messages, profile_messages
from pi_subagents.core.frontmatter import parse_frontmatter
from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.core.profile import LoadedProfile, ProfileProblem, parse_profile
from pi_subagents.disk.safe_io import read_bounded
from pi_subagents.errors import FrontmatterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SUFFIX = ".md"
MAX_PROFILE_BYTES = 256 * 1024
MAX_PROFILES = 1000
_MAX_PROBLEM = 300
_READABLE_BY_OTHERS = 0o044


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """A file that holds a profile, and on which line each of its fields is."""

    loaded: LoadedProfile
    lines: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ProfilesDir:
    """What a directory holds: `files` are all that were read, `counting` has one per name."""

    files: tuple[ProfileFile, ...] = ()
    counting: tuple[LoadedProfile, ...] = ()
    problems: tuple[ProfileProblem, ...] = ()


def read_profiles_dir(directory: Path, scope: str) -> ProfilesDir:
    """Return the profiles of a directory; a missing one holds none."""
    problems: list[ProfileProblem] = []
    read = (read_profile(directory / n, scope, problems) for n in _names(directory, problems))
    files = tuple(file for file in read if file is not None)
    return ProfilesDir(files, tuple(_counting(files, problems)), tuple(problems))


def read_profile(path: Path, scope: str, problems: list[ProfileProblem]) -> ProfileFile | None:
    """Return what a file holds, or None; add to the problems."""
    try:
        # A profile may be a link: people keep them in dotfile repositories.
        content = parse_frontmatter(read_bounded(path.resolve(), MAX_PROFILE_BYTES).decode())
    except FrontmatterError as error:
        problem = one_line(error.problem, _MAX_PROBLEM)
        problems.append(ProfileProblem(str(path), error.line, problem, fatal=True))
        return None
    except UnicodeDecodeError:
        problems.append(ProfileProblem(str(path), 1, profile_messages.NOT_UTF8, fatal=True))
        return None
    except (OSError, ValueError, RuntimeError) as error:
        problems.append(_unusable(path, error))
        return None
    profile, found = parse_profile(str(path), content)
    problems += found
    if profile is None:
        return None
    if profile.api_key and _others_can_read(path):
        problem = profile_messages.key_readable_by_others(shlex.quote(printable(str(path))))
        problems.append(ProfileProblem(str(path), content.lines["apiKey"], problem, fatal=False))
    return ProfileFile(LoadedProfile(profile, scope, str(path)), content.lines)


def _names(directory: Path, problems: list[ProfileProblem]) -> list[str]:
    """Return the names of the files to read, sorted and not too many."""
    try:
        with os.scandir(directory) as entries:
            wanted = (entry.name for entry in entries if _is_wanted(entry))
            names = heapq.nsmallest(MAX_PROFILES + 1, wanted)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        problems.append(_unusable(directory, error))
        return []
    if len(names) > MAX_PROFILES:
        problem = profile_messages.too_many_profiles(MAX_PROFILES)
        problems.append(ProfileProblem(str(directory), 1, problem, fatal=True))
    return names[:MAX_PROFILES]


def _is_wanted(entry: os.DirEntry[str]) -> bool:
    is_profile = entry.name.endswith(SUFFIX) and not entry.name.startswith(".")
    return is_profile and not os.path.isdir(entry.path)  # noqa: PTH112 - never raises, unlike the entry


def _counting(
    files: tuple[ProfileFile, ...], problems: list[ProfileProblem]
) -> list[LoadedProfile]:
    """Return one profile per name: the file called after it wins, else the first."""
    by_name: dict[str, list[ProfileFile]] = defaultdict(list)
    for file in files:
        by_name[file.loaded.profile.name].append(file)
    counting = []
    for name, same in by_name.items():
        winner = next((file for file in same if _file_name(file) == name + SUFFIX), same[0])
        counting.append(winner.loaded)
        if _file_name(winner) != name + SUFFIX:
            problems.append(
                _name_problem(winner, profile_messages.profile_file_name(name), fatal=False)
            )
        taken = profile_messages.profile_name_taken(name, printable(_file_name(winner)))
        problems += [_name_problem(f, taken, fatal=True) for f in same if f is not winner]
    return counting


def _file_name(file: ProfileFile) -> str:
    return os.path.basename(file.loaded.path)  # noqa: PTH119 - of a text


def _name_problem(file: ProfileFile, problem: str, *, fatal: bool) -> ProfileProblem:
    return ProfileProblem(file.loaded.path, file.lines["name"], problem, fatal)


def _unusable(path: Path, error: Exception) -> ProfileProblem:
    reason = getattr(error, "strerror", None) or str(error)
    problem = messages.file_unusable(one_line(reason, _MAX_PROBLEM))
    return ProfileProblem(str(path), 1, problem, fatal=True)


def _others_can_read(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _READABLE_BY_OTHERS)
    except OSError:  # gone meanwhile
        return False
