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


class _Unusable(Exception):
    """A file that cannot be had; its text is the placeholder."""


def read_files(files: tuple[FileSpec, ...], cwd: Path) -> list[tuple[str, str]]:
    """Return every file's path as it was given and its text, in the order asked for."""
    room, texts = MAX_FILES_BYTES, []
    for spec in files:
        try:
            text = _content(spec, cwd)
        except _Unusable as placeholder:
            text = str(placeholder)
        size = len(text.encode("utf-8", "replace"))
        if size > room:
            text = messages.file_over_total(spec.path, MAX_FILES_BYTES)
        else:
            room -= size
        texts.append((spec.path, text))
    return texts


def why_unusable(files: tuple[FileSpec, ...], cwd: Path) -> str:
    """Return what would stand in place of the first file that cannot be had, if there is one."""
    try:
        for spec in files:
            _content(spec, cwd)
    except _Unusable as placeholder:
        return str(placeholder)
    return ""


def _content(spec: FileSpec, cwd: Path) -> str:
    try:
        descriptor = os.open(cwd / spec.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise _Unusable(messages.file_not_found(spec.path)) from None
    except (OSError, ValueError):  # ValueError: half a character, or a null byte
        raise _Unusable(messages.file_unreadable(spec.path)) from None
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise _Unusable(messages.file_unreadable(spec.path))
        with os.fdopen(os.dup(descriptor), "rb") as file:
            data = all_there_is(file.read(MAX_FILE_BYTES + 1))  # it may have grown since
        size = max(info.st_size, len(data))
        if size > MAX_FILE_BYTES:
            raise _Unusable(messages.file_too_large(spec.path, size, MAX_FILE_BYTES))
        return select_lines(data.decode("utf-8"), spec)
    except (OSError, UnicodeDecodeError):
        raise _Unusable(messages.file_unreadable(spec.path)) from None
    finally:
        os.close(descriptor)
