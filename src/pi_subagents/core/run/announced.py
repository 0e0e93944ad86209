"""
Which calls were told of before they began: some engines' answers name their calls, others' do not.

In: the events of a run, in order.  Out: of a call that begins, whether an answer announced it; or
the same events with every call in an answer.  Ids need not differ between answers.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class AnnouncedCalls:
    """The calls of the latest answer that have not begun: those of earlier ones did by now."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()

    def answered(self, message: ev.AssistantMessage) -> None:
        """Take the calls of an answer."""
        self._calls = Counter(call.call_id for call in message.tool_calls)

    def begins(self, call: ev.ToolCall) -> bool:
        """Return whether a call that begins was announced; each announcement is for one."""
        announced = self._calls[call.call_id] > 0
        self._calls[call.call_id] -= announced
        return announced

    def clear(self) -> None:
        """Forget them: another child begins."""
        self._calls.clear()


def with_all_calls(events: Iterable[ev.Event]) -> Iterator[ev.Event]:
    """Yield events such that calls stand in answers, and that they began is not told beside."""
    announced = AnnouncedCalls()
    answer: ev.AssistantMessage | None = None  # whose calls begin now
    for event in events:
        match event:
            case ev.ToolStarted(call):
                if not (call.parent_id or announced.begins(call)):
                    answer = answer or ev.AssistantMessage("")
                    answer = replace(answer, tool_calls=(*answer.tool_calls, call))
                continue
            case ev.AssistantMessage():
                announced.answered(event)
        if answer is not None:
            yield answer
        answer = event if isinstance(event, ev.AssistantMessage) else None
        if answer is None:
            yield event
    if answer is not None:
        yield answer
