from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import events, json_objects, json_values, thoroughly

from pi_subagents.core.run import events as ev
from pi_subagents.view.todos import (
    MAX_ITEMS,
    MAX_OPEN_CALLS,
    TodoCount,
    TodoTracker,
    todo_indices,
    todo_items,
)

THREE = [{"text": "a"}, {"text": "b"}, {"text": "c"}]
Call = tuple[str, dict[str, object]]


def wrote(*items: object) -> Call:
    return "write_todos", {"todos": list(items)}


def edited(action: object, *indices: object, **more: object) -> Call:
    return "edit_todos", {"action": action, "indices": list(indices), **more}


def after(*calls: Call) -> TodoCount:
    tracker = TodoTracker()
    for number, (name, arguments) in enumerate(calls):
        call = ev.ToolCall(f"c{number}", name, arguments)
        tracker.apply(ev.AssistantMessage("", (call,), "toolUse"))
        tracker.apply(ev.ToolFinished(call.call_id, name, "ok", failed=False))
    return tracker.count()


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ([], TodoCount(0, 0)),
        ([wrote(*THREE)], TodoCount(0, 3)),
        ([wrote("a", "b")], TodoCount(0, 2)),
        ([("write_todos", {"items": THREE})], TodoCount(0, 3)),
        ([wrote({"status": "completed"}, {"status": "in_progress"}, {"status": "pending"})],
         TodoCount(1, 3)),
        ([wrote({"status": "done"}, {"status": "cancelled"}, {"status": 7}, None)], TodoCount(1, 3)),
        ([wrote(*THREE), edited("complete", 0, 2)], TodoCount(2, 3)),
        ([wrote(*THREE), edited("complete", 0), edited("complete", 0)], TodoCount(1, 3)),
        ([wrote(*THREE), edited("complete", 0), edited("start", 0)], TodoCount(0, 3)),
        ([wrote(*THREE), edited("abandon", 1)], TodoCount(0, 2)),
        ([wrote(*THREE), edited("complete", 0, 1), edited("abandon", 2)], TodoCount(2, 2)),
        ([wrote(*THREE), ("edit_todos", {"action": "complete", "index": 1})], TodoCount(1, 3)),
        ([wrote(*THREE), edited("add", todos=[{"text": "d"}])], TodoCount(0, 4)),
        ([edited("add", todos=["d"])], TodoCount(0, 1)),
        ([wrote(*THREE), edited("complete", 1), wrote("x")], TodoCount(0, 1)),
        ([wrote(*THREE), wrote()], TodoCount(0, 0)),
        # Void, as a whole.
        ([wrote(*THREE), edited("complete", 0, 3)], TodoCount(0, 3)),
        ([wrote(*THREE), edited("complete", -1)], TodoCount(0, 3)),
        ([wrote(*THREE), edited("complete", 0, "1")], TodoCount(0, 3)),
        ([wrote(*THREE), edited("complete", True)], TodoCount(0, 3)),
        ([wrote(*THREE), edited("eat", 0)], TodoCount(0, 3)),
        ([wrote(*THREE), edited(["complete"], 0)], TodoCount(0, 3)),
        ([wrote(*THREE), edited("add", todos="d")], TodoCount(0, 3)),
        ([wrote(*THREE), ("write_todos", {"todos": "none"})], TodoCount(0, 3)),
        ([wrote(*THREE), ("list_todos", {"todos": []})], TodoCount(0, 3)),
        ([wrote(*THREE), ("list_todos", {"action": "complete", "index": 0})], TodoCount(0, 3)),
    ],
)  # fmt: skip
def test_the_list_is_followed_call_by_call(calls: list[Call], count: TodoCount) -> None:
    assert after(*calls) == count


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (TodoCount(0, 0), False),
        (TodoCount(0, 1), True),
        (TodoCount(1, 3), True),
        (TodoCount(3, 3), False),
    ],
)
def test_a_list_is_shown_while_something_is_left_on_it(count: TodoCount, shown: bool) -> None:
    assert count.unfinished is shown


def test_a_call_that_failed_or_is_still_running_changes_nothing() -> None:
    tracker = TodoTracker()
    first, second = (ev.ToolCall(i, "write_todos", {"todos": THREE}) for i in ("c1", "c2"))
    tracker.apply(ev.AssistantMessage("", (first, second), "toolUse"))
    tracker.apply(ev.ToolFinished("c1", "write_todos", "Tool write_todos not found", failed=True))
    assert tracker.count() == TodoCount(0, 0)
    tracker.apply(ev.ToolFinished("c2", "write_todos", "ok", failed=False))
    assert tracker.count() == TodoCount(0, 3)


def test_a_call_whose_arguments_are_unknown_changes_nothing() -> None:
    tracker = TodoTracker()
    tracker.apply(ev.AssistantMessage("", (ev.ToolCall("c", "write_todos", None),), "toolUse"))
    tracker.apply(ev.ToolFinished("c", "write_todos", "ok", failed=False))
    assert tracker.count() == TodoCount(0, 0)


def test_neither_items_nor_open_calls_grow_without_end() -> None:
    assert after(wrote(*["x"] * (MAX_ITEMS + 5))) == TodoCount(0, MAX_ITEMS)
    many = wrote(*["x"] * MAX_ITEMS)
    assert after(many, edited("add", todos=["y"])) == TodoCount(0, MAX_ITEMS)
    tracker = TodoTracker()
    calls = [ev.ToolCall(f"c{n}", *wrote("x")) for n in range(MAX_OPEN_CALLS + 1)]
    tracker.apply(ev.AssistantMessage("", tuple(calls), "toolUse"))
    tracker.apply(ev.ToolFinished("c0", "write_todos", "ok", failed=False))
    assert tracker.count() == TodoCount(0, 0)
    tracker.apply(ev.ToolFinished("c1", "write_todos", "ok", failed=False))
    assert tracker.count() == TodoCount(0, 1)


def test_a_call_asked_for_again_is_the_latest_one() -> None:
    tracker = TodoTracker()
    for items in (["a"], ["a", "b"]):
        call = ev.ToolCall("c", "write_todos", {"todos": items})
        tracker.apply(ev.AssistantMessage("", (call,), "toolUse"))
    tracker.apply(ev.ToolFinished("c", "write_todos", "ok", failed=False))
    assert tracker.count() == TodoCount(0, 2)


def test_a_call_asked_for_again_pushes_no_other_out() -> None:
    tracker = TodoTracker()
    calls = [ev.ToolCall(f"c{n}", *wrote("x")) for n in range(MAX_OPEN_CALLS)]
    tracker.apply(ev.AssistantMessage("", (*calls, calls[1]), "toolUse"))
    tracker.apply(ev.ToolFinished("c0", "write_todos", "ok", failed=False))
    assert tracker.count() == TodoCount(0, 1)


@thoroughly
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["write_todos", "edit_todos"]),
            json_objects
            | st.fixed_dictionaries(
                {},
                optional={
                    "todos": json_values | st.lists(json_values, max_size=3),
                    "action": st.sampled_from(["start", "complete", "abandon", "add"])
                    | json_values,
                    "indices": st.lists(st.integers(-1, 3), max_size=3) | json_values,
                },
            ),
        ),
        max_size=6,
    )
)
def test_any_arguments_give_a_count_that_can_be(calls: list[Call]) -> None:
    count = after(*calls)
    assert 0 <= count.completed <= count.total <= MAX_ITEMS


@thoroughly
@given(st.lists(events, max_size=10))
def test_any_events_can_be_followed(happened: list[ev.Event]) -> None:
    tracker = TodoTracker()
    for event in happened:
        tracker.apply(event)
    assert tracker.count().completed <= tracker.count().total


@thoroughly
@given(json_objects)
def test_items_and_indices_are_lists_or_nothing(arguments: dict[str, object]) -> None:
    assert isinstance(todo_items(arguments), list | None)
    assert all(type(index) is int for index in todo_indices(arguments))
