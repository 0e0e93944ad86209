"""Whatever an agent says, in whatever order: calls pair up, requests are answered, runs end once."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.acp_listener import SESSION, AcpTalk
from tests.unit.core.given_values import json_values, texts, thoroughly

from pi_subagents.core.profile.permissions import WORDS, Permissions
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import JournalEntry, decode_entry, encode_entry
from pi_subagents.engines.acp.catalogue import NAMES

ids = st.sampled_from(["a", "b", ""]) | json_values
kinds = st.sampled_from(["read", "edit", "execute", "fetch", "other", "think", "", None])
statuses = st.sampled_from(["pending", "in_progress", "completed", "failed", None, "odd"])
contents = st.lists(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("type", "content", "path", "oldText", "newText"), json_values)
    ),
    max_size=2,
) | json_values  # fmt: skip
calls = st.fixed_dictionaries(
    {"toolCallId": ids},
    optional={
        "kind": kinds, "status": statuses, "title": texts, "content": contents,
        "rawInput": json_values, "rawOutput": json_values, "locations": contents, "_meta": json_values,
    },
)  # fmt: skip
chunks = st.fixed_dictionaries(
    {"content": st.fixed_dictionaries({"type": st.just("text"), "text": texts}) | json_values},
    optional={"messageId": st.sampled_from(["1", "2"]) | json_values, "_meta": json_values},
)
costs = st.fixed_dictionaries(
    {"amount": json_values}, optional={"currency": st.sampled_from(["USD", "EUR"]) | json_values}
)
updates = st.one_of(
    st.tuples(st.sampled_from(["tool_call", "tool_call_update"]), calls),
    st.tuples(st.just("agent_message_chunk"), chunks),
    st.tuples(st.just("usage_update"), st.fixed_dictionaries({"cost": costs})),
    st.tuples(
        st.sampled_from(["plan", "usage_update", "session_info_update", "config_option_update"]),
        st.dictionaries(
            st.sampled_from(["entries", "cost", "_meta", "configOptions", "used"]), json_values
        ),
    ),
)
options = st.lists(
    st.fixed_dictionaries({
        "optionId": texts, "name": texts,
        "kind": st.sampled_from(["allow_once", "allow_always", "reject_once", "odd"]),
    }) | json_values,
    max_size=3,
)  # fmt: skip
steps = st.one_of(
    st.tuples(st.just("update"), updates),
    st.tuples(st.just("ask"), st.tuples(calls, options)),
    st.tuples(st.just("request"), texts),
    st.tuples(st.just("answer"), texts),
    st.tuples(st.just("steer"), texts),
    st.tuples(st.just("time"), st.floats(0, 2000)),
    st.tuples(st.sampled_from(["abort", "end", "fail"]), json_values),
)
words = st.sampled_from(WORDS)


def take(talk: AcpTalk, number: int, step: tuple[str, Any]) -> None:
    match step:
        case "update", (str(kind), dict(fields)):
            params = {"sessionId": SESSION, "update": {**fields, "sessionUpdate": kind}}
            talk.hears({"jsonrpc": "2.0", "method": "session/update", "params": params})
        case "ask", (call, offered):
            params = {"toolCall": call, "options": offered}
            asked = {"id": f"q{number}", "method": "session/request_permission", "params": params}
            talk.hears({"jsonrpc": "2.0", **asked})
        case "request", method:
            talk.hears({"jsonrpc": "2.0", "id": f"q{number}", "method": method})
        case "answer", text:
            talk.talk.answer("1", "r", text)
        case "steer", text:
            talk.talk.steer(str(number), text)
        case "time", now:
            talk.talk.check_time(now)
        case "abort", _:
            talk.talk.abort()
        case "end", given:
            talk.ends("end_turn", usage=given)
        case "fail", given:
            talk.hears({"jsonrpc": "2.0", "id": 3, "error": given})
    talk.take_news()


@thoroughly
@given(st.lists(steps, max_size=12), st.sampled_from(NAMES), words, words, st.sampled_from([0, 60]))
def test_calls_pair_up_requests_are_answered_and_a_run_ends_once(
    given_steps: list[tuple[str, Any]], agent: str, edit: str, execute: str, within_s: float
) -> None:
    talk = AcpTalk(agent, within_s, permissions=Permissions(edit=edit, execute=execute)).begins()
    for number, step in enumerate(given_steps):
        take(talk, number, step)
    talk.talk.abort()
    for each in [each for each in talk.sent if each.get("method") == "session/prompt"]:
        talk.hears({"jsonrpc": "2.0", "id": each["id"], "result": {"stopReason": "cancelled"}})
    talk.take_news()
    assert talk.talk.over
    assert not talk.talk.waiting

    begun: Counter[str] = Counter()
    for event in talk.events:
        if isinstance(event, ev.ToolStarted):
            begun[event.call.call_id] += 1
        elif isinstance(event, ev.ToolFinished):
            begun[event.call_id] -= 1
            assert begun[event.call_id] >= 0
    assert len(talk.seen(ev.Settled)) <= 1

    asked = {f"q{n}" for n, (kind, _) in enumerate(given_steps) if kind in ("ask", "request")}
    assert set(talk.responses()) == asked
    steered = [str(n) for n, (kind, _) in enumerate(given_steps) if kind == "steer"]
    settled = Counter(event.number for event in talk.seen(ev.Steer))  # type: ignore[union-attr]
    assert settled == Counter(steered)
    for number, event in enumerate(talk.events):
        entry = JournalEntry(number, 0, event)
        assert decode_entry(encode_entry(entry)) == entry
