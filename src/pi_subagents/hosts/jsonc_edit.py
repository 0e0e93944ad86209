"""
Change one value of a JSON text as a person would, and leave every other byte as it is.

In: a text of JSON, with comments and trailing commas where people write them, a path of keys, and
a value.  Out: the changed text, proved by reading it back; MalformedConfig where the text is no
JSON, ConfigNotEditable where one value cannot be changed alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

from pi_subagents.core.value import value
from pi_subagents.errors import ConfigNotEditable, MalformedConfig
from pi_subagents.hosts import messages

_BOM = "\ufeff"
_BLANKS = " \t\r\n"
_UNIT = "  "
_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"[-+.\w]+")
_SPACES = re.compile(r"[ \t]*")
_REST_OF_LINE = re.compile(r"[ \t]*(?:\r\n|\n|\r|\Z)")


def _no_constant(_: str) -> NoReturn:
    raise ValueError  # NaN and Infinity are no JSON


_PLAIN = json.JSONDecoder(parse_constant=_no_constant)

KeyPath = Sequence[str]


@value
class _Node:
    """A value and where it stands; `end` is behind its last character."""

    start: int
    end: int
    value: object
    members: tuple[_Member, ...] = ()


@value
class _Member:
    """One key of an object; `comma` is where the comma behind it stands, or -1."""

    key: str
    start: int
    node: _Node
    comma: int


def parse_jsonc(text: str) -> object:
    """Return what the text says; an empty text, or one of comments only, is an empty object."""
    root = _read(text, None)
    return {} if root is None else root.value


def set_value(text: str, path: KeyPath, value: object) -> str:
    """Return the text with this value there; objects on the way are made where they are missing."""
    root = _read(text, path)
    if root is None:
        return _document(text, _with(None, path, value))
    return _proved(_changed(text, root, path, value), _with(root.value, path, value))


def remove_value(text: str, path: KeyPath) -> str:
    """Return the text without this key; where it is absent, the text as it is."""
    root = node = _read(text, path)
    for key in path[:-1]:
        found = _member(node, key)
        node = found.node if found else None
    found = _member(node, path[-1])
    if root is None or node is None or found is None:
        return text
    return _proved(_without_member(text, node, found), _without(root.value, path))


def _read(text: str, path: KeyPath | None) -> _Node | None:
    """Return the one value of the text with members along a path; None where there is no value."""
    start = _skipped(text, len(_BOM) if text.startswith(_BOM) else 0)
    if start == len(text):
        return None
    try:
        node = _value(text, start, path)
    except RecursionError:
        raise MalformedConfig(messages.NESTED_TOO_DEEPLY) from None
    if _skipped(text, node.end) != len(text):
        _refuse(text, _skipped(text, node.end), "the end")
    return node


def _value(text: str, at: int, path: KeyPath | None = None) -> _Node:
    if not path and text.startswith(("{", "["), at):
        # Most of a file is none of our business, and plain JSON: that is read at once.
        with suppress(ValueError):
            value, end = _PLAIN.raw_decode(text, at)
            return _Node(at, end, value)
    if text.startswith("{", at):
        return _object(text, at, path or ())
    if text.startswith("[", at):
        return _array(text, at)
    found = _STRING.match(text, at) or _WORD.match(text, at)
    if not found:
        _refuse(text, at, "a value")
    try:
        value = _PLAIN.decode(found.group())
    except ValueError:
        _refuse(text, at, "a value")
    return _Node(at, found.end(), value)


def _object(text: str, start: int, path: KeyPath) -> _Node:
    members: list[_Member] = []
    at = _skipped(text, start + 1)
    while not text.startswith("}", at):
        if members and members[-1].comma < 0:
            _refuse(text, at, "a comma or }")
        key = _STRING.match(text, at)
        if not key:
            _refuse(text, at, "a key in quotes or }")
        colon = _skipped(text, key.end())
        if not text.startswith(":", colon):
            _refuse(text, colon, "a colon")
        name = str(_value(text, at).value)
        below = path[1:] if path and name == path[0] else None
        node = _value(text, _skipped(text, colon + 1), below)
        comma = _skipped(text, node.end)
        has_comma = text.startswith(",", comma)
        members.append(_Member(name, at, node, comma if has_comma else -1))
        at = _skipped(text, comma + 1) if has_comma else comma
    value = {member.key: member.node.value for member in members}
    return _Node(start, at + 1, value, tuple(members))


def _array(text: str, start: int) -> _Node:
    items: list[object] = []
    at = _skipped(text, start + 1)
    while not text.startswith("]", at):
        node = _value(text, at)
        items.append(node.value)
        at = _skipped(text, node.end)
        if text.startswith(",", at):
            at = _skipped(text, at + 1)
        elif not text.startswith("]", at):
            _refuse(text, at, "a comma or ]")
    return _Node(start, at + 1, items)


def _skipped(text: str, at: int) -> int:
    """Return where the next token begins."""
    found = _TRIVIA.match(text, at)
    assert found  # it also matches nothing
    return found.end()


def _refuse(text: str, at: int, expected: str) -> NoReturn:
    raise MalformedConfig(messages.unexpected_text(text.count("\n", 0, at) + 1, expected))


def _member(node: _Node | None, key: str) -> _Member | None:
    if node is None:
        return None
    found = [member for member in node.members if member.key == key]
    if len(found) > 1:
        raise ConfigNotEditable(messages.key_twice(key))
    return found[0] if found else None


def _changed(text: str, root: _Node, path: KeyPath, value: object) -> str:
    """Return the text with the value replaced, or put at the end of the object it belongs in."""
    node = root
    for depth, key in enumerate(path):
        if not isinstance(node.value, dict):
            where = messages.key_is_no_object(path[depth - 1])
            raise ConfigNotEditable(where if depth else messages.NO_OBJECT_INSIDE)
        found = _member(node, key)
        if found is None:
            return _inserted(text, root, node, key, _with(None, path[depth + 1 :], value))
        node = found.node
    if node.value == value:
        return text
    rendered = _rendered(text, root, value, _indent(text, node.start))
    return text[: node.start] + rendered + text[node.end :]


def _inserted(text: str, root: _Node, node: _Node, key: str, value: object) -> str:
    inside = text[node.start + 1 : node.end - 1]
    last = node.members[-1] if node.members else None
    if last and "\n" not in inside and "\r" not in inside:
        new = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        if last.comma >= 0:
            return f"{text[: last.comma + 1]} {new},{text[last.comma + 1 :]}"
        return f"{text[: last.node.end]}, {new}{text[last.node.end :]}"
    newline = newline_of(text)
    base = _indent(text, node.start)
    own_line = last and not text[_line_start(text, last.start) : last.start].strip(_BLANKS)
    indent = _indent(text, last.start) if last and own_line else base + _unit(text, root)
    new = f"{indent}{json.dumps(key)}: {_rendered(text, root, value, indent)}"
    new += "," if last and last.comma >= 0 else ""  # as the others end
    # On a line of its own, behind the last comment.
    stop = node.start + 1 + len(inside.rstrip(_BLANKS))
    line_end = text.find("\n", stop, node.end)
    if line_end >= 0:
        stop, new = line_end + 1, f"{new}{newline}"
    else:
        new = f"{newline}{new}{newline}{base}"
    if last and last.comma < 0:
        return f"{text[: last.node.end]},{text[last.node.end : stop]}{new}{text[stop:]}"
    return text[:stop] + new + text[stop:]


def _without_member(text: str, owner: _Node, gone: _Member) -> str:
    """Return the text without a member; what is left of an object that had no other is `{}`."""
    cuts = _cuts(text, owner, gone)
    for start, end in reversed(cuts):
        text = text[:start] + text[end:]
    inside = text[owner.start + 1 : owner.end - 1 - sum(end - start for start, end in cuts)]
    if len(owner.members) == 1 and not inside.strip(_BLANKS):
        text = text[: owner.start + 1] + text[owner.start + 1 + len(inside) :]
    return text


def _cuts(text: str, owner: _Node, gone: _Member) -> list[tuple[int, int]]:
    """Return what goes: the member, and the comma behind it or else the one before; no comment."""
    alone = _whole_line(text, gone.start, gone.node.end)
    if gone.comma >= 0:
        if text[gone.node.end : gone.comma].strip(_BLANKS):
            return [alone, (gone.comma, gone.comma + 1)]
        return [_whole_line(text, gone.start, gone.comma + 1)]
    if owner.members[0] is gone:
        return [alone]
    comma = owner.members[-2].comma  # only the last has no comma behind it
    between = text[comma + 1 : gone.start]
    if between.strip(_BLANKS) or "\n" in between:
        return [(comma, comma + 1), alone]
    return [(comma, gone.node.end)]


def _whole_line(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span with its lines where nothing else is on them, else with blanks beside it."""
    before = text[_line_start(text, start) : start]
    rest = _REST_OF_LINE.match(text, end)
    if rest and not before.strip(_BLANKS):
        return start - len(before), rest.end()
    if before.endswith((" ", "\t")):
        return start - len(before) + len(before.rstrip(" \t")), end
    return start, end + len(_SPACES.match(text, end)[0])  # type: ignore[index]  # it also matches nothing


def _document(text: str, value: object) -> str:
    """Return a new document behind what is there: nothing, blanks or comments."""
    newline = newline_of(text)
    kept = text if text.removeprefix(_BOM).strip(_BLANKS) else text.rstrip(_BLANKS)
    gap = "" if kept.removeprefix(_BOM) == "" or kept.endswith(("\n", "\r")) else newline
    body = json.dumps(value, indent=_UNIT, ensure_ascii=False).replace("\n", newline)
    return f"{kept}{gap}{body}{newline}"


def _rendered(text: str, root: _Node, value: object, indent: str) -> str:
    lines = json.dumps(value, indent=_unit(text, root), ensure_ascii=False)
    return lines.replace("\n", newline_of(text) + indent)


def _unit(text: str, root: _Node) -> str:
    """Return what one level is indented by in this text."""
    return (_indent(text, root.members[0].start) if root.members else "") or _UNIT


def newline_of(text: str) -> str:
    """Return how lines end in a text."""
    return "\r\n" if "\r\n" in text else "\n"


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _indent(text: str, at: int) -> str:
    """Return the blanks at the beginning of a line."""
    line = text[_line_start(text, at) : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _with(value: object, path: KeyPath, new: object) -> object:
    """Return the value with a new one at a path, in objects where there were none."""
    if not path:
        return new
    below = value if isinstance(value, Mapping) else {}
    return {**below, path[0]: _with(below.get(path[0]), path[1:], new)}


def _without(value: object, path: KeyPath) -> object:
    if not isinstance(value, Mapping):
        return value
    if len(path) == 1:
        return {key: each for key, each in value.items() if key != path[0]}
    return {k: _without(v, path[1:]) if k == path[0] else v for k, v in value.items()}


def _proved(edited: str, wanted: object) -> str:
    """Return the text, after a proof that it says what it should."""
    if parse_jsonc(edited) != wanted:
        raise ConfigNotEditable(messages.EDIT_NOT_PROVED)
    return edited
