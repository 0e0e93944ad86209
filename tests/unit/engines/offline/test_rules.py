import json

from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.core.offline.script import Turn
from pi_subagents.engines.offline.chat import (
    ToolResult,
    characters,
    last_user_text,
    messages_of,
    tool_names,
    tool_results,
)
from pi_subagents.engines.offline.rules import ABILITIES, reply_to

TOOLS = frozenset({"bash", "read"})
LICENSE_CALL = {"id": "c1", "function": {"name": "read", "arguments": "{}"}}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
KEYS = st.sampled_from(
    ["role", "content", "tool_calls", "tool_call_id", "function", "name", "id", "text"]
)
ROLES = st.sampled_from(["user", "assistant", "tool", "list docs", "read"])
MESSAGE = st.dictionaries(
    KEYS, ROLES | JSON | st.lists(st.dictionaries(KEYS, ROLES | JSON), max_size=3)
)


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def called(reply: Turn) -> list[tuple[str, dict[str, object]]]:
    assert reply == Turn(tool_calls=reply.tool_calls)
    return [(call.name, json.loads(call.arguments)) for call in reply.tool_calls]


def test_a_request_becomes_a_real_tool_call():
    assert called(reply_to([user("read LICENSE")], TOOLS)) == [
        ("read", {"path": "LICENSE", "limit": 200})
    ]


def test_two_requests_become_two_calls_in_one_turn():
    reply = reply_to([user("read LICENSE and count the lines in a.md")], TOOLS)

    assert called(reply) == [
        ("read", {"path": "LICENSE", "limit": 200}),
        ("bash", {"command": "set -o pipefail; cat a.md | wc -l", "timeout": 60}),
    ]


def test_for_people_who_watch_the_same_calls_are_made_one_at_a_time():
    messages = [user("read LICENSE and count the lines in a.md")]
    at_once = called(reply_to(messages, TOOLS))
    assert called(reply_to(messages, TOOLS, one_at_a_time=True)) == at_once[:1]
    messages += [
        {"role": "assistant", "tool_calls": [LICENSE_CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "MIT\n"},
    ]
    assert called(reply_to(messages, TOOLS, one_at_a_time=True)) == at_once[1:]


def test_the_answer_comes_from_the_results_matched_by_id():
    calls = [LICENSE_CALL, {"id": "c2", "function": {"name": "bash", "arguments": "{}"}}]
    messages = [
        user("read LICENSE and count the lines in a.md"),
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c2", "content": "7\n"},
        {"role": "tool", "tool_call_id": "c1", "content": "MIT\n"},
    ]

    assert reply_to(messages, TOOLS) == Turn(
        "I read 1 line of LICENSE:\n\nMIT\n\na.md has 7 lines."
    )


def test_results_of_an_earlier_request_are_not_reused():
    messages = [
        user("read LICENSE"),
        {"role": "assistant", "tool_calls": [LICENSE_CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "MIT\n"},
        {"role": "assistant", "content": "I read it"},
        user("read LICENSE"),
    ]

    assert called(reply_to(messages, TOOLS)) == [("read", {"path": "LICENSE", "limit": 200})]


def test_an_unknown_request_is_answered_with_what_it_can_do():
    assert reply_to([user("write a poem")], TOOLS) == Turn(
        f"I did not understand the request, so I did nothing.\n\n{ABILITIES}"
    )
    assert "not a language model" in ABILITIES


def test_a_missing_tool_is_told_and_the_rest_is_done():
    messages = [user("list docs and read LICENSE")]
    assert called(reply_to(messages, frozenset({"read"}))) == [
        ("read", {"path": "LICENSE", "limit": 200})
    ]

    messages += [
        {"role": "assistant", "tool_calls": [LICENSE_CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "MIT\n"},
    ]
    assert reply_to(messages, frozenset({"read"})) == Turn(
        "This needs the bash tool, which I was not given: nothing was done.\n\n"
        f"I read 1 line of LICENSE:\n\nMIT\n\n{ABILITIES}"
    )


def test_without_any_tool_it_answers_at_once():
    assert reply_to([user("list docs")], frozenset()) == Turn(
        f"This needs the bash tool, which I was not given: nothing was done.\n\n{ABILITIES}"
    )


def test_a_failed_tool_is_quoted():
    messages = [
        user("list nope"),
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "bash"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "0 in all\n\nCommand exited with code 2"},
    ]

    assert reply_to(messages, TOOLS) == Turn(
        f"The bash tool failed; it said:\n0 in all\n\nCommand exited with code 2\n\n{ABILITIES}"
    )


def test_a_call_without_a_result_is_not_repeated():
    messages = [user("read LICENSE"), {"role": "assistant", "tool_calls": [LICENSE_CALL]}]

    assert reply_to(messages, TOOLS) == Turn(f"The read tool gave no result.\n\n{ABILITIES}")


def test_a_clause_left_undone_is_named():
    messages = [
        user("Read LICENSE. Then sing."),
        {"role": "assistant", "tool_calls": [LICENSE_CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "MIT\n"},
    ]

    assert reply_to(messages, TOOLS) == Turn(
        'I read 1 line of LICENSE:\n\nMIT\n\nNot understood, and left undone: "sing".'
    )


def test_the_request_is_read_whether_content_is_text_or_parts():
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]

    assert last_user_text([{"role": "user", "content": "plain"}]) == "plain"
    assert last_user_text([{"role": "user", "content": parts}, {"role": "tool"}]) == "ab"
    assert last_user_text([]) == ""


def test_tools_and_results_are_found_in_a_request():
    body = {
        "messages": [{"role": "assistant", "tool_calls": [LICENSE_CALL]}],
        "tools": [{"type": "function", "function": {"name": "read"}}, {}, 3],
    }

    assert tool_names(body) == frozenset({"read"})
    assert tool_results(messages_of(body)) == (ToolResult("read", None),)
    assert characters({"messages": [user("12345")], "tools": [{"a": "67"}]}) == len(
        "usertext1234567"
    )


@given(st.lists(MESSAGE | JSON, max_size=6))
def test_any_json_gets_a_reply(messages: list[object]):
    reply = reply_to(messages, TOOLS)
    assert bool(reply.text) is not bool(reply.tool_calls)


@given(JSON)
def test_any_json_can_be_read_as_a_request(body: object):
    assert isinstance(characters(body) + len(messages_of(body)) + len(tool_names(body)), int)
