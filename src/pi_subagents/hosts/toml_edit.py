"""
Change one table of a TOML text as a person would, and leave every other byte as it is.

In: a text of TOML, the path of a table, and values for its keys.  Out: the changed text, proved by
reading it back; MalformedConfig where the text is no TOML, ConfigNotEditable where the table is
not written as a section of its own.  Where a statement ends is tomllib's to say; tomlkit would lose
the comments above a section when the one before it goes (docs/dependencies.md).
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents.errors import ConfigNotEditable, MalformedConfig
from pi_subagents.hosts import messages
from pi_subagents.hosts.jsonc_edit import newline_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BOM = "\ufeff"
_MAY_END = re.compile(r"\"{3}|'{3}|[]}]")  # ends a statement over several lines
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

TablePath = Sequence[str]
Table = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Statement:
    """One header, one key with its value, or a line of neither; with its line break."""

    text: str
    said: Table
    section: tuple[str, ...]

    @property
    def is_header(self) -> bool:
        return self.text.lstrip().startswith("[")


def parse_toml(text: str) -> Table:
    """Return what the text says."""
    return _parsed(text, float)


def set_table(text: str, path: TablePath, values: Table) -> str:
    """Return the text with these keys in that table; its other keys stay."""
    before = _comparable(text)
    there = _found(before, path)
    if there is None:
        return _proved(_appended(text, path, values), before, path, values)
    wanted = {**(there if isinstance(there, Mapping) else {}), **values}
    if there == wanted:
        return text
    statements = list(_statements(text))
    header = next(
        (n for n, each in enumerate(statements) if each.is_header and each.section == tuple(path)),
        None,
    )
    if header is None:
        raise ConfigNotEditable(messages.OTHER_FORM)
    changed = [each.text for each in statements]
    for key, value in values.items():
        _put(statements, changed, header=header, key=key, value=value)
    return _proved("".join(changed), before, path, wanted)


def remove_table(text: str, path: TablePath) -> str:
    """Return the text without that table and the tables below it; without it, as it is."""
    before = _comparable(text)
    if _found(before, path) is None:
        return text
    statements = list(_statements(text))
    gone: set[int] = set()
    for first, last in _spans(statements, tuple(path)):
        gone.update(range(first, last + 1))
        if first and not statements[first - 1].text.strip():
            gone.add(first - 1)  # the blank line that sets it apart
    kept = "".join(each.text for n, each in enumerate(statements) if n not in gone)
    return _proved(kept, before, path, None)


def table_text(path: TablePath, values: Table, newline: str = "\n") -> str:
    """Return a section as people write it."""
    rows = [f"[{'.'.join(_key(part) for part in path)}]"]
    rows += [f"{_key(key)} = {_value(value)}" for key, value in values.items()]
    return "".join(f"{row}{newline}" for row in rows)


def _parsed(text: str, parse_float: Callable[[str], object]) -> Table:
    try:
        return tomllib.loads(text.removeprefix(_BOM), parse_float=parse_float)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise MalformedConfig(str(error)) from error


def _comparable(text: str) -> Table:
    """Return what the text says, with a word for each NaN: that is not equal to itself."""
    return _parsed(text, lambda number: "nan" if math.isnan(float(number)) else float(number))


def _appended(text: str, path: TablePath, values: Table) -> str:
    newline = newline_of(text)
    section = table_text(path, values, newline)
    if not text.removeprefix(_BOM):
        return text + section
    return text + ("" if text.endswith("\n") else newline) + newline + section


def _put(
    statements: list[_Statement], changed: list[str], *, header: int, key: str, value: object
) -> None:
    """Replace the value of one key in a section, or add the key below its header."""
    for n in range(header + 1, len(statements)):
        each = statements[n]
        if each.is_header:
            break
        if each.said.keys() == {key}:
            if each.said[key] != value:
                indent, behind = _around(each)
                changed[n] = f"{indent}{_key(key)} = {_value(value)}{behind}"
            return
    newline = newline_of(changed[header])
    if not changed[header].endswith("\n"):
        changed[header] += newline
    changed[header] += f"{_key(key)} = {_value(value)}{newline}"


def _spans(statements: list[_Statement], path: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last statement of each section at or below a path."""
    for first, header in enumerate(statements):
        if not header.is_header or header.section[: len(path)] != path:
            continue
        last = first
        for n in range(first + 1, len(statements)):
            if statements[n].is_header:
                break
            if statements[n].said:
                last = n
        yield first, last


def _statements(text: str) -> Iterator[_Statement]:
    """Cut a text that is known to be TOML; nothing of it is lost."""
    section: tuple[str, ...] = ()
    statement = ""
    if text.startswith(_BOM):
        yield _Statement(_BOM, {}, ())
    for line in re.findall(r".*\n|.+", text.removeprefix(_BOM)):
        begun, statement = statement, statement + line
        if begun and not _MAY_END.search(line):
            continue
        # A beginning of a statement over several lines is no TOML, and every statement alone is.
        with suppress(MalformedConfig):
            said = _comparable(statement)
            section = _header_path(said) if statement.lstrip().startswith("[") else section
            yield _Statement(statement, said, section)
            statement = ""


def _around(statement: _Statement) -> tuple[str, str]:
    """Return what stands before a key, and behind its value: a comment, a line break."""
    text = statement.text
    for found in re.finditer(r"\s*(?:#|$)", text):
        with suppress(MalformedConfig):
            if _comparable(text[: found.start()]) == statement.said:
                return text[: len(text) - len(text.lstrip())], text[found.start() :]
    raise ConfigNotEditable(messages.OTHER_FORM)


def _header_path(said: Table) -> tuple[str, ...]:
    value: object = said
    path: list[str] = []
    while value:
        if isinstance(value, list):
            value = value[0]
        elif isinstance(value, Mapping):
            key = next(iter(value))
            path.append(key)
            value = value[key]
    return tuple(path)


def _value(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(each) for each in value)}]"
    return json.dumps(value)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _value(key)


def _found(table: object, path: TablePath) -> object:
    for key in path:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table


def _proved(edited: str, before: Table, path: TablePath, wanted: object) -> str:
    """Return the text, after a proof that it has the table as wanted and all else as before."""
    with suppress(MalformedConfig):
        after = _comparable(edited)
        if _found(after, path) == wanted and _others(after, path) == _others(before, path):
            return edited
    raise ConfigNotEditable(messages.OTHER_FORM)


def _others(table: Table, path: TablePath) -> Table:
    """Return all but the table at the path; a table that only leads to it may be gone as well."""
    if len(path) == 1:
        return {key: value for key, value in table.items() if key != path[0]}
    below = table.get(path[0], {})
    return {**table, path[0]: _others(below, path[1:]) if isinstance(below, Mapping) else below}
