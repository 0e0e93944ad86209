"""
What a person names for tasks: a file that holds them, files and profiles for them.

In: paths and names, as typed.  Out: a checked request, or a refusal before anything starts.  A tool
answers with a placeholder, or with one task's outcome, where these are refused: a person who
mistypes a name wants to know it at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.config.attachments import why_unusable
from pi_subagents.config.task_file import MAX_BYTES, read_task_file
from pi_subagents.core.messages import file_unusable
from pi_subagents.core.task.request import FILE_TASK_KEYS, parse_delegate
from pi_subagents.errors import InvalidRequest, ProfileNotFound, TaskFileUnusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import IO

    from pi_subagents.core.task.attachment import FileSpec
    from pi_subagents.core.task.request import DelegateRequest


def refuse_unusable_files(files: tuple[FileSpec, ...], cwd: Path) -> None:
    """Refuse a call whose files cannot be had."""
    if placeholder := why_unusable(files, cwd):
        raise InvalidRequest("--file", placeholder.strip("[]"))


def refuse_unknown_profiles(names: Iterable[str], cwd: Path, env: Mapping[str, str]) -> None:
    """Refuse a call that names a profile which is not there."""
    from pi_subagents.config.profile_files import load_profiles

    profiles = load_profiles(cwd, env)
    for name in names:
        if profiles.get(name) is None:
            broken = tuple(str(each) for each in profiles.problems if each.fatal)
            raise ProfileNotFound(name, tuple(profiles.by_name), broken)


def read_tasks(
    path: Path, opened: Callable[[], AbstractContextManager[IO[bytes]]]
) -> DelegateRequest:
    """Return the tasks in a file; TaskFileUnusable where it cannot be read or holds none."""
    try:
        with opened() as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise TaskFileUnusable(str(path), file_unusable(str(error))) from error
    return parse_delegate(read_task_file(path, data), FILE_TASK_KEYS)
