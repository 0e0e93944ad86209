"""
Read parts of the protocol's messages: texts, usage, options of a session.

In: decoded JSON of any shape.  Out: values; what is malformed counts as not there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pi_subagents.core.usage import Usage, usage_from_json
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_DEPTH = 64  # of what an agent says that is kept
_NOTHING: Mapping[str, Any] = {}


def as_object(given: object) -> Mapping[str, Any]:
    """Return an object of JSON; an empty one for anything else."""
    return given if isinstance(given, dict) else _NOTHING


def as_objects(given: object) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list."""
    return (each for each in (given if isinstance(given, list) else ()) if isinstance(each, dict))


def as_text(given: object) -> str:
    """Return a text; an empty one for anything else."""
    return given if isinstance(given, str) else ""


def member(given: object, *path: str) -> Any:
    """Return what is found down a path of objects; None where it ends."""
    for key in path:
        given = as_object(given).get(key)
    return given


def block_text(block: object) -> str:
    """Return what a block of content says, as text."""
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource_link", "uri": str(uri)}:
            return uri
        case {"type": ("image" | "audio") as kind}:
            return f"[{kind}]"
    return ""


def storable(given: object, depth: int = MAX_DEPTH) -> object:
    """Return what can be written as JSON again; ValueError where it nests too deep."""
    if depth == 0:
        raise ValueError(MAX_DEPTH)
    if isinstance(given, dict):
        return {key: storable(inner, depth - 1) for key, inner in given.items()}
    if isinstance(given, list):
        return [storable(inner, depth - 1) for inner in given]
    return None if isinstance(given, float) and not math.isfinite(given) else given


def usage_of(given: object) -> Usage:
    """Return what a turn or a request used; some count what was cached as input too."""
    found = as_object(given)
    read = usage_from_json(
        {
            "input": _first(found, "inputTokens", "input_tokens"),
            "output": _first(found, "outputTokens", "output_tokens"),
            "cacheRead": _first(found, "cachedReadTokens", "cachedInputTokens"),
            "cacheWrite": _first(found, "cachedWriteTokens", "cacheWriteInputTokens"),
            "totalTokens": _first(found, "totalTokens", "total_tokens"),
        }
    )
    thought = usage_from_json({"output": found.get("thoughtTokens")}).output
    cached, total = read.cache_read + read.cache_write, read.total_tokens
    total = total or read.input + read.output + cached + thought
    fresh, output = read.input, read.output
    if cached and fresh + output >= total:
        fresh = max(fresh - cached, 0)
    if thought and fresh + output + cached + thought <= total:
        output += thought
    return Usage(fresh, output, read.cache_read, read.cache_write, total)


def cost_of(amount: object) -> float:
    """Return what something cost, whatever its agent calls a number."""
    return usage_from_json({"cost": amount}).cost


def _first(found: Mapping[str, Any], *keys: str) -> object:
    return next((found[key] for key in keys if key in found), None)


@value
class SessionOption:
    """Something that a session can be set to: which values there are, and which one it has."""

    option_id: str
    category: str
    current: str
    values: tuple[str, ...]
    names: tuple[str, ...]

    def meant(self, wanted: str) -> str | None:
        """Return the value that a user means: its own word for it, or its name."""
        if wanted in self.values:
            return wanted
        return next((v for v, n in zip(self.values, self.names, strict=True) if n == wanted), None)


def session_options(given: object) -> tuple[SessionOption, ...]:
    """Return the options of a session; those in groups are as good as others."""
    return tuple(_option(each) for each in as_objects(given) if as_text(each.get("id")))


def _option(given: Mapping[str, Any]) -> SessionOption:
    offered = []
    for each in as_objects(given.get("options")):
        offered += [*as_objects(each["options"])] if "options" in each else [each]
    named = [each for each in offered if as_text(each.get("value"))]
    return SessionOption(
        as_text(given.get("id")),
        as_text(given.get("category")),
        as_text(given.get("currentValue")),
        tuple(each["value"] for each in named),
        tuple(as_text(each.get("name")) for each in named),
    )


def listed(given: object, of: str, kind: str) -> SessionOption | None:
    """Return what some agents list by itself: modes, models."""
    found = as_object(given)
    entries = [each for each in as_objects(found.get(of)) if _listed_id(each, kind)]
    values = tuple(_listed_id(each, kind) for each in entries)
    names = tuple(as_text(each.get("name")) for each in entries)
    current = as_text(found.get(f"current{kind.capitalize()}Id"))
    return SessionOption("", kind, current, values, names) if values else None


def _listed_id(entry: Mapping[str, Any], kind: str) -> str:
    return as_text(entry.get(f"{kind}Id")) or as_text(entry.get("id"))
