"""
Read the files that tasks bring along; each becomes its text or a placeholder.

Any path may be named and links are followed: the caller may read what it may read.  Opened without
blocking, and only regular files count, so that no FIFO or device can hold a delegation up.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from pi_subagents.config import messages
from pi_subagents.core.task.attachment import (
    MAX_FILE_BYTES,
    MAX_FILES_BYTES,
    FileSpec,
    select_lines,
)
from pi_subagents.system.safe_io import all_there_is

if TYPE_CHECKING:
    from pathlib import Path


def read_files(files: tuple[FileSpec, ...], cwd: Path) -> list[tuple[str, str]]:
    """Return every file's path as it was given and its text, in the order asked for."""
    room, told = MAX_FILES_BYTES, []
    for spec in files:
        text = _content(spec, cwd)
        size = len(text.encode("utf-8", "replace"))
        if size > room:
            text = messages.file_over_total(spec.path, MAX_FILES_BYTES)
        else:
            room -= size
        told.append((spec.path, text))
    return told


def _content(spec: FileSpec, cwd: Path) -> str:
    try:
        descriptor = os.open(cwd / spec.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return messages.file_not_found(spec.path)
    except (OSError, ValueError):  # ValueError: half a character, or a null byte
        return messages.file_unreadable(spec.path)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            return messages.file_unreadable(spec.path)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            data = all_there_is(file.read(MAX_FILE_BYTES + 1))  # it may have grown since
        size = max(info.st_size, len(data))
        if size > MAX_FILE_BYTES:
            return messages.file_too_large(spec.path, size, MAX_FILE_BYTES)
        return select_lines(data.decode("utf-8"), spec)
    except (OSError, UnicodeDecodeError):
        return messages.file_unreadable(spec.path)
    finally:
        os.close(descriptor)
