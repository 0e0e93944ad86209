"""
Change one table of a TOML text as a person would, and leave every other byte as it is.

In: a text of TOML, the path of a table, and values for its keys.  Out: the changed text, proved by
reading it back; MalformedConfig where the text is no TOML, ConfigNotEditable where the table is
not written as a section of its own.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.errors import ConfigNotEditable, MalformedConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BOM = "\ufeff"
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*|[\[\]{}\n]|[^\"'#\[\]{}\n]+",
    re.DOTALL,
)

Keys = Sequence[str]
Table = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Statement:
    """One header, one key with its value, or a line of neither; with its line break."""

    text: str
    code: str
    section: tuple[str, ...]

    @property
    def is_header(self) -> bool:
        return self.code.startswith("[")


def parse_toml(text: str) -> Table:
    """Return what the text says."""
    return _parsed(text, float)


def set_table(text: str, path: Keys, values: Table) -> str:
    """Return the text with these keys in that table; its other keys stay."""
    before = _comparable(text)
    wanted = _with(before, path, values)
    if wanted == before:
        return text
    if _found(before, path) is None:
        return _proved(_appended(text, path, values), wanted, path)
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
    return _proved("".join(changed), wanted, path)


def remove_table(text: str, path: Keys) -> str:
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
    return _proved(kept, _without(before, path), path)


def table_text(path: Keys, values: Table, newline: str = "\n") -> str:
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


def _appended(text: str, path: Keys, values: Table) -> str:
    newline = _newline(text)
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
        if each.code and (said := parse_toml(each.code)).keys() == {key}:
            if said[key] != value:
                behind = each.text[each.text.index(each.code) + len(each.code) :]
                indent = each.text[: each.text.index(each.code)]
                changed[n] = f"{indent}{_key(key)} = {_value(value)}{behind}"
            return
    newline = _newline(changed[header])
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
            if statements[n].code:
                last = n
        yield first, last


def _statements(text: str) -> Iterator[_Statement]:
    """Cut a text that is known to be TOML; nothing of it is lost."""
    section: tuple[str, ...] = ()
    start = depth = 0
    code = ""
    if text.startswith(_BOM):
        yield _Statement(_BOM, "", ())
        start = len(_BOM)
    for token in _TOKEN.finditer(text, start):
        word = token.group()
        if word == "\n" and not depth:
            yield (made := _statement(text[start : token.end()], code, section))
            section, start, code = made.section, token.end(), ""
            continue
        depth += (word in ("[", "{")) - (word in ("]", "}"))
        code += "" if word.startswith("#") and not depth else word
    if start < len(text):
        yield _statement(text[start:], code, section)


def _statement(text: str, code: str, section: tuple[str, ...]) -> _Statement:
    code = code.strip()
    return _Statement(text, code, _header_path(code) if code.startswith("[") else section)


def _header_path(code: str) -> tuple[str, ...]:
    value: object = parse_toml(code)
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


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _found(table: object, path: Keys) -> object:
    for key in path:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table


def _with(table: object, path: Keys, values: Table) -> Table:
    below = table if isinstance(table, Mapping) else {}
    if not path:
        return {**below, **values}
    return {**below, path[0]: _with(below.get(path[0]), path[1:], values)}


def _without(table: Table, path: Keys) -> Table:
    below = table[path[0]]
    if len(path) == 1 or not isinstance(below, Mapping):
        return {key: value for key, value in table.items() if key != path[0]}
    return {**table, path[0]: _without(below, path[1:])}


def _proved(edited: str, wanted: Table, path: Keys) -> str:
    """Return the text, after a proof that it says what it should."""
    try:
        # A table that only led to the one that is gone may be gone as well.
        if _filled(_comparable(edited), path) == _filled(wanted, path):
            return edited
    except MalformedConfig:
        pass
    raise ConfigNotEditable(messages.OTHER_FORM)


def _filled(table: Table, path: Keys) -> Table:
    """Return the table with every table on the way to the last key."""
    if len(path) == 1:
        return table
    below = table.get(path[0], {})
    return {**table, path[0]: _filled(below, path[1:]) if isinstance(below, Mapping) else below}
