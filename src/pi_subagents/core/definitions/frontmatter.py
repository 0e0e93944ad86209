"""
Read a Markdown file with YAML front matter: profiles, presets and skills.

In: the file's text.  Out: its fields with their lines, and its body; FrontmatterError where the
YAML cannot be trusted.  Scalars stay text, so that a profile may be called `true`; what a field
means is its reader's business.  Aliases, anchors, tags and repeated keys are refused: none is
needed here, and each can make a file mean something other than what it looks like.  Where a field
holds JSON, its YAML becomes the text of that: numbers, yes and no are themselves there.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import yaml

from pi_subagents.core import messages
from pi_subagents.core.value import value
from pi_subagents.errors import FrontmatterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_YAML = 64 * 1024
MAX_DEPTH = 32
_FENCE = "---"
_NULLS = ("", "~", "null", "Null", "NULL")
_JSON_FIELDS = ("outputSchema",)
_NO_TEXT = re.compile(r"true|false|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Value = str | None | list["Value"] | dict[str, "Value"]


@value
class Frontmatter:
    """A file's fields (lines count from 1) and what follows them, trimmed."""

    fields: Mapping[str, Value]
    lines: Mapping[str, int]
    body: str


def parse_frontmatter(text: str) -> Frontmatter:
    """Return fields and body; a file that does not begin with `---` is all body."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return Frontmatter({}, {}, text.strip())
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        raise FrontmatterError(1, messages.FENCE_NOT_CLOSED)
    source = "".join(f"{line}\n" for line in lines[1:end])  # a text of several lines may be last
    if len(source) > MAX_YAML:
        raise FrontmatterError(1, messages.frontmatter_too_large(MAX_YAML))
    fields, where = _fields(source)
    return Frontmatter(fields, where, "\n".join(lines[end + 1 :]).strip())


def _fields(source: str) -> tuple[dict[str, Value], dict[str, int]]:
    try:
        events = yaml.parse(source, Loader=_LOADER)
        return _mapping_of(events)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FrontmatterError(_line(mark), error.problem or error.context or "") from error
    except (yaml.YAMLError, ValueError) as error:  # characters that no YAML may hold
        problem = str(error).splitlines()[0]
        raise FrontmatterError(1, messages.yaml_unreadable(problem)) from error


def _mapping_of(events: Iterator[yaml.Event]) -> tuple[dict[str, Value], dict[str, int]]:
    """Read the stream's one mapping; an empty stream is an empty one."""
    where: dict[str, int] = {}
    for event in events:
        if isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
            continue
        if isinstance(event, yaml.StreamEndEvent):
            return {}, where
        if isinstance(event, yaml.ScalarEvent) and event.value == "":
            return {}, where
        if not isinstance(event, yaml.MappingStartEvent):
            raise FrontmatterError(_line(event.start_mark), messages.NEEDS_FIELDS)
        fields = _value(events, event, 1, where)
        assert isinstance(fields, dict)
        for rest in events:  # a second document would be read by nobody
            if isinstance(rest, yaml.DocumentStartEvent):
                raise FrontmatterError(_line(rest.start_mark), messages.NEEDS_FIELDS)
        return fields, where
    return {}, where


def _value(
    events: Iterator[yaml.Event],
    event: yaml.Event,
    depth: int,
    where: dict[str, int] | None = None,
    *,
    as_json: bool = False,
) -> Any:
    line = _line(event.start_mark)
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        raise FrontmatterError(line, messages.NO_ALIASES)
    if getattr(event, "tag", None):
        raise FrontmatterError(line, messages.NO_TAGS)
    if depth > MAX_DEPTH:
        raise FrontmatterError(line, messages.TOO_DEEP)
    if isinstance(event, yaml.ScalarEvent):
        plain = not event.style  # None from one parser, empty from the other
        if plain and event.value in _NULLS:
            return None
        is_json = as_json and plain and _NO_TEXT.fullmatch(event.value)
        return json.loads(event.value) if is_json else event.value
    if isinstance(event, yaml.SequenceStartEvent):
        items = _until(events, yaml.SequenceEndEvent)
        return [_value(events, item, depth + 1, as_json=as_json) for item in items]
    found: dict[str, Any] = {}
    for key_event in _until(events, yaml.MappingEndEvent):
        key_line = _line(key_event.start_mark)
        key = _value(events, key_event, depth + 1)
        if not isinstance(key, str):
            raise FrontmatterError(key_line, messages.NEEDS_KEY)
        if key in found:
            raise FrontmatterError(key_line, messages.repeated_key(key))
        if key == "<<":
            raise FrontmatterError(key_line, messages.NO_ALIASES)
        holds_json = where is not None and key in _JSON_FIELDS
        given = _value(events, next(events), depth + 1, as_json=as_json or holds_json)
        found[key] = (
            json.dumps(given) if holds_json and not isinstance(given, str | None) else given
        )
        if where is not None:
            where[key] = key_line
    return found


def _until(events: Iterator[yaml.Event], end: type[yaml.Event]) -> Iterator[yaml.Event]:
    return iter(lambda: _none_at(next(events), end), None)


def _none_at(event: yaml.Event, end: type[yaml.Event]) -> yaml.Event | None:
    return None if isinstance(event, end) else event


def _line(mark: object) -> int:
    """Return the line in the file: the fence above stands on the first one."""
    return int(getattr(mark, "line", 0)) + 2
