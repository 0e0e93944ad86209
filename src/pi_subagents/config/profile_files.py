"""
The profiles of a directory: load them, save one, remove one.

In: a working directory and the environment.  Out: profiles by name, where a project's override
global ones, and the problems of their files.  What was read is kept for five seconds.  A file is
written whole or not at all, for its owner alone, and never through a link.
"""

from __future__ import annotations

import os
import shlex
import stat
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.config import messages
from pi_subagents.config.definition_dir import (
    MAX_BYTES,
    SUFFIX,
    DefinitionKind,
    Recent,
    is_same_dir,
    read_directory,
)
from pi_subagents.core.definitions.definition import (
    GLOBAL,
    PROJECT,
    FileProblem,
    is_definition_name,
)
from pi_subagents.core.definitions.found import Definitions, DefinitionsDir
from pi_subagents.core.definitions.frontmatter import parse_frontmatter
from pi_subagents.core.plain_text import printable
from pi_subagents.core.profile.edit import edit_profile_text
from pi_subagents.core.profile.profile import LoadedProfile, Profile, parse_profile
from pi_subagents.core.profile.text import profile_to_markdown
from pi_subagents.core.value import replace
from pi_subagents.errors import (
    FrontmatterError,
    ProfileExists,
    ProfileKeyInProject,
    ProfileNotRemoved,
    ProfileNotSaved,
)
from pi_subagents.system.home import PROJECT_DIR, agent_dir
from pi_subagents.system.safe_io import make_private_dirs, read_bounded, replace_file, write_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pi_subagents.core.definitions.frontmatter import Frontmatter

_READABLE_BY_OTHERS = 0o044


def _load(
    path: Path, scope: str, content: Frontmatter
) -> tuple[LoadedProfile | None, tuple[FileProblem, ...]]:
    profile, problems = parse_profile(str(path), content)
    if profile is None:
        return None, problems
    if profile.api_key and _others_can_read(path):
        problem = messages.key_readable_by_others(shlex.quote(printable(str(path))))
        exposed = FileProblem(str(path), content.lines["apiKey"], problem, fatal=False)
        problems = (*problems, exposed)
    return LoadedProfile(profile, scope, str(path)), problems


def _others_can_read(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _READABLE_BY_OTHERS)
    except OSError:  # gone meanwhile
        return False


PROFILES: DefinitionKind[LoadedProfile] = DefinitionKind("profile", _load)


DIRECTORY = "agent-profiles"


@dataclass(frozen=True, slots=True)
class Profiles(Definitions[LoadedProfile]):
    """The profiles that callers in a directory may name, in the order of their names."""


_cache: Recent[Profiles] = Recent()


def profiles_dir(scope: str, cwd: Path, env: Mapping[str, str]) -> Path:
    """Return where the profiles of a scope are kept."""
    return (agent_dir(env) if scope == GLOBAL else cwd.absolute() / PROJECT_DIR) / DIRECTORY


def load_profiles(
    cwd: Path, env: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic
) -> Profiles:
    """Return the profiles for callers in `cwd`; at most five seconds old."""
    key = (cwd.absolute(), agent_dir(env))
    return _cache.get(key, clock(), lambda: Profiles.merged(*read_profile_dirs(cwd, env)))


def invalidate_profiles_cache() -> None:
    """Forget what was read: the next call looks again."""
    _cache.clear()


def new_profile_file(name: str, scope: str, cwd: Path, env: Mapping[str, str]) -> Path:
    """Return the file a new profile will have; ProfileExists if something is there."""
    path = profiles_dir(scope, cwd, env) / f"{name}{SUFFIX}"
    if os.path.lexists(path):
        raise ProfileExists(name, str(path))
    return path


def save_new_profile(
    profile: Profile, scope: str, cwd: Path, env: Mapping[str, str], template: str = ""
) -> Path:
    """Write a profile to a file that must not exist yet, with what else the template holds."""
    _refuse_key_in_project(profile, scope)
    data = _checked_data(profile, template)
    path = new_profile_file(profile.name, scope, cwd, env)
    with _saving(profile):
        make_private_dirs(path.parent)
        is_ours = write_once(path, data)
    if not is_ours:
        raise ProfileExists(profile.name, str(path))
    return path


def profile_file_text(loaded: LoadedProfile) -> str:
    """Return the file a profile came from, to be changed; it must not be a link."""
    path = Path(loaded.path)
    if path.is_symlink():
        raise ProfileNotSaved(loaded.name, messages.is_a_link(os.path.realpath(path)))
    try:
        return read_bounded(path, MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileNotSaved(loaded.name, str(error)) from error


def save_edited_profile(profile: Profile, loaded: LoadedProfile, before: str) -> None:
    """Change a profile in the file it came from, in which `before` was read."""
    _refuse_key_in_project(profile, loaded.scope)
    data = _checked_data(profile, before)
    if profile_file_text(loaded) != before:
        raise ProfileNotSaved(profile.name, messages.CHANGED_MEANWHILE)
    with _saving(profile):
        replace_file(Path(loaded.path), data)


def delete_profile(loaded: LoadedProfile) -> None:
    """Remove the one file a profile came from; what a link leads to stays."""
    name = loaded.profile.name
    path = Path(loaded.path)
    is_ours = path.parent.name == DIRECTORY and path.suffix == SUFFIX and ".." not in path.parts
    if not (is_ours and is_definition_name(name)):
        raise ProfileNotRemoved(name, messages.NOT_A_PROFILE_FILE)
    try:
        mode = os.lstat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
            raise ProfileNotRemoved(name, messages.NOT_A_PROFILE_FILE)
        path.unlink()
    except (OSError, ValueError) as error:
        raise ProfileNotRemoved(name, getattr(error, "strerror", "") or str(error)) from error
    finally:
        invalidate_profiles_cache()


def read_profile_dirs(
    cwd: Path, env: Mapping[str, str]
) -> tuple[DefinitionsDir[LoadedProfile], DefinitionsDir[LoadedProfile]]:
    """Return the global directory, then the project's, which is empty if it is the same one."""
    user, project = (profiles_dir(scope, cwd, env) for scope in (GLOBAL, PROJECT))
    theirs: DefinitionsDir[LoadedProfile] = DefinitionsDir()
    if not is_same_dir(user, project):
        theirs = read_directory(PROFILES, project, PROJECT)
    return read_directory(PROFILES, user, GLOBAL), theirs


@contextmanager
def _saving(profile: Profile) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ProfileNotSaved(profile.name, error.strerror or str(error)) from error
    finally:
        invalidate_profiles_cache()


def _refuse_key_in_project(profile: Profile, scope: str) -> None:
    if scope == PROJECT and profile.api_key:
        raise ProfileKeyInProject(profile.name)


def _checked_data(profile: Profile, before: str = "") -> bytes:
    """Return the file, after a proof that it will be read as this very profile."""
    try:
        text = edit_profile_text(before, profile) if before else profile_to_markdown(profile)
        data = text.encode()
        kept, _ = parse_profile("", parse_frontmatter(text))
    except (FrontmatterError, UnicodeEncodeError) as error:
        raise ProfileNotSaved(profile.name, messages.NOT_READ_BACK) from error
    # Only blanks and line breaks around and in the system prompt may differ.
    is_same = kept and kept == replace(profile, system_prompt=kept.system_prompt)
    if not is_same or len(data) > MAX_BYTES:
        raise ProfileNotSaved(profile.name, messages.NOT_READ_BACK)
    return data
