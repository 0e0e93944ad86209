"""
What can be asked of the offline model, as values.

understand.py makes them from English, commands.py finds the answer to them, answers.py says it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of files: how to say one and many of them, and the name patterns that make it."""

    one: str
    many: str
    patterns: tuple[str, ...] = ()
    folders: bool = False


@dataclass(frozen=True, slots=True)
class ListFolder:
    """What is directly in a folder."""

    path: str


@dataclass(frozen=True, slots=True)
class FindFiles:
    """Files below a folder, by kind or name; only their number when `count_only`."""

    kind: Kind
    path: str
    count_only: bool = False


@dataclass(frozen=True, slots=True)
class CountText:
    """Lines, words or characters of a file, or of the files below a folder."""

    unit: str
    kind: Kind | None
    path: str


@dataclass(frozen=True, slots=True)
class SearchText:
    """Lines that contain a text, perhaps only in a kind of files; or just their number."""

    needle: str
    path: str
    kind: Kind | None = None
    count_only: bool = False


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file's content, perhaps only its first lines."""

    path: str
    first_lines: int | None = None


@dataclass(frozen=True, slots=True)
class Headings:
    """The Markdown headings of a file, a glob, or the files below a folder."""

    path: str


Ask = ListFolder | FindFiles | CountText | SearchText | ReadFile | Headings
