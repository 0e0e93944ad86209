"""
Change a profile's file as a person would: only the lines of the fields that change.

In: the file's text and the profile it is to hold.  Out: the new text, in which comments, unknown
keys, their order, the kind of line ends and all other lines are as they were; ProfileNotSaved where
that cannot be proved by reading it back.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml

from pi_subagents.core import messages
from pi_subagents.core.definitions.frontmatter import parse_frontmatter
from pi_subagents.core.profile.profile import FIELDS, Profile, parse_profile
from pi_subagents.core.profile.text import fields_to_yaml
from pi_subagents.core.value import replace
from pi_subagents.errors import FrontmatterError, ProfileNotSaved

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_BOM = "\ufeff"
_FENCE = "---"
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_BODY = "systemPrompt"
_UNSET = Profile("")


@dataclass(slots=True)
class _Part:
    """Lines that belong to one field, or to none: comments, blank lines."""

    key: str
    lines: list[str]
    indent: str = ""
    comment: str = ""


def changed_fields(before: Profile, wanted: Profile) -> tuple[str, ...]:
    """Return which fields differ, as a file calls them."""
    return tuple(
        key for key, name in FIELDS.items() if getattr(before, name) != getattr(wanted, name)
    )


def edit_profile_text(text: str, wanted: Profile) -> str:
    """Return the file with the fields of `wanted`, and everything else as it was."""
    try:
        before, _ = parse_profile("", parse_frontmatter(text))
    except FrontmatterError as error:
        raise ProfileNotSaved(wanted.name, messages.NOT_EDITABLE) from error
    if before is None:
        raise ProfileNotSaved(wanted.name, messages.NOT_EDITABLE)
    prompt = wanted.system_prompt.replace("\r\n", "\n").replace("\r", "\n").strip()
    wanted = replace(wanted, system_prompt=prompt)
    changed = changed_fields(before, wanted)
    # What follows a removed field may become part of the text before it; then it has to go, too.
    for keep_gaps in (True, False):
        edited = _edited(text, wanted, changed, keep_gaps=keep_gaps)
        if edited is not None and _proved(text, edited, wanted, changed):
            return edited
    raise ProfileNotSaved(wanted.name, messages.NOT_EDITABLE)


def _edited(text: str, wanted: Profile, changed: Iterable[str], *, keep_gaps: bool) -> str | None:
    """Return the text with the changes, or None where fields do not have lines of their own."""
    bom = _BOM if text.startswith(_BOM) else ""
    lines = [found.group() for found in _LINE.finditer(text.removeprefix(_BOM)) if found.group()]
    newline = lines[0][len(lines[0].rstrip("\r\n")) :]
    end = next(n for n, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE)
    parts = _parts(lines[1:end])
    if parts is None:
        return None
    for key in FIELDS:
        if key in changed and key != _BODY:
            value = getattr(wanted, FIELDS[key])
            new = "" if value == getattr(_UNSET, FIELDS[key]) else fields_to_yaml({key: value})
            _put(parts, key, new, newline, keep_gaps=keep_gaps)
    front = [line for part in parts for line in part.lines]
    body = "".join(lines[end + 1 :])
    fence = lines[end]
    if _BODY in changed:
        fence = f"{_FENCE}{newline}"
        prompt = wanted.system_prompt
        body = f"\n{prompt}\n".replace("\n", newline) if prompt else ""
    return bom + "".join([lines[0], *front, fence, body])


def _put(parts: list[_Part], key: str, new: str, newline: str, *, keep_gaps: bool) -> None:
    """Replace, remove or insert the lines of one field."""
    at = next((n for n, part in enumerate(parts) if part.key == key), None)
    if at is None:
        order = list(FIELDS)
        earlier = [n for n, part in enumerate(parts) if part.key in order[: order.index(key)]]
        at = max(earlier, key=lambda n: order.index(parts[n].key)) + 1
        parts.insert(at, _Part(key, [], parts[at - 1].indent))
    part = parts[at]
    rows = new.split("\n")[:-1]
    if len(rows) == 1:
        rows[0] += part.comment
    part.lines = [f"{part.indent if row else ''}{row}{newline}" for row in rows]
    gap = parts[at + 1] if at + 1 < len(parts) else None
    if gap and not gap.key and not keep_gaps:
        gap.lines = []


def _parts(lines: list[str]) -> list[_Part] | None:
    """Cut the front matter into fields and what is between them."""
    rows = [line.rstrip("\r\n") for line in lines]
    source = "".join(f"{row}\n" for row in rows)
    node = yaml.compose(source, Loader=yaml.SafeLoader)
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        return None
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row) + 1)
    parts: list[_Part] = []
    done = 0
    for key, value in node.value:
        first = _line_at(starts, key.start_mark.index)
        leaf = _last_leaf(value)
        end = max(leaf.end_mark.index - 1, leaf.start_mark.index, key.start_mark.index)
        last = _line_at(starts, end)
        while last > first and not rows[last].strip() and not _keeps_blanks(leaf):
            last -= 1
        if first < done:  # two on a line
            return None
        parts.append(_Part("", lines[done:first]))
        behind = source[value.end_mark.index : starts[last + 1] - 1]
        comment = behind if behind.lstrip().startswith("#") and behind[0].isspace() else ""
        indent = rows[first][: key.start_mark.index - starts[first]]
        parts.append(
            _Part(key.value, lines[first : last + 1], indent if indent.isspace() else "", comment)
        )
        done = last + 1
    parts.append(_Part("", lines[done:]))
    return parts


def _last_leaf(node: yaml.Node) -> yaml.Node:
    """Return the part of a value that stands last; where a block ends, YAML does not say."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node


def _keeps_blanks(leaf: yaml.Node) -> bool:
    """Return whether the blank lines at its end are part of a text (`|+`)."""
    return leaf.value == "\n" or str(leaf.value).endswith("\n\n")


def _line_at(starts: list[int], index: int) -> int:
    return bisect_right(starts, index) - 1


def _proved(text: str, edited: str, wanted: Profile, changed: Iterable[str]) -> bool:
    """Return whether the new text is read as wanted, and its other fields as they were."""
    try:
        content = parse_frontmatter(edited)
    except FrontmatterError:
        return False
    read_back, _ = parse_profile("", content)
    others = _others(parse_frontmatter(text).fields, changed)
    return read_back == wanted and others == _others(content.fields, changed)


def _others(fields: Mapping[str, object], changed: Iterable[str]) -> list[tuple[str, object]]:
    return [(key, value) for key, value in fields.items() if key not in changed]
