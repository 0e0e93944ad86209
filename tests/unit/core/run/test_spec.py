from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.specs import make_spec
from tests.unit.core.given_values import briefly, json_objects, json_values, texts

from pi_subagents.core.run.spec import RunSpec, spec_from_json, spec_to_json
from pi_subagents.core.settings import CHILD_MODES

SPEC = make_spec("r", "s", "name", ("pi", "-p"), "/project")
seconds = st.floats(0, 1e6)
specs = st.builds(
    make_spec,
    run_id=texts,
    session_id=texts,
    name=texts,
    argv=st.lists(texts, max_size=3).map(tuple),
    cwd=texts,
    environment=st.dictionaries(texts, texts, max_size=3),
    attached=st.booleans(),
    timeout_s=st.none() | seconds,
    extend_debounce_s=seconds,
    extend_max_s=seconds,
    looping_tool_count=st.integers(0, 50),
    stop_grace_s=seconds,
    settled_grace_s=seconds,
    max_run_bytes=st.integers(0, 2**40),
    mode=st.sampled_from(CHILD_MODES),
    session_option=texts,
    no_session_option=texts,
    keep=st.booleans(),
    prewarm=st.booleans(),
    wrap_up_s=seconds,
    answer_within_s=seconds,
    links=st.lists(texts, max_size=3).map(tuple),
    setup=texts,
    kind=texts,
    follows=texts,
    schema=texts,
    by_tool=st.booleans(),
    how=texts,
    why=texts,
    model=texts,
)


def test_the_defaults_are_those_of_the_design() -> None:
    assert spec_to_json(SPEC) == {
        "schemaVersion": 1,
        "run_id": "r",
        "session_id": "s",
        "name": "name",
        "attached": True,
        "notes": (),
        "on_complete": (),
        "child": {
            "argv": ("pi", "-p"),
            "cwd": "/project",
            "environment": {},
            "engine": "pi",
            "mode": "",
            "takes_commands": False,
            "session_option": "",
            "no_session_option": "",
            "writes_in": (),
            "provider": "",
            "account": "",
            "rereads": (),
            "own_tools": (),
        },
        "limits": {
            "timeout_s": None,
            "extend_debounce_s": 30,
            "extend_max_s": 3600,
            "looping_tool_count": 5,
            "stop_grace_s": 5,
            "settled_grace_s": 5,
            "max_run_bytes": 256 * 1024 * 1024,
            "max_children": 0,
            "max_of_provider": 0,
            "limit_wait_s": 21_600,
            "wrap_up_s": 0,
            "budgets": {},
            "prices": {},
            "answer_within_s": 0,
        },
        "reuse": {"kind": "", "follows": "", "keep": False, "prewarm": False},
        "answer": {"schema": "", "by_tool": False},
        "resume": {"how": "", "why": "", "model": ""},
        "workspace": {
            "home": "",
            "prefix": "",
            "max_bytes": 0,
            "tree": "",
            "place": "",
            "links": (),
            "setup": "",
            "keep": False,
        },
        "check": {"command": "", "rounds": 1},
    }


@briefly
@given(specs)
def test_what_is_sent_arrives(spec: RunSpec) -> None:
    line = json.dumps(spec_to_json(spec))
    assert line.isascii()
    assert "\n" not in line
    assert spec_from_json(json.loads(line)) == spec


def test_fields_of_a_later_release_are_passed_over() -> None:
    assert spec_from_json({**spec_to_json(SPEC), "colour": "blue"}) == SPEC


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "x",
        {},
        {"schemaVersion": 2},
        {"schemaVersion": 1},
        {"schemaVersion": 1, "child": {"argv": ["pi"], "cwd": "/"}},
        {**spec_to_json(SPEC), "child": None},
        {**spec_to_json(SPEC), "child": {"argv": None, "cwd": "/"}},
        {**spec_to_json(SPEC), "child": {"argv": 7, "cwd": "/"}},
        {**spec_to_json(SPEC), "child": {"cwd": "/"}},
        {**spec_to_json(SPEC), "child": {"argv": ["pi"]}},
        {**spec_to_json(SPEC), "limits": 7},
        {key: value for key, value in spec_to_json(SPEC).items() if key != "child"},
    ],
)
def test_what_is_no_specification_is_a_value_error(value: object) -> None:
    with pytest.raises(ValueError, match="not a run specification of this version"):
        spec_from_json(value)


@briefly
@given(json_values | json_objects.map(lambda fields: {"schemaVersion": 1, **fields}))
def test_reading_raises_nothing_but_value_error(value: object) -> None:
    with pytest.raises(ValueError):
        spec_from_json(value)
