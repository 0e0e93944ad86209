"""
How the work of a call stands, for a host that gets its answer before the work is done.

In: the windows, and what happens in the runs.  Out: the value of the tool as it is now, with what
sub-agents ask.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.progress import LastWords
from pi_subagents.core.run.question import waiting_for
from pi_subagents.core.run.result import RunResult
from pi_subagents.view.answers import progress_line, unfinished_to_json

if TYPE_CHECKING:
    from pi_subagents.core.preset.request import SubagentRequest
    from pi_subagents.core.run.question import WaitingFor
    from pi_subagents.service.delegation import Update
    from pi_subagents.service.foreground import Windows


class WorkSoFar:
    """One delegation while it runs."""

    def __init__(self) -> None:
        self.windows: Windows | None = None
        self._results: dict[int, RunResult] = {}
        self._words = LastWords()
        self._questions: dict[int, dict[str, WaitingFor]] = {}  # open ones, by place of the task
        self._began = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Return how long it has been going on."""
        return time.monotonic() - self._began

    def show(self, windows: Windows) -> None:
        """Take the windows, before the first sub-agent starts."""
        self.windows = windows

    def changed(self, update: Update) -> None:
        """Take what happened in a run into account."""
        index = update.run.index
        match update.what:
            case RunResult():
                self._results[index] = update.what
                self._questions.pop(index, None)
                return
            case ev.Asked(number):
                now_ms = time.time_ns() // 1_000_000
                open_ones = self._questions.setdefault(index, {})
                open_ones[number] = waiting_for(update.what, now_ms)
            case ev.Replied(question, ev.GIVEN | ev.UNANSWERED):
                self._questions.get(index, {}).pop(question, None)
        self._words.hear(index, update.what)

    def line(self) -> str:
        """Return it in a line."""
        return progress_line(self.windows.now(), self._words.latest) if self.windows else ""

    def unfinished(
        self, request: SubagentRequest | None, wait_s: float, *, can_stop: bool
    ) -> dict[str, object]:
        """Return the value of the tool; of one for presets with its request."""
        assert self.windows is not None
        return unfinished_to_json(
            self.windows.now(),
            self._results,
            self._words.of_each,
            self.windows.settings,
            after_s=self.elapsed_s,
            wait_s=wait_s,
            request=request,
            can_stop=can_stop,
            asked={index: tuple(each.values()) for index, each in self._questions.items()},
        )
