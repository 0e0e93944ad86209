from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.offline.script import (
    HttpError,
    Script,
    ScriptedCall,
    ScriptedUsage,
    ScriptPart,
    Turn,
    parse_script_text,
)
from pi_subagents.core.offline.script_json import script_to_text

texts = st.text(max_size=9)
counts = st.integers(0, 1000)
turns = st.lists(
    st.builds(
        Turn,
        text=texts,
        thinking=texts,
        fill_kb=counts,
        tool_calls=st.lists(st.builds(ScriptedCall, texts.filter(bool), texts), max_size=2).map(
            tuple
        ),
        usage=st.none() | st.builds(ScriptedUsage, counts, counts, counts),
        stop=st.sampled_from([None, "stop", "length", "tool_calls"]),
        delay_ms=counts,
        chunk_delay_ms=counts,
        cut=st.booleans(),
        repeat=st.booleans(),
    )
    | st.builds(Turn, echo=st.booleans())
    | st.builds(
        Turn,
        error=st.builds(HttpError, st.integers(400, 599), texts.filter(bool), st.none() | counts),
        delay_ms=counts,
    ),
    min_size=1,
    max_size=3,
).map(tuple)
matches = texts.filter(lambda text: text and "/" not in text)
scripts = st.builds(
    Script,
    st.lists(st.builds(ScriptPart, matches, turns), max_size=2).map(tuple),
    st.none() | turns,
).filter(lambda script: script.parts or script.default)


@thoroughly
@given(scripts)
def test_a_script_arrives_as_it_was_sent(script: Script) -> None:
    assert parse_script_text(script_to_text(script)) == script


def test_rules_have_no_text() -> None:
    assert script_to_text(Script(rules_pace_ms=5)) == ""
