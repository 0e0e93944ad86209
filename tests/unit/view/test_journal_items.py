"""Entries of a journal become items that can be shown: whatever they hold, short, and printable."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.core.plain_text import printable
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import JournalEntry
from pi_subagents.core.usage import Usage
from pi_subagents.view.journal_items import (
    MAX_DIFF_LINES,
    MAX_TEXT,
    ItemMaker,
    excerpt,
    text_of,
    whole_item,
)

TEXTS = st.text(max_size=60)
ARGUMENTS = st.dictionaries(
    TEXTS | st.sampled_from(["path", "oldText", "newText", "content", "edits", "command"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
        lambda inside: st.lists(inside, max_size=3) | st.dictionaries(TEXTS, inside, max_size=3),
        max_leaves=6,
    ),
    max_size=6,
)
CALLS = st.builds(ev.ToolCall, TEXTS, TEXTS, st.none() | ARGUMENTS, TEXTS)
EVENTS = st.one_of(
    st.builds(ev.UserMessage, TEXTS),
    st.builds(ev.AssistantMessage, TEXTS, st.just(()), TEXTS, TEXTS, TEXTS, TEXTS),
    st.builds(ev.ToolStarted, CALLS),
    st.builds(ev.ToolFinished, TEXTS, TEXTS, TEXTS, st.booleans(), TEXTS),
    st.builds(ev.Retrying, st.just(1), st.just(2), st.just(3), TEXTS),
    st.builds(ev.Limited, TEXTS, st.just(1.0), st.just(0), TEXTS),
    st.builds(ev.Note, TEXTS),
    st.builds(ev.ErrorText, TEXTS),
    st.builds(ev.OutputText, TEXTS),
    st.builds(ev.Steer, TEXTS, TEXTS, TEXTS, TEXTS),
    st.builds(ev.Asked, TEXTS, TEXTS, st.tuples(TEXTS)),
    st.builds(ev.Replied, TEXTS, TEXTS, TEXTS, TEXTS),
    st.builds(ev.ValueGiven, ARGUMENTS),
    st.builds(ev.ValueRefused, TEXTS),
    st.builds(ev.StateChanged, TEXTS),
    st.just(ev.Settled()),
)


def item(event: ev.Event, cwd: str = "/p") -> object:
    return ItemMaker(cwd).item(JournalEntry(7, 1000, event))


def whole(arguments: dict[str, object], done: ev.ToolFinished | None = None) -> object:
    return whole_item(ev.ToolStarted(ev.ToolCall("1", "edit", arguments)), done)


@given(EVENTS)
def test_every_entry_becomes_an_item_without_anything_that_is_not_printable(
    event: ev.Event,
) -> None:
    entry = JournalEntry(7, 1000, event)
    for made in (ItemMaker("/p").item(entry), whole_item(event, None)):
        assert json.loads(json.dumps(made)) == made or isinstance(event, ev.ToolStarted)
        text = json.dumps(made, ensure_ascii=False)
        assert printable(text) == text
    assert printable(excerpt(text_of(event), 3)) == excerpt(text_of(event), 3)


def test_what_was_said_comes_with_its_model_and_what_it_used() -> None:
    said = ev.AssistantMessage(
        "Hi. ", model="mini", usage=Usage(total_tokens=7, cost=0.5), duration_ms=9
    )
    assert item(said) == {
        "seq": 7, "t": 1000, "kind": "said", "text": "Hi.", "error": "", "model": "mini",
        "tokens": 7, "cost": 0.5, "took": 9,
    }  # fmt: skip


def test_a_call_has_a_title_and_its_result_the_same_id() -> None:
    call = ev.ToolCall("1", "read", {"path": "/p/a.py"})
    assert item(ev.ToolStarted(call)) == {
        "seq": 7, "t": 1000, "kind": "call", "id": "1", "name": "read", "title": "read → a.py", "below": False,
    }  # fmt: skip
    assert item(ev.ToolFinished("1", "read", "no such file\n", failed=True)) == {
        "seq": 7, "t": 1000, "kind": "result", "id": "1", "name": "read", "failed": True,
        "reason": "no such file", "took": 0, "below": False,
    }  # fmt: skip


def test_a_long_text_is_cut_and_says_how_much_is_left() -> None:
    assert item(ev.UserMessage("a" * (MAX_TEXT + 5))) == {
        "seq": 7, "t": 1000, "kind": "asked", "text": "a" * MAX_TEXT, "left": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "diff"),
    [
        ({"path": "a", "oldText": "x\ny", "newText": "x\nz"}, "--- a\n@@\n x\n-y\n+z"),
        ({"file_path": "a", "old_string": "x", "new_string": ""}, "--- a\n@@\n-x"),
        ({"path": "a", "edits": [{"oldText": "x", "newText": "y"}, "?", {}]}, "--- a\n@@\n-x\n+y"),
        ({"path": "a", "content": "x\ny"}, "--- a\n+x\n+y"),
        ({"path": "a"}, ""),
        ({"path": 7, "oldText": "x", "newText": ["y"]}, ""),
        ({"command": "ls"}, ""),
    ],
)
def test_what_a_call_is_to_change_is_shown_as_a_patch(
    arguments: dict[str, object], diff: str
) -> None:
    shown = whole(arguments)
    assert isinstance(shown, dict)
    assert shown["diff"] == diff


def test_texts_too_long_to_be_compared_are_shown_one_below_the_other() -> None:
    old = "\n".join(f"a{n}" for n in range(MAX_DIFF_LINES))
    shown = whole({"path": "a", "oldText": old, "newText": "b"})
    assert isinstance(shown, dict)
    lines = str(shown["diff"]).split("\n")
    assert (lines[:3], lines[-1], len(lines)) == (["--- a", "@@", "-a0"], "+b", MAX_DIFF_LINES + 3)


def test_an_excerpt_is_a_line_around_the_place() -> None:
    assert excerpt("a" * 100 + "\nthe place", 101) == "…" + "a" * 39 + " the place"


def test_a_call_that_begins_without_its_arguments_has_those_it_was_asked_for_with() -> None:
    maker = ItemMaker("/p")
    asked = ev.AssistantMessage("", (ev.ToolCall("1", "bash", {"command": "make"}),))
    maker.item(JournalEntry(1, 1, asked))
    begun = maker.item(JournalEntry(2, 2, ev.ToolStarted(ev.ToolCall("1", "bash", None, "0"))))
    again = maker.item(JournalEntry(3, 3, ev.ToolStarted(ev.ToolCall("1", "bash", None))))
    assert [(each["title"], each["below"]) for each in (begun, again) if each] == [
        ("bash → make", True), ("bash", False),
    ]  # fmt: skip
