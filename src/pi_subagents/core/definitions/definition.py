"""
What profiles and presets have in common: a Markdown file that defines something under a name.

In: the front matter of one file and a reader per field.  Out: the values that could be read, and
what is wrong with the file.  A fatal problem keeps the file from being used, so that a restriction
that cannot be read never falls away.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Protocol

from pi_subagents.core import messages
from pi_subagents.core.nearest import nearest
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.spending.budget import parse_budget
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.definitions.frontmatter import Frontmatter, Value

GLOBAL = "global"
PROJECT = "project"
NAME_PATTERN = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # to be matched whole
_MAX_UNKNOWN = 10  # each costs a search for what was meant
_MAX_KEY_SHOWN = 64
_MAX_SHOWN = 1000


class Loaded(Protocol):
    """What a file defines, and where it came from: `scope` is GLOBAL or PROJECT."""

    @property
    def name(self) -> str:
        """What it is called by."""

    @property
    def scope(self) -> str:
        """Whose it is."""

    @property
    def path(self) -> str:
        """The file it was read from."""


@value
class FileProblem:
    """One thing wrong with a file; a fatal one keeps it from use, a note is only good to know."""

    path: str
    line: int
    problem: str
    fatal: bool
    is_note: bool = False

    def __str__(self) -> str:
        return one_line(f"{self.path}:{self.line}: {self.problem}", _MAX_SHOWN)


class FieldReading:
    """One file while it is read: values by the names its fields have there, and problems."""

    def __init__(self, path: str, content: Frontmatter) -> None:
        self.values: dict[str, object] = {}
        self._path = path
        self._lines = content.lines
        self._problems: list[FileProblem] = []

    def report(self, key: str, problem: str, *, fatal: bool) -> None:
        """Note what is wrong with a field, or with the whole file if it has no such field."""
        line = self._lines.get(key, 1)
        self._problems.append(FileProblem(self._path, line, problem, fatal))

    @property
    def failed(self) -> bool:
        """Whether the file cannot be used."""
        return any(found.fatal for found in self._problems)

    @property
    def problems(self) -> tuple[FileProblem, ...]:
        """All that is wrong, by line."""
        return tuple(sorted(self._problems, key=lambda found: found.line))


def read_fields(
    path: str,
    content: Frontmatter,
    readers: Mapping[str, Callable[[Value], object]],
    required: tuple[str, ...],
) -> FieldReading:
    """Read every known field, and report what is missing, malformed or unknown."""
    reading = FieldReading(path, content)
    if "\0" in content.body:
        reading.report("", messages.BODY_HAS_NULL, fatal=True)
    # The reader of a required field says what is wrong with none, too.
    for key, given in {**dict.fromkeys(required), **content.fields}.items():
        if key not in readers:
            continue
        try:
            reading.values[key] = readers[key](given)
        except TypeError as wrong:
            reading.report(key, messages.field_problem(key, str(wrong)), fatal=True)
    if reading.values.get("tools") == ():
        reading.report("tools", messages.TOOLS_EMPTY, fatal=False)
    unknown = [key for key in content.fields if key not in readers]
    for key in unknown[:_MAX_UNKNOWN]:
        reading.report(key, _unknown_field(key, tuple(readers)), fatal=False)
    if rest := unknown[_MAX_UNKNOWN:]:
        reading.report(rest[0], messages.more_unknown_fields(len(rest)), fatal=False)
    return reading


def is_definition_name(name: str) -> bool:
    """Return whether something may be called so, which also makes it safe as a file's name."""
    return NAME_PATTERN.fullmatch(name) is not None


# Readers of a field: they return its value, or raise a TypeError that says what it must be.


def name_field(given: Value) -> str:
    """Return what something is called."""
    if not isinstance(given, str) or not is_definition_name(given):
        raise TypeError(messages.NEEDS_NAME)
    return given


def text_field(given: Value) -> str:
    """Return a text as it is; none is empty."""
    if given is None:
        return ""
    if not isinstance(given, str):
        raise TypeError(messages.MUST_BE_STRING)
    if "\0" in given:
        raise TypeError(messages.MUST_NOT_HAVE_NULL)
    return given


def flag_field(given: Value) -> bool:
    """Return a yes or no."""
    word = given.lower() if isinstance(given, str) else None
    if word not in ("true", "false"):
        raise TypeError(messages.MUST_BE_FLAG)
    return word == "true"


def items_field(given: Value) -> tuple[str, ...]:
    """Return the items of a list as they are, or those between the commas of a text."""
    if given is None:
        return ()
    items = given.split(",") if isinstance(given, str) else given
    if not isinstance(items, list):
        raise TypeError(messages.MUST_BE_ITEMS)
    texts = [item.strip() for item in items if isinstance(item, str)]
    if len(texts) < len(items):
        raise TypeError(messages.MUST_BE_ITEMS)
    return tuple(text for text in texts if text)


def arguments_field(given: Value) -> tuple[str, ...]:
    """Return arguments: those of a list with every blank, which may be a reason to refuse one."""
    trimmed = items_field(given)
    if not isinstance(given, list):
        return trimmed
    return tuple(item for item in given if isinstance(item, str) and item)


def schema_field(given: Value) -> str:
    """Return a schema as JSON on one line: what stands there is JSON, or the same in YAML."""
    text = text_field(given)
    if not text.strip():
        return ""
    from pi_subagents.core.answer.messages import NEEDS_SCHEMA
    from pi_subagents.core.answer.schema import checked_schema
    from pi_subagents.errors import InvalidRequest

    try:
        return json.dumps(checked_schema("", json.loads(text)))
    except InvalidRequest as refusal:
        raise TypeError(refusal.problem) from refusal
    except (ValueError, RecursionError) as error:
        raise TypeError(NEEDS_SCHEMA) from error


def paths_field(given: Value) -> tuple[str, ...]:
    """Return items that the system must be able to take as they are."""
    items = items_field(given)
    if any("\0" in item for item in items):
        raise TypeError(messages.MUST_NOT_HAVE_NULL)
    return items


def names_field(given: Value) -> tuple[str, ...]:
    """Return names; no name holds a comma, so `["bash,edit"]` excludes two tools, not none."""
    return paths_field(",".join(items_field(given)))


def budget_field(given: Value) -> str:
    """Return what may be spent, written in one way; one that cannot be read is none that holds."""
    try:
        return str(parse_budget(given)) if given else ""
    except ValueError as wrong:
        raise TypeError(str(wrong)) from None


def _unknown_field(key: str, readable: tuple[str, ...]) -> str:
    return messages.unknown_file_field(
        one_line(key, _MAX_KEY_SHOWN), nearest(key[:_MAX_KEY_SHOWN], readable)
    )
