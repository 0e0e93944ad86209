"""
Follow a child's todo list by the calls it makes: how many items, how many of them done.

In: events in order.  Out: a TodoCount.  A call counts once the child says that it worked.

No contract names the arguments; these are those of the todo tools for pi, and the common ones:
`write_todos` takes `todos` (or `items`), a list of texts or objects with an optional `status`;
`edit_todos` takes `action` (start, complete, abandon, add), `indices` from 0 (or one `index`), and
`todos` to add.  A wrong index makes the whole edit void, as in the tool.  An abandoned item is no
longer waited for: it leaves the total.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

WRITE = "write_todos"
EDIT = "edit_todos"
MAX_ITEMS = 1000
MAX_OPEN_CALLS = 64

_OPEN, _DONE, _DROPPED = "open", "done", "dropped"
_STATUSES = {
    "completed": _DONE, "complete": _DONE, "done": _DONE,
    "abandoned": _DROPPED, "cancelled": _DROPPED, "canceled": _DROPPED,
}  # fmt: skip
_ACTIONS = {"start": _OPEN, "complete": _DONE, "abandon": _DROPPED}


@value
class TodoCount:
    """How far a list is."""

    completed: int = 0
    total: int = 0

    @property
    def unfinished(self) -> bool:
        """Return whether a list has something left on it: only then it is shown."""
        return self.completed < self.total


class TodoTracker:
    """The state of each item, in order; texts are not kept."""

    def __init__(self) -> None:
        self._items: list[str] = []
        self._open_calls: dict[str, ev.ToolCall] = {}

    def apply(self, event: ev.Event) -> None:
        """Take one event into account."""
        match event:
            case ev.AssistantMessage():
                for call in event.tool_calls:
                    if call.name in (WRITE, EDIT):
                        self._remember(call)
            case ev.ToolStarted(call) if call.parent_id and call.name in (WRITE, EDIT):
                self._remember(call)  # a script made it; the model's own are in its messages
            case ev.ToolFinished():
                done = self._open_calls.pop(event.call_id, None)
                if done is not None and not event.failed:
                    self._carry_out(done.name, done.arguments or {})

    def count(self) -> TodoCount:
        """Return how far the list is now."""
        done = self._items.count(_DONE)
        return TodoCount(done, done + self._items.count(_OPEN))

    def _remember(self, call: ev.ToolCall) -> None:
        self._open_calls.pop(call.call_id, None)
        if len(self._open_calls) >= MAX_OPEN_CALLS:
            self._open_calls.pop(next(iter(self._open_calls)))
        self._open_calls[call.call_id] = call

    def _carry_out(self, name: str, arguments: Mapping[str, object]) -> None:
        items = todo_items(arguments)
        if name == WRITE:
            if items is not None:
                self._items = [_status(item) for item in items[:MAX_ITEMS]]
        elif arguments.get("action") == "add":
            self._items += [_status(item) for item in items or ()]
            del self._items[MAX_ITEMS:]
        else:
            self._mark(todo_indices(arguments), arguments.get("action"))

    def _mark(self, indices: list[int], action: object) -> None:
        status = _ACTIONS.get(action) if isinstance(action, str) else None
        if status is None or not all(0 <= index < len(self._items) for index in indices):
            return
        for index in indices:
            self._items[index] = status


def todo_items(arguments: Mapping[str, object]) -> list[object] | None:
    """Return the items a call brings, or None where it brings no list."""
    found = arguments.get("todos", arguments.get("items"))
    return found if isinstance(found, list) else None


def todo_indices(arguments: Mapping[str, object]) -> list[int]:
    """Return the items a call is about, by number from 0; none where one is not a number."""
    found = arguments.get("indices", arguments.get("index"))
    listed = found if isinstance(found, list) else [found]
    numbers = [n for n in listed if isinstance(n, int) and not isinstance(n, bool)]
    return numbers if len(numbers) == len(listed) else []


def _status(item: object) -> str:
    status = item.get("status") if isinstance(item, dict) else None
    return _STATUSES.get(status, _OPEN) if isinstance(status, str) else _OPEN
