"""
What can be asked of the offline model, as values.

understand.py makes them from English, commands.py finds the answer to them, answers.py words it.
"""

from __future__ import annotations

from pi_subagents.core.value import value


@value
class AskKind:
    """A kind of files: the words for one and many of them, and the name patterns that make it."""

    one: str
    many: str
    patterns: tuple[str, ...] = ()
    folders: bool = False


@value
class ListFolder:
    """What is directly in a folder."""

    path: str


@value
class FindFiles:
    """Files below a folder, by kind or name; only their number when `count_only`."""

    kind: AskKind
    path: str
    count_only: bool = False


@value
class CountText:
    """Lines, words or characters of a file, or of the files below a folder."""

    unit: str
    kind: AskKind | None
    path: str


@value
class SearchText:
    """Lines that contain a text, perhaps only in a kind of files; or just their number."""

    needle: str
    path: str
    kind: AskKind | None = None
    count_only: bool = False


@value
class ReadFile:
    """A file's content, perhaps only its first lines."""

    path: str
    first_lines: int | None = None


@value
class Headings:
    """The Markdown headings of a file, a glob, or the files below a folder."""

    path: str


@value
class AskSomebody:
    """What only whoever gave the task can say."""

    question: str


AskForLines = ListFolder | FindFiles | SearchText | Headings
AskForCommand = AskForLines | CountText
Ask = AskForCommand | ReadFile | AskSomebody
