"""
An agent as another program defines it, and what was made of each of its fields.

In: fields as a format's parser finds them.  Out: a ForeignAgent with the names of our tools, and a
row for every field: what it becomes here, or that it is left out and why.  A restriction that
cannot be kept never falls away: what is left out of a list of tools stays forbidden.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi_subagents.core.definitions.definition import items_field
from pi_subagents.core.definitions.frontmatter import Frontmatter, parse_frontmatter
from pi_subagents.core.foreign import messages
from pi_subagents.core.messages import field_problem
from pi_subagents.core.value import replace, value
from pi_subagents.errors import AgentFileUnreadable, FrontmatterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pi_subagents.core.definitions.frontmatter import Value

MAX_NAME = 64
_PLAIN_FIELD = re.compile(r"([A-Za-z_][\w-]*):[ \t]+(\S.*)")
_PART_OF_TOOL = re.compile(r"([\w-]+)\(.*\)", re.DOTALL)


@value
class FieldRow:
    """A field of the other program's file, and what becomes of it."""

    field: str
    becomes: str


@value
class ForeignAgent:
    """What a file says, in our words where we have some; `tools` of None allows all."""

    name: str
    description: str = ""
    prompt: str = ""
    model: str = ""
    thinking_level: str = ""
    tools: tuple[str, ...] | None = None
    exclude_tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    rows: tuple[FieldRow, ...] = ()


def named(name: object, fallback: str = "") -> ForeignAgent:
    """Return an agent with nothing but a name that is allowed here."""
    given = name if isinstance(name, str) and name.strip() else fallback
    allowed = re.sub(r"[^A-Za-z0-9_-]+", "-", given).strip("-")[:MAX_NAME]
    if not allowed:
        raise AgentFileUnreadable(messages.NO_NAME)
    return ForeignAgent(allowed)


def with_row(agent: ForeignAgent, field: str, becomes: str, **values: object) -> ForeignAgent:
    """Return the agent with what a field becomes."""
    return replace(agent, rows=(*agent.rows, FieldRow(field, becomes)), **values)


def with_text(agent: ForeignAgent, field: str, given: object, name: str) -> ForeignAgent:
    """Return the agent with a field that is a text there and here; anything else is left out."""
    if not isinstance(given, str):
        return without(agent, (field,), messages.NOT_A_TEXT)
    return with_row(agent, field, "", **{name: given.replace("\0", "")})


def without(agent: ForeignAgent, fields: Iterable[str], why: str) -> ForeignAgent:
    """Return the agent with fields that are left out."""
    for field in fields:
        agent = with_row(agent, field, messages.left_out(why))
    return agent


def text_of(data: bytes) -> str:
    """Return a file's text."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AgentFileUnreadable(messages.NOT_TEXT) from error


def front_matter(data: bytes) -> Frontmatter:
    """Return fields and body; lines that are no YAML count if each is `key: text`."""
    text = text_of(data)
    try:
        return parse_frontmatter(text)
    except FrontmatterError as error:
        plain = _plain_fields(text)
        if plain is None:
            problem = messages.frontmatter_unreadable(error.line, error.problem)
            raise AgentFileUnreadable(problem) from error
        return plain


def _plain_fields(text: str) -> Frontmatter | None:
    """Read what other programs read though it is no YAML: a colon within a description."""
    lines = text.replace("\r\n", "\n").split("\n")
    if "---" not in lines[1:]:
        return None
    end = lines.index("---", 1)
    found = [_PLAIN_FIELD.fullmatch(line) for line in lines[1:end] if line.strip()]
    if not all(found):
        return None
    fields: dict[str, Value] = {each[1]: each[2].strip() for each in found if each}
    return Frontmatter(fields, {}, "\n".join(lines[end + 1 :]).strip())


def names_of(field: str, given: Value) -> tuple[str, ...]:
    """Return the names of a list; what is no list could be a restriction, so it is refused."""
    try:
        return items_field(given)
    except TypeError as wrong:
        raise AgentFileUnreadable(field_problem(field, str(wrong))) from wrong


def with_tools(
    agent: ForeignAgent, field: str, names: Iterable[str], ours: Mapping[str, str]
) -> ForeignAgent:
    """Return the agent with an allowlist; what has no counterpart stays forbidden."""
    known, parts, unknown = _sorted_out(names, ours)
    if "*" in unknown:
        return with_row(agent, field, messages.ALL_TOOLS)
    becomes = f"tools: {', '.join(known)}" if known else messages.NO_TOOLS
    agent = with_row(agent, field, becomes, tools=known)
    if parts:
        agent = with_row(agent, field, messages.patterns_not_kept(parts))
    return with_row(agent, field, messages.no_such_tools(unknown)) if unknown else agent


def with_excluded(
    agent: ForeignAgent, field: str, names: Iterable[str], ours: Mapping[str, str]
) -> ForeignAgent:
    """Return the agent without some tools; where a part of one is forbidden, all of it is."""
    known, parts, unknown = _sorted_out(names, ours)
    whole = (ours[_part(each)] for each in parts)
    excluded = tuple(dict.fromkeys((*agent.exclude_tools, *known, *whole)))
    if excluded != agent.exclude_tools:
        becomes = f"excludeTools: {', '.join(excluded)}"
        agent = with_row(agent, field, becomes, exclude_tools=excluded)
    return with_row(agent, field, messages.no_such_tools(unknown)) if unknown else agent


def _sorted_out(
    names: Iterable[str], ours: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return our names of tools, names of parts of tools, and those that we have none for."""
    given = [name.strip() for name in names if name.strip()]
    known = tuple(dict.fromkeys(ours[each.lower()] for each in given if each.lower() in ours))
    parts = tuple(each for each in given if _part(each) in ours)
    rest = (each for each in given if each.lower() not in ours and each not in parts)
    return known, parts, tuple(dict.fromkeys(rest))


def _part(name: str) -> str:
    found = _PART_OF_TOOL.fullmatch(name)
    return found[1].lower() if found else ""
