"""The schema of an answer as the parameters of a tool, which are an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.answer.schema import DATA, NAMED, REFERENCES

if TYPE_CHECKING:
    from collections.abc import Mapping


def as_parameters(schema: Mapping[str, object]) -> dict[str, object]:
    """Return the schema as it is if it is one of an object; any other is wrapped in one."""
    if schema.get("type") == "object":
        return {"schema": dict(schema), "wrapped": False}
    # An id in the middle would be where references begin.
    inner = _moved({key: part for key, part in schema.items() if key != "$id"})
    outer = {"type": "object", "properties": {"value": inner}, "required": ["value"]}
    return {"schema": {**outer, "additionalProperties": False}, "wrapped": True}


def _moved(part: object) -> object:
    """Return a part of a schema whose references still lead where they did, one level down."""
    if isinstance(part, list):
        return [_moved(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {key: _moved_under(key, inner) for key, inner in part.items()}


def _moved_under(keyword: str, inner: object) -> object:
    if keyword in REFERENCES and isinstance(inner, str) and inner[:2] in ("#", "#/"):
        return f"#/properties/value{inner[1:]}"
    if keyword in NAMED and isinstance(inner, dict):
        return {name: _moved(each) for name, each in inner.items()}
    return inner if keyword in DATA else _moved(inner)
