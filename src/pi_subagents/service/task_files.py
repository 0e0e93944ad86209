"""
What a person names for tasks: a file that holds them, files and profiles for them.

In: paths and names, as typed.  Out: a checked request, or a refusal before anything starts.  A tool
answers with a placeholder, or with one task's outcome, where these are refused: a person who
mistypes a name wants to know it at once.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.config.attachments import why_unusable
from pi_subagents.config.task_file import MAX_BYTES, read_task_file
from pi_subagents.core.messages import file_unusable
from pi_subagents.core.task.request import FILE_TASK_KEYS, parse_delegate
from pi_subagents.core.value import replace
from pi_subagents.errors import InvalidRequest, ProfileNotFound, TaskFileUnusable
from pi_subagents.service import messages
from pi_subagents.service.call import place_of, trust_of
from pi_subagents.system.home import project_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from typing import IO

    from pi_subagents.core.task.attachment import FileSpec
    from pi_subagents.core.task.request import DelegateRequest
    from pi_subagents.service.call import Options


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


def with_trusted_checks(
    request: DelegateRequest, path: Path, options: Options
) -> tuple[DelegateRequest, tuple[str, ...]]:
    """
    Return the request without checks that a file of an untrusted project brings along, and notes.

    A check is a command that runs with all that the user may do.
    """
    cwd = place_of(options)[0]
    inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(project_root(cwd)))
    checked = [task for task in request.tasks if task.check]
    if not checked or not inside or trust_of(options)(cwd):
        return request, ()
    notes = tuple(messages.check_not_trusted(task.name, str(task.check)) for task in checked)
    return replace(request, tasks=tuple(replace(t, check=None) for t in request.tasks)), notes


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
