"""Hypothesis strategies shared by the tests of the core: JSON of any shape, events of any kind."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from tests.property_examples import PROPERTY_EXAMPLES

from pi_subagents.core.run import events as ev
from pi_subagents.core.usage import Usage

thoroughly = settings(max_examples=PROPERTY_EXAMPLES, deadline=None)
briefly = settings(max_examples=PROPERTY_EXAMPLES // 2, deadline=None)

# Texts that have broken parsers before; a lone surrogate too: JSON can carry it, so it arrives.
texts = st.sampled_from(
    [
        "", "a", "b", "ab", " ", "\t", "\n", "\r\n", "\0", '"', "\\", "\x1b[31m", "\x7f", "é", "\x85",
        "\u2028", "\u202e", "\udfff", "\U000e0041", "🎈", "text", "toolCall", "assistant", "user", "stop",
        "error", "x" * 99, "/a", "../a", "completed", "null", "{}",
    ]
)  # fmt: skip
json_scalars = texts | st.sampled_from(
    [None, True, False, 0, 1, -1, 7, 2**53 + 1, -(2**70), 10**400, 0.5, -0.0, 1e308, 5e-324]
)
json_values = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)

counts = st.integers(min_value=0, max_value=2**38)
usages = st.builds(
    Usage,
    input=counts,
    output=counts,
    cache_read=counts,
    cache_write=counts,
    total_tokens=counts,
    cost=st.floats(min_value=0, max_value=1e9),
)
parents = st.just("") | texts
durations = st.integers(min_value=0, max_value=10**12)
tool_calls = st.builds(
    ev.ToolCall,
    call_id=texts,
    name=texts,
    arguments=st.none() | json_objects,
    parent_id=parents,
)
assistant_messages = st.builds(
    ev.AssistantMessage,
    text=texts,
    tool_calls=st.lists(tool_calls, max_size=3).map(tuple),
    stop_reason=texts,
    error_message=texts,
    provider=texts,
    model=texts,
    usage=usages,
    duration_ms=durations,
)
events: st.SearchStrategy[ev.Event] = st.one_of(
    st.builds(ev.StateChanged, texts),
    st.builds(ev.UserMessage, texts),
    assistant_messages,
    st.builds(ev.ToolStarted, tool_calls),
    st.builds(ev.ToolFinished, texts, texts, texts, st.booleans(), parents, durations),
    st.builds(ev.Retrying, st.integers(), st.integers(), st.integers(), texts),
    st.builds(ev.Limited, texts, st.floats(0, 1e6), st.integers(0, 10**14), texts),
    st.builds(ev.Settled, st.booleans()),
    st.builds(ev.OutputText, texts),
    st.builds(ev.ErrorText, texts),
    st.builds(ev.Note, texts),
    st.builds(ev.Steer, texts | st.just(ev.WRAP_UP), texts, texts, texts),
    st.builds(ev.ValueGiven, json_values),
    st.builds(ev.ValueRefused, texts),
    st.builds(ev.Activity, texts),
)
