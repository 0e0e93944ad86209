"""What a run wants of its child beside its prompt: per run, never in the arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it has no types

from pi_subagents.core.answer.finding import MAX_DEPTH
from pi_subagents.core.answer.parameters import as_parameters
from pi_subagents.core.answer.schema import MAX_VALUE
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.run import events as ev
from pi_subagents.engines.base import ChildRequest
from pi_subagents.engines.pi.invocation import NOTHING
from pi_subagents.engines.pi.orders import (
    NO_ORDERS,
    ORDERS_VARIABLE,
    extension_path,
    orders_for,
)
from pi_subagents.engines.pi.profile.options import allowed_tools, profile_invocation
from pi_subagents.engines.pi.records import decode_pi_line, events_in
from pi_subagents.engines.pi.rpc import ORDERS_COMMAND
from pi_subagents.engines.pi.versions import traits_of
from pi_subagents.system.schema_check import checker_command

SCHEMA: dict[str, object] = {"type": "object", "properties": {"n": {"type": "integer"}}}


PLAIN = Profile("")


def request(profile: Profile = PLAIN, schema: object = SCHEMA) -> ChildRequest:
    return ChildRequest(
        "r", "/p", trusted=False, profile=profile, orders_file="/desk/orders.json",
        schema=schema,  # type: ignore[arg-type]  # None, too
    )  # fmt: skip


def test_a_run_without_a_schema_has_no_orders_and_is_started_as_ever() -> None:
    assert orders_for(request(schema=None), "rpc") == NO_ORDERS
    assert NO_ORDERS.invocation == NOTHING


@pytest.mark.parametrize(
    ("mode", "environment"), [("rpc", {}), ("json", {ORDERS_VARIABLE: "/desk/orders.json"})]
)
def test_the_schema_is_in_the_orders_and_only_the_extension_in_the_arguments(
    mode: str, environment: dict[str, str]
) -> None:
    orders = orders_for(request(), mode)
    assert json.loads(orders.text) == {"schema": SCHEMA, "wrapped": False}
    assert orders.invocation.argv == ("--extension", str(extension_path()))
    assert orders.invocation.environment == environment
    assert extension_path().is_file()


def test_orders_are_one_line_of_ascii() -> None:
    text = orders_for(request(schema={"type": "object", "title": "ü\n\u2028"}), "rpc").text
    assert text.isascii()
    assert "\n" not in text


@pytest.mark.parametrize(
    "profile",
    [
        Profile("", no_tools=True),
        Profile("", tools=()),
        Profile("", exclude_tools=("bash,submit_answer",)),
        Profile("", exclude_tools=("submit_*",)),
    ],
)
def test_who_may_have_no_tool_of_ours_has_no_orders(profile: Profile) -> None:
    assert orders_for(request(profile), "rpc") == NO_ORDERS


@pytest.mark.parametrize(
    ("profile", "options", "count"),
    [
        (Profile(""), (), None),
        (Profile("", tools=("read", "bash")), ("--tools", "read,bash,submit_answer"), 2),
        (Profile("", no_tools=True), ("--no-tools",), 0),
        (Profile("", exclude_tools=("bash",)), ("--exclude-tools", "bash"), None),
    ],
)
def test_an_allowlist_gets_our_tool_which_is_not_counted(
    profile: Profile, options: tuple[str, ...], count: int | None
) -> None:
    own = orders_for(request(profile), "rpc").tools
    argv = profile_invocation(
        profile, system_prompt_file=None, append_prompt_file=None, skill_paths=(),
        parent_tools=None, traits=traits_of(None), own_tools=own,
    ).argv  # fmt: skip
    assert argv[: len(options)] == options
    assert allowed_tools(argv, own) == count


def test_the_names_in_the_extension_are_ours() -> None:
    text = extension_path().read_text("utf-8")
    for name in (ORDERS_COMMAND, ORDERS_VARIABLE, "submit_answer"):
        assert f'"{name}"' in text
    assert f"MOST_CHARACTERS = {MAX_VALUE:_};" in text
    assert f"MOST_LEVELS = {MAX_DEPTH};" in text


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}, [1], ["x"]),
        ({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}]}, [1, [2]], [["x"]]),
        ({"type": "array", "items": {"$dynamicRef": "#n"},
          "$defs": {"n": {"$dynamicAnchor": "n", "type": "integer"}}}, [1], ["x"]),
        ({"type": "array", "items": {"properties": {"default": {"$ref": "#/$defs/n"}}},
          "$defs": {"n": {"type": "integer"}}}, [{"default": 1}], [{"default": "x"}]),
        ({"$id": "http://x.test/s", "type": "array", "items": {"$ref": "#/$defs/n"},
          "$defs": {"n": {"type": "integer"}}}, [1], ["x"]),
        ({"enum": [{"$ref": "#/x"}]}, {"$ref": "#/x"}, {"$ref": "#/properties/value/x"}),
    ],
)  # fmt: skip
def test_a_schema_that_is_wrapped_means_what_it_meant(
    schema: dict[str, Any], good: object, bad: object
) -> None:
    made = as_parameters(schema)
    assert made["wrapped"] is True
    check = Draft202012Validator(made["schema"])
    assert check.is_valid({"value": good})
    assert not check.is_valid({"value": bad})
    assert not check.is_valid({"value": good, "more": 1})


@pytest.mark.parametrize(
    ("schema", "is_tried"),
    [
        (SCHEMA, False),
        ({"properties": {"n": {"pattern": "^(a+)+$"}}}, True),
        ({"items": {"$ref": "#"}}, True),
        ({"uniqueItems": True}, True),
    ],
)
def test_what_pi_could_check_for_ever_is_tried_elsewhere_first(
    schema: dict[str, object], is_tried: bool
) -> None:
    orders = json.loads(orders_for(request(schema=schema), "rpc").text)
    assert orders.get("checker") == (checker_command() if is_tried else None)


def ended(**changes: object) -> bytes:
    record = {
        "type": "tool_execution_end", "toolCallId": "c", "toolName": "submit_answer",
        "result": {"content": [], "details": {"value": {"n": 1}}}, "isError": False, **changes,
    }  # fmt: skip
    return json.dumps(record).encode()


def values_in(line: bytes) -> list[ev.Event]:
    found = events_in(line, decode_pi_line(line))
    return [event for event in found if isinstance(event, ev.ValueGiven)]


def test_what_our_tool_took_is_a_value() -> None:
    assert values_in(ended()) == [ev.ValueGiven({"n": 1})]


def deep(levels: int) -> object:
    return [deep(levels - 1)] if levels else 0


@pytest.mark.parametrize(
    "line",
    [
        ended(isError=True),
        ended(toolName="bash"),
        ended(parentToolCallId="script"),
        ended(result={"content": []}),
        ended(result=None),
        ended(result={"details": {"value": deep(70)}}),
        ended(type="tool_execution_update"),
        b"text: " + ended(),
    ],
)
def test_nothing_else_is(line: bytes) -> None:
    assert values_in(line) == []
