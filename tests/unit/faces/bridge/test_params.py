from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly
from tests.unit.core.test_json_rpc import json_values

from pi_subagents.core.engine_values import HostProgram
from pi_subagents.errors import InvalidRequest
from pi_subagents.faces.bridge import params as bridge_params
from pi_subagents.faces.bridge.params import HostSession, HostToolCall, ProfileLine

CALL: dict[str, Any] = {"callId": "c", "tool": "t", "arguments": {"a": 1}, "cwd": "/p"}
KNOWN: dict[str, Any] = {
    "parentTools": ["read"], "models": ["a/b"], "trusted": True, "columns": 80,
}  # fmt: skip
parsers = st.sampled_from(
    [
        bridge_params.parse_session,
        bridge_params.parse_call,
        bridge_params.parse_prewarm,
        bridge_params.parse_call_id,
        bridge_params.parse_profile,
        bridge_params.parse_prefix,
    ]
)
keys = st.sampled_from(
    ["sessionId", "reason", "cwd", "entries", "callId", "tool", "arguments", "parentTools",
     "models", "trusted", "columns", "line", "hasUI", "prefix", "endsShown",
     "program", "script", "piVersion"]
)  # fmt: skip


def test_a_call_has_what_is_known_of_the_host() -> None:
    whole = HostToolCall("c", "t", {"a": 1}, "/p", ("read",), ("a/b",), trusted=True, columns=80)
    assert bridge_params.parse_call({**CALL, **KNOWN}) == whole
    bare = HostToolCall("c", "t", {"a": 1}, "/p", None, None, trusted=None, columns=None)
    assert bridge_params.parse_call(CALL) == bare
    assert bridge_params.parse_call({**CALL, **dict.fromkeys(KNOWN)}) == bare


def test_a_call_that_is_still_being_written_has_no_id_and_no_columns() -> None:
    prewarmed = HostToolCall(
        "", "t", {"a": 1}, "/p", ("read",), ("a/b",), trusted=True, columns=None
    )
    assert bridge_params.parse_prewarm({**CALL, **KNOWN}) == prewarmed
    without_id = {key: value for key, value in CALL.items() if key != "callId"}
    assert bridge_params.parse_prewarm({**without_id, **KNOWN, "columns": "?"}) == prewarmed


@pytest.mark.parametrize("reason", ["startup", "reload", "resume", "fork"])
def test_a_session_has_its_entries_unless_it_is_new(reason: str) -> None:
    given: dict[str, Any] = {"sessionId": "s", "reason": reason, "cwd": "/p", "entries": [1, {}]}
    assert bridge_params.parse_session(given) == HostSession("s", reason, "/p", (1, {}))
    new = bridge_params.parse_session({**given, "reason": "new"})
    assert new == HostSession("s", "new", "/p", ())
    known = bridge_params.parse_session({**given, "endsShown": ["r"]})
    assert known == HostSession("s", reason, "/p", (1, {}), ends_shown=("r",))


def test_a_session_knows_the_pi_it_is_in_as_far_as_that_says_so() -> None:
    given: dict[str, Any] = {"sessionId": "s", "reason": "new", "cwd": "/p", "piVersion": "1.5.0"}
    assert bridge_params.parse_session(given).pi is None
    compiled = bridge_params.parse_session({**given, "program": "/bin/pi", "script": None})
    assert compiled.pi == HostProgram("/bin/pi", version="1.5.0")
    script = bridge_params.parse_session({**given, "program": "/bin/node", "script": "/cli.js"})
    assert script.pi == HostProgram("/bin/node", "/cli.js", "1.5.0")
    assert bridge_params.parse_session({**given, "trusted": True}).trusted is True
    with pytest.raises(InvalidRequest, match="script"):
        bridge_params.parse_session({**given, "program": "/bin/node", "script": 1})


def test_a_line_after_profile_says_whether_anybody_is_there() -> None:
    given = {"line": "list", "hasUI": False}
    assert bridge_params.parse_profile(given) == ProfileLine("list", has_ui=False)
    known = bridge_params.parse_profile({**given, "models": ["a/b"], "trusted": True})
    assert known == ProfileLine("list", has_ui=False, models=("a/b",), trusted=True)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("callId", 1, "callId: is required and must be a string"),
        ("tool", None, "tool: is required and must be a string"),
        ("cwd", [], "cwd: is required and must be a string"),
        ("parentTools", ["a", 1], "parentTools: must be a list of strings, or null"),
        ("models", {}, "models: must be a list of strings, or null"),
        ("trusted", 1, "trusted: must be true or false"),
        ("columns", True, "columns: must be a whole number, or null"),
        ("columns", 1.5, "columns: must be a whole number, or null"),
    ],
)
def test_what_is_wrong_with_a_call_is_said(key: str, value: object, problem: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        bridge_params.parse_call({**CALL, key: value})
    assert str(refused.value) == problem


@thoroughly
@given(parsers, st.dictionaries(keys, json_values))
def test_any_parameters_are_understood_or_refused(parse: Any, given_params: dict[str, Any]) -> None:
    try:
        parse(given_params)
    except InvalidRequest as refused:
        assert refused.where in given_params or refused.where  # noqa: PT017 - it has a place
