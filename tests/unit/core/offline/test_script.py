import contextlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.core.offline.script import (
    HttpError,
    Script,
    ScriptedCall,
    ScriptedUsage,
    ScriptPart,
    Turn,
    parse_script,
    parse_script_text,
)
from pi_subagents.errors import OfflineScriptError

FULL_TURN = {
    "text": "answer",
    "thinking": "hm",
    "fillKB": 2,
    "toolCalls": [{"name": "bash", "arguments": {"command": "ls"}}, {"name": "read"}],
    "usage": {"input": 10, "output": 2, "cacheRead": 3},
    "stop": "length",
    "delayMs": 5,
    "chunkDelayMs": 6,
    "cut": True,
    "repeat": True,
}


def test_a_list_of_turns_is_for_every_conversation():
    script = parse_script([FULL_TURN, {"echo": True}, {}])

    turns = (
        Turn(
            text="answer",
            thinking="hm",
            fill_kb=2,
            tool_calls=(ScriptedCall("bash", '{"command": "ls"}'), ScriptedCall("read", "{}")),
            usage=ScriptedUsage(10, 2, 3),
            stop="length",
            delay_ms=5,
            chunk_delay_ms=6,
            cut=True,
            repeat=True,
        ),
        Turn(echo=True),
        Turn(),
    )
    assert script == Script(default=turns)
    assert script.turns_for("anything") == turns


def test_an_error_is_a_turn():
    error = {"status": 429, "message": "slow down", "retryAfterS": 3}

    assert parse_script([{"error": error, "delayMs": 1, "repeat": True}]) == Script(
        default=(Turn(error=HttpError(429, "slow down", 3), delay_ms=1, repeat=True),)
    )


def test_arguments_may_be_text_that_is_sent_as_it_stands():
    script = parse_script([{"toolCalls": [{"name": "bash", "arguments": "{broken"}]}])

    assert script == Script(default=(Turn(tool_calls=(ScriptedCall("bash", "{broken"),)),))


def test_conversations_are_chosen_by_substring_or_pattern_and_the_first_wins():
    script = parse_script(
        {
            "conversations": [
                {"match": "a.b", "turns": [{"text": "literal"}]},
                {"match": "/^count .* files$/", "turns": [{"text": "pattern"}]},
                {"match": "files", "turns": [{"text": "later"}]},
            ],
            "default": [{"text": "else"}],
        }
    )

    assert script.parts[0] == ScriptPart("a.b", (Turn("literal"),))
    chosen = [
        script.turns_for(prompt) for prompt in ("x a.b x", "aXb", "count my files", "the files")
    ]
    assert chosen == [(Turn("literal"),), (Turn("else"),), (Turn("pattern"),), (Turn("later"),)]


def test_without_a_default_other_conversations_have_no_turns():
    script = parse_script({"conversations": [{"match": "x", "turns": [{}]}]})

    assert script.turns_for("y") is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "script: must be an object"),
        ([], "turns: must be a list with at least one turn"),
        ({}, 'script: needs "conversations" or "default"'),
        ({"turns": []}, "script.turns: unknown; known: conversations, default"),
        ({"default": {}}, "default: must be a list with at least one turn"),
        ({"conversations": 3}, "script.conversations: must be a list"),
        ({"conversations": [{"turns": [{}]}]}, "conversations[0].match: is missing"),
        ({"conversations": [{"match": "", "turns": [{}]}]}, "conversations[0].match: must not be empty"),
        ({"conversations": [{"match": "x"}]}, "conversations[0].turns: must be a list with at least one turn"),
        ({"conversations": [{"match": "x", "turns": [{}, 1]}]}, "conversations[0].turns[1]: must be an object"),
        ([{"text": 1}], "turns[0].text: must be a string"),
        ([{"echo": 1}], "turns[0].echo: must be true or false"),
        ([{"text": "a", "echo": True}], 'turns[0].text: "echo" is the text already'),
        ([{"delayMs": True}], "turns[0].delayMs: must be a whole number, 0 to 86400000"),
        ([{"delayMs": -1}], "turns[0].delayMs: must be a whole number, 0 to 86400000"),
        ([{"chunkDelayMs": 1.5}], "turns[0].chunkDelayMs: must be a whole number, 0 to 86400000"),
        ([{"fillKB": 10**9}], "turns[0].fillKB: must be a whole number, 0 to 65536"),
        ([{"stop": "end"}], "turns[0].stop: must be one of stop, length, tool_calls"),
        ([{"usage": {"input": 1}}], "turns[0].usage.output: is missing"),
        ([{"toolCalls": {}}], "turns[0].toolCalls: must be a list"),
        ([{"toolCalls": [{"arguments": {}}]}], "turns[0].toolCalls[0].name: is missing"),
        ([{"toolCalls": [{"name": "x", "arguments": []}]}],
         "turns[0].toolCalls[0].arguments: must be an object or a string"),
        ([{}, {}, {"error": {"status": 200, "message": "x"}}],
         "turns[2].error.status: must be a whole number, 400 to 599"),
        ([{"error": {"message": "x"}}], "turns[0].error.status: is missing"),
        ([{"error": {"status": 400}}], "turns[0].error.message: is missing"),
        ([{"error": None}], "turns[0].error: must be an object"),
        ([{"error": {"status": 400, "message": "x"}, "text": "y"}], 'turns[0].text: has no effect beside "error"'),
        ([{"usage": {"in": 1}}], "turns[0].usage.in: unknown; known: input, output, cacheRead"),
    ],
)  # fmt: skip
def test_a_mistake_refuses_the_script_and_names_its_place(value: object, message: str):
    with pytest.raises(
        OfflineScriptError, match=f"^{re.escape(f'Offline model script: {message}')}$"
    ):
        parse_script(value)


@pytest.mark.parametrize("text", ["", "[{]", "nul", "[" * 100_000])
def test_text_that_is_not_json_is_refused(text: str):
    with pytest.raises(OfflineScriptError, match=r"^Offline model script: file: not JSON \("):
        parse_script_text(text)


def test_numbers_that_json_does_not_have_are_refused():
    with pytest.raises(
        OfflineScriptError, match=r"toolCalls\[0\].arguments: cannot be written as JSON"
    ):
        parse_script_text('[{"toolCalls": [{"name": "x", "arguments": {"n": NaN}}]}]')


def test_a_broken_pattern_is_refused():
    with pytest.raises(
        OfflineScriptError, match=r"conversations\[0\].match: not a regular expression"
    ):
        parse_script({"conversations": [{"match": "/(/", "turns": [{}]}]})


def test_the_text_of_a_script_is_parsed():
    assert parse_script_text(json.dumps([{"text": "é"}])) == Script(default=(Turn("é"),))


def test_every_example_in_the_document_is_a_script():
    document = Path(__file__).parents[4] / "docs" / "offline-model.md"
    examples = re.findall(r"^```json\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL)

    assert len(examples) == 4
    for example in examples:
        parse_script_text(example)


OTHER_KEYS = ("echo", "error", "status", "message", "retryAfterS", "name", "arguments", "input")
MORE_KEYS = ("output", "match", "turns", "conversations", "default")
KEYS = st.sampled_from([*FULL_TURN, *OTHER_KEYS, *MORE_KEYS])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just("/(/"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(JSON)
def test_arbitrary_json_is_a_script_or_an_offline_script_error(value: object):
    with contextlib.suppress(OfflineScriptError):
        assert isinstance(parse_script(value), Script)
