"""
What was taken of runs' changes, in words and for scripts.

In: the files of the checkout that changed, warnings, commits.  Out: text, or a JSON object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable, shown_name
from pi_subagents.core.workspace.changes import Changes
from pi_subagents.view import messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.value import JsonObject
    from pi_subagents.core.workspace.changes import ChangedFile

_SHOWN_FILES = 20
_MAX_PATCH = 400_000  # bytes of it that a screen shows


def file_line(file: ChangedFile) -> str:
    """Return one changed file: what happened to it, its names, how many lines."""
    lines = "binary" if file.added is None else f"+{file.added} \N{MINUS SIGN}{file.removed}"
    came = f" (was {shown_name(file.old_path)})" if file.old_path else ""
    return f"{file.kind} {shown_name(file.path)}{came}  {lines}"


def changes_text(work: str, changes: Changes, warnings: Sequence[str], patch: bytes) -> str:
    """Return all that is to be read before changes are taken, safe to print; long patches cut."""
    files = [file_line(file) for file in changes.files]
    shown = patch[:_MAX_PATCH].decode("utf-8", "replace")
    cut = [messages.patch_cut(len(patch))] if len(patch) > _MAX_PATCH else []
    return printable("\n".join([work, *warnings, *files, "", shown, *cut]))


def taken_text(files: Sequence[ChangedFile], commits: Sequence[str], *, check: bool) -> str:
    """Return what was taken: a line, and then the files."""
    summary = Changes("", "", tuple(files)).summary
    done = "They fit: " if check else "Applied: "
    made = f", {len(commits)} commits" if len(commits) > 1 else ", 1 commit" if commits else ""
    lines = [f"  {file.kind} {shown_name(file.path)}" for file in files[:_SHOWN_FILES]]
    if (more := len(files) - _SHOWN_FILES) > 0:
        lines.append(f"  and {more} more")
    return "\n".join([f"{done}{summary}{made}", *lines])


def taken_to_json(
    files: Sequence[ChangedFile],
    warnings: Sequence[str],
    commits: Sequence[str],
    *,
    check: bool,
) -> JsonObject:
    """Return the same for scripts."""
    return {
        "status": "fits" if check else "applied",
        "summary": Changes("", "", tuple(files)).summary,
        "files": [{"path": file.path, "kind": file.kind} for file in files],
        "warnings": list(warnings),
        "commits": list(commits),
    }
