"""The check of schemas and values, by the process that does it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from pi_subagents.core.answer import messages
from pi_subagents.system import schema_check
from pi_subagents.system.schema_check import problem_in, question, schema_problem, start_checker

if TYPE_CHECKING:
    from pathlib import Path

PERSON: dict[str, object] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"items": {"type": "integer"}}},
    "required": ["name"],
}


def problem_with(schema: dict[str, object], value: object) -> str:
    with start_checker(subprocess.PIPE) as checker:
        reply, _ = checker.communicate(question(schema, value=value))
    return problem_in(reply)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"name": "Ada"}, ""),
        ({"name": "Ada", "tags": [1]}, ""),
        ({}, "'name' is a required property"),
        ({"name": 1}, "/name: 1 is not of type 'string'"),
        ({"name": "Ada", "tags": [1, "x"]}, "/tags/1: 'x' is not of type 'integer'"),
        (None, "None is not of type 'object'"),
    ],
)
def test_a_value_fits_or_it_is_said_where_it_does_not(value: object, problem: str) -> None:
    assert problem_with(PERSON, value) == problem


def test_the_place_is_a_json_pointer() -> None:
    schema: dict[str, object] = {"properties": {"a/b~c": {"type": "string"}}}
    assert problem_with(schema, {"a/b~c": 1}).startswith("/a~1b~0c: ")


def test_the_first_three_things_are_said_and_none_at_length() -> None:
    schema: dict[str, object] = {"items": {"type": "integer"}}
    said = problem_with(schema, ["x" * 10_000] * 5).split("; ")
    assert [each[:5] for each in said] == ["/0: '", "/1: '", "/2: '"]
    assert all(len(each) < 400 and each.endswith("'integer'") for each in said)


@pytest.mark.parametrize("value", [None, 0, False, [], {}, ""])
def test_any_json_is_a_value(value: object) -> None:
    assert problem_with({}, value) == ""


@pytest.mark.slow
def test_a_pattern_that_takes_for_ever_is_ended() -> None:
    assert problem_with({"pattern": "^(a+)+$"}, "a" * 60 + "b") == messages.NOT_CHECKED


def test_a_schema_that_leads_back_to_itself_is_said_so() -> None:
    assert "without end" in problem_with({"$ref": "#"}, 1)


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "objekt"}, "/type: "),
        ({"properties": {"a": {"type": 3}}}, "/properties/a/type: "),
        ({"required": "name"}, "/required: "),
    ],
)
def test_what_is_no_schema_is_said_with_its_place(schema: dict[str, object], place: str) -> None:
    assert schema_problem(schema).startswith(place)


def test_a_schema_is_none_the_worse_for_being_looked_at() -> None:
    assert schema_problem(PERSON) == ""


@pytest.mark.parametrize(
    "schema", [{"$ref": "#"}, {"properties": {"a": {"allOf": [{"$ref": "#/properties/a"}]}}}]
)
def test_a_schema_that_no_value_could_be_checked_with_is_none(schema: dict[str, object]) -> None:
    assert schema_problem(schema) == "the schema refers to itself without end"


@pytest.mark.slow
def test_a_schema_that_says_everything_over_and_over_is_none() -> None:
    twice = {f"d{each}": {"allOf": [{"$ref": f"#/$defs/d{each + 1}"}] * 2} for each in range(30)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**twice, "d30": {"type": "integer"}}}
    assert schema_problem(schema) == messages.NOT_CHECKED


def test_a_tree_is_a_schema_and_so_is_data_that_looks_like_a_reference() -> None:
    tree: dict[str, object] = {
        "properties": {"kids": {"items": {"$ref": "#"}}, "n": {"const": {"$ref": "#/gone"}}}
    }
    assert schema_problem(tree) == ""
    assert problem_with(tree, {"kids": [{"kids": [{"n": 1}]}]}).startswith("/kids/0/kids/0/n: ")


def test_nothing_is_fetched_for_a_schema(tmp_path: Path) -> None:
    elsewhere = tmp_path / "number.json"
    elsewhere.write_text('{"type": "number"}')
    assert problem_with({"$ref": elsewhere.as_uri()}, 1) == messages.NOT_CHECKED


@pytest.mark.parametrize("reply", [b"", b"{", b"[]", b"null", b'{"other": 1}'])
def test_a_check_that_says_nothing_is_no_proof(reply: bytes) -> None:
    assert problem_in(reply) == messages.NOT_CHECKED


def test_a_check_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_check, "LIMIT_S", 0.0)
    assert schema_problem(PERSON) == messages.NOT_CHECKED
