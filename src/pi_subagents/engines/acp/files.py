"""
Files that an agent reads and writes through us: in its workspace, and nowhere else.

In: requests of the protocol.  Out: results, or why not.  No link on the way is followed: it could
lead out, and an agent can put one there at any time.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_subagents.core.json_rpc import INVALID_PARAMS, REFUSED, Failure
from pi_subagents.core.profile.permissions import ALLOWED
from pi_subagents.engines.acp import messages
from pi_subagents.engines.acp.reading import as_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.profile.permissions import Permissions

MAX_FILE = 8 * 1024 * 1024
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
READ, WRITE = "fs/read_text_file", "fs/write_text_file"


class WorkspaceFiles:
    """The files below one directory."""

    def __init__(self, root: str, permissions: Permissions) -> None:
        self._root = root
        # The agent may have been told of a place by another name than it finds itself in.
        self._names = tuple(dict.fromkeys((root, os.path.realpath(root))))
        self._permissions = permissions

    def serve(self, method: str, params: Mapping[str, Any]) -> dict[str, object] | Failure:
        """Return what a request comes to."""
        path = as_text(params.get("path"))
        parts = self._parts(path)
        if not parts:
            return Failure(INVALID_PARAMS, messages.outside_workspace(path))
        try:
            if method == READ:
                return self._read(parts, params)
            return self._write(parts, params)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            return Failure(REFUSED, f"{path}: {reason or error}")

    def _parts(self, path: str) -> tuple[str, ...]:
        """Return the way to a file from the root; nothing where it is not below it."""
        if not path.startswith("/") or "\0" in path or ".." in Path(path).parts:
            return ()
        given = Path(path)
        named = (given.relative_to(each) for each in self._names if given.is_relative_to(each))
        return next((way.parts for way in named), ())

    def _read(self, parts: tuple[str, ...], params: Mapping[str, Any]) -> dict[str, object]:
        if self._permissions.read != ALLOWED:
            raise ValueError(messages.NOT_BY_PROFILE)
        with os.fdopen(self._open(parts, os.O_RDONLY), "rb") as file:
            content = file.read(MAX_FILE + 1)
        if len(content) > MAX_FILE:
            raise ValueError(messages.too_large(MAX_FILE))
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(messages.NO_TEXT) from None
        first, count = params.get("line"), params.get("limit")
        if isinstance(first, int) or isinstance(count, int):
            lines = _LINES.findall(text)
            start = max(first - 1, 0) if isinstance(first, int) else 0
            end = start + max(count, 0) if isinstance(count, int) else len(lines)
            text = "".join(lines[start:end])
        return {"content": text}

    def _write(self, parts: tuple[str, ...], params: Mapping[str, Any]) -> dict[str, object]:
        content = params.get("content")
        if self._permissions.edit != ALLOWED:
            raise ValueError(messages.NOT_BY_PROFILE)
        if not isinstance(content, str):
            raise ValueError(messages.NEEDS_CONTENT)  # noqa: TRY004 - it is the agent's
        with os.fdopen(self._open(parts, os.O_WRONLY | os.O_CREAT), "wb") as file:
            file.truncate()
            file.write(content.encode("utf-8", "replace"))
        return {}

    def _open(self, parts: tuple[str, ...], flags: int) -> int:
        """Open a file step by step; directories that a write needs are made."""
        *directories, name = parts
        at = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for each in directories:
                if flags & os.O_CREAT:
                    _make(each, at)
                inner = os.open(each, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
                os.close(at)
                at = inner
            # A pipe must not keep us waiting, and is none of its files.
            found = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666, dir_fd=at)
        finally:
            os.close(at)
        if not stat.S_ISREG(os.fstat(found).st_mode):
            os.close(found)
            raise ValueError(messages.NO_FILE)
        return found


def _make(name: str, at: int) -> None:
    try:
        os.mkdir(name, dir_fd=at)
    except FileExistsError:
        return
