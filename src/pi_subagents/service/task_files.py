"""
Tasks that a caller keeps in a file.

In: a file's path and the stream it was opened as.  Out: a checked request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.config.task_file import MAX_BYTES, read_task_file
from pi_subagents.core.messages import file_unusable
from pi_subagents.core.task.request import parse_delegate
from pi_subagents.errors import TaskFileUnusable

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import IO

    from pi_subagents.core.task.request import DelegateRequest


def read_tasks(
    path: Path, opened: Callable[[], AbstractContextManager[IO[bytes]]]
) -> DelegateRequest:
    """Return the tasks in a file; TaskFileUnusable where it cannot be read or holds none."""
    try:
        with opened() as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise TaskFileUnusable(str(path), file_unusable(str(error))) from error
    return parse_delegate(read_task_file(path, data))
