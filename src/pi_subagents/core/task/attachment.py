"""
Files that a task brings along: what was asked for, which lines, and how they stand in the prompt.

In: the `files` of a task as decoded JSON, and later the content of each.  Out: checked FileSpecs,
then blocks of text under a header.  A file that cannot be had becomes a placeholder in its place,
never a failed task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pi_subagents.core import messages
from pi_subagents.core.parameters import whole
from pi_subagents.core.plain_text import shortened
from pi_subagents.core.value import value
from pi_subagents.errors import InvalidRequest

MAX_FILE_BYTES = 1024 * 1024
MAX_FILES_BYTES = 32 * MAX_FILE_BYTES  # of one task: more than any model takes
_MAX_DIGITS = 18
_MAX_SHOWN = 80
_FORMS = (("start", "end"), ("head",), ("tail",))


@value
class FileSpec:
    """One file and which of its lines; lines count from 1, both ends included."""

    path: str
    start: int | None = None
    end: int | None = None
    head: int | None = None
    tail: int | None = None


def parse_files(where: str, value: object) -> tuple[FileSpec, ...]:
    """Read the `files` of one task."""
    if not isinstance(value, list):
        raise InvalidRequest(where, messages.NEEDS_FILE_LIST)
    return tuple(_parse_file(f"{where}[{i}]", each) for i, each in enumerate(value))


def parse_file_argument(argument: str) -> FileSpec:
    """Read `PATH` or `PATH:10-50` as a person types it; the path may hold colons."""
    path, colon, lines = argument.rpartition(":")
    first, dash, last = lines.partition("-")
    numbers = [part for part in (first, last) if part]
    if colon and path and dash and numbers and all(part.isdecimal() for part in numbers):
        # More digits than any file has lines may be more than int() takes.
        if any(len(part) > _MAX_DIGITS or int(part) < 1 for part in numbers):
            raise InvalidRequest(shortened(argument, _MAX_SHOWN), messages.MUST_BE_LINE)
        start, end = (int(part) if part else None for part in (first, last))
        return _checked(argument, FileSpec(path, start=start, end=end))
    return _checked(argument, FileSpec(argument))


def select_lines(text: str, spec: FileSpec) -> str:
    """Return the asked-for lines, without the newline that ends the last one."""
    lines = text.removesuffix("\n").split("\n")
    if spec.head is not None:
        lines = lines[: spec.head]
    elif spec.tail is not None:
        lines = lines[-spec.tail :]
    else:
        lines = lines[(spec.start or 1) - 1 : spec.end]
    return "\n".join(lines)


def format_blocks(blocks: list[tuple[str, str]], prompt: str) -> str:
    """Return the prompt with every file's content before it."""
    return "".join(f"=== {path} ===\n{content}\n\n" for path, content in blocks) + prompt


def _parse_file(where: str, value: object) -> FileSpec:
    if isinstance(value, str):
        return _checked(where, FileSpec(value))
    if not isinstance(value, Mapping) or not isinstance(value.get("path"), str):
        raise InvalidRequest(where, messages.NEEDS_FILE)
    # Models write null for what they leave out.
    given: dict[str, Any] = {
        key: whole(each) for key, each in value.items() if key != "path" and each is not None
    }
    _check_lines(where, given)
    return _checked(where, FileSpec(path=value["path"], **given))


def check_file(where: str, spec: object) -> None:
    """Refuse what a program gives for a file and is none."""
    if not isinstance(spec, FileSpec):
        raise InvalidRequest(where, messages.NEEDS_FILE_SPEC)
    if not isinstance(spec.path, str):
        raise InvalidRequest(f"{where}.path", messages.NEEDS_STRING)
    lines = {form: getattr(spec, form) for form in ("start", "end", "head", "tail")}
    _check_lines(where, {key: number for key, number in lines.items() if number is not None})
    _checked(where, spec)


def _check_lines(where: str, given: Mapping[str, object]) -> None:
    if given and not any(set(given) <= set(form) for form in _FORMS):
        raise InvalidRequest(where, messages.FILE_FORMS)
    for key, number in given.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InvalidRequest(f"{where}.{key}", messages.MUST_BE_LINE)


def _checked(where: str, spec: FileSpec) -> FileSpec:
    if not spec.path or "\0" in spec.path:
        raise InvalidRequest(where, messages.NEEDS_FILE)
    if spec.start is not None and spec.end is not None and spec.start > spec.end:
        raise InvalidRequest(where, messages.START_AFTER_END)
    return spec
