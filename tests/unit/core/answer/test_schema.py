from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_objects, thoroughly

from pi_subagents.core.answer import messages
from pi_subagents.core.answer.finding import MAX_DEPTH as MAX_NESTING
from pi_subagents.core.answer.schema import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_OVER_LINES,
    MAX_PARTS,
    MAX_PATTERN,
    checked_schema,
    schema_of,
)
from pi_subagents.errors import InvalidRequest

PERSON: dict[str, object] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}


def refusal_of(schema: object) -> str:
    with pytest.raises(InvalidRequest) as refused:
        checked_schema("tasks[0].outputSchema", schema)
    assert refused.value.where == "tasks[0].outputSchema"
    return refused.value.problem


def nested(levels: int) -> dict[str, Any]:
    """Return a schema that many levels deep."""
    schema: dict[str, Any] = {}
    for _ in range(levels - 1):
        schema = {"not": schema}
    return schema


def listed(levels: int) -> list[Any]:
    """Return a list that is so many levels deep."""
    return [listed(levels - 1)] if levels > 1 else []


@pytest.mark.parametrize(
    "schema",
    [
        {},
        PERSON,
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "array"},
        {"$defs": {"a/b": {"type": "string"}}, "items": {"$ref": "#/$defs/a~1b"}},
        {"$defs": {"n": {"$anchor": "number", "type": "number"}}, "$ref": "#number"},
        {"items": {"$ref": "#"}},
        {"prefixItems": [{"type": "string"}, {"$ref": "#/prefixItems/0"}]},
        {"enum": [{"$ref": "http://not.a/reference"}], "const": {"pattern": "("}},
        {"properties": {"$ref": {"type": "string"}, "pattern": {"type": "string"}}},
        {"$defs": {"a b": {"type": "string"}}, "items": {"$ref": "#/$defs/a%20b"}},
        {"properties": {"default": {"$ref": "#/properties/enum"}, "enum": {"enum": ["$ref"]}}},
        nested(MAX_DEPTH),
        {"const": listed(MAX_NESTING - 1)},
    ],
)
def test_a_schema_within_the_limits_is_taken_as_it_is(schema: dict[str, object]) -> None:
    assert checked_schema("x", schema) == schema


@pytest.mark.parametrize("given", [None, True, "object", [], 3, str, object()])
def test_what_is_no_object_is_no_schema(given: object) -> None:
    assert refusal_of(given) == messages.NEEDS_SCHEMA


@pytest.mark.parametrize("odd", [{1, 2}, float("nan"), object(), b"bytes"])
def test_what_json_cannot_hold_is_refused(odd: object) -> None:
    assert refusal_of({"const": odd}).startswith("is no plain JSON: ")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"title": "x" * MAX_BYTES}, messages.schema_too_large(MAX_BYTES)),
        ({"const": listed(MAX_NESTING)}, messages.schema_too_deep(MAX_NESTING)),
        (
            {"const": [[[[[[[[[[[[[[[[[0] * 20_000]]]]]]]]]]]]]]]]},
            messages.schema_too_large(MAX_OVER_LINES, over_lines=True),
        ),
        (nested(MAX_DEPTH + 2), messages.schema_too_deep(MAX_DEPTH)),
        ({"enum": [], "allOf": [{}] * MAX_PARTS}, messages.schema_has_too_many_parts(MAX_PARTS)),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#"},
            messages.other_dialect("http://json-schema.org/draft-07/schema#"),
        ),
        ({"items": {"$id": "other"}}, messages.INNER_ID),
        ({"$ref": "https://example.org/s.json"}, messages.remote_reference("https://example.org/s.json")),
        ({"items": {"$ref": "file.json#/x"}}, messages.remote_reference("file.json#/x")),
        ({"items": {"$dynamicRef": "other#x"}}, messages.remote_reference("other#x")),
        ({"properties": {"default": {"$ref": "http://x/y"}}}, messages.remote_reference("http://x/y")),
        ({"$defs": {"const": {"not": {"$ref": "z.json"}}}}, messages.remote_reference("z.json")),
        ({"$ref": "#/$defs/gone"}, messages.reference_leads_nowhere("#/$defs/gone")),
        ({"$ref": "#nobody"}, messages.reference_leads_nowhere("#nobody")),
        ({"pattern": "a" * (MAX_PATTERN + 1)}, messages.pattern_too_long(MAX_PATTERN)),
    ],
)  # fmt: skip
def test_what_goes_beyond_a_limit_is_refused_with_the_limit(
    schema: dict[str, object], problem: str
) -> None:
    assert refusal_of(schema) == problem


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "("},
        {"patternProperties": {"[": {}}},
        {"properties": {"examples": {"pattern": "("}}},
    ],
)
def test_a_pattern_that_is_none_is_named(schema: dict[str, object]) -> None:
    assert "which is none" in refusal_of(schema)


def test_a_model_class_stands_for_its_schema() -> None:
    class Person:
        @classmethod
        def model_json_schema(cls) -> dict[str, object]:
            return PERSON

    assert schema_of(Person) == checked_schema("x", Person) == PERSON
    assert schema_of(Person()) != PERSON


def test_a_model_class_that_has_no_schema_is_refused_with_its_reason() -> None:
    class Odd:
        @classmethod
        def model_json_schema(cls) -> dict[str, object]:
            raise RuntimeError("cannot make a schema of a function")

    assert refusal_of(Odd) == "is no plain JSON: cannot make a schema of a function"


keywords = st.sampled_from(
    [
        "$ref",
        "$id",
        "$anchor",
        "pattern",
        "patternProperties",
        "properties",
        "items",
        "enum",
        "$schema",
    ]
)
words = st.sampled_from(["#", "#/items", "#a", "a", "(", "http://x/y", "../z", ""])
schemas = st.recursive(
    json_objects | st.dictionaries(keywords, words),
    lambda inner: st.dictionaries(
        keywords, inner | words | st.lists(inner, max_size=3), max_size=4
    ),
    max_leaves=12,
)


@thoroughly
@given(schemas)
@example({"patternProperties": {"$ref": "http://x/y"}})
def test_whatever_is_given_is_taken_whole_or_refused(schema: dict[str, object]) -> None:
    try:
        taken = checked_schema("x", schema)
    except InvalidRequest:
        return
    assert taken == json.loads(json.dumps(schema))
    assert "http://x/y" not in references_in(taken)


def references_in(part: object) -> list[object]:
    if isinstance(part, list):
        return [each for inner in part for each in references_in(inner)]
    if not isinstance(part, dict):
        return []
    own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
    parts = [
        # By names of the caller's: one that is called `$ref` refers to nothing.
        [*inner.values()]
        if key in ("properties", "patternProperties") and isinstance(inner, dict)
        else inner
        for key, inner in part.items()
        if key != "enum"
    ]
    return own + references_in(parts)
