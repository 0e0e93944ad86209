"""
Which files of a shared checkout several tasks of one call wrote: one may have undone the other.

In: what happens in the tasks of a call.  Out: their results, with a note for each that wrote such a
file, also in what is kept of the run.  Seen are the tools that name the file they write; what a
command of a shell writes is not.
"""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import shown_name
from pi_subagents.core.run import events as ev
from pi_subagents.core.value import replace
from pi_subagents.service import messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.run.result import RunResult
    from pi_subagents.service.delegation import PlannedTask, Update
    from pi_subagents.store.run_store import RunStore

_WRITERS = frozenset({"write", "edit"})
_PATHS = ("path", "file_path")
_SHOWN = 5


class SharedWrites:
    """Notes who writes what, where several tasks share a checkout."""

    def __init__(self, planned: Sequence[PlannedTask]) -> None:
        shares = [run.index for run in planned if not run.spec.workspace.home]
        self._sharing = frozenset(shares if len(shares) > 1 else ())
        self._called: dict[tuple[int, str], str] = {}  # calls that have not finished: their file
        self._writers: defaultdict[str, set[int]] = defaultdict(set)

    def observe(self, update: Update) -> None:
        """Take one event into account."""
        index, what = update.run.index, update.what
        if index not in self._sharing:
            return
        if isinstance(what, ev.AssistantMessage):
            for call in what.tool_calls:
                self._note_call(update, call)
        elif isinstance(what, ev.ToolStarted):
            self._note_call(update, what.call)
        elif isinstance(what, ev.ToolFinished):
            path = self._called.pop((index, what.call_id), "")
            if path and not what.failed:
                self._writers[path].add(index)

    def _note_call(self, update: Update, call: ev.ToolCall) -> None:
        given = call.arguments or {}
        path = next((each for key in _PATHS if isinstance(each := given.get(key), str)), "")
        if path and call.name in _WRITERS:
            cwd = update.run.spec.child.cwd
            written = os.path.join(cwd, os.path.expanduser(path))  # noqa: PTH111, PTH118 - any text
            self._called[update.run.index, call.call_id] = os.path.realpath(written)

    def noted(
        self, results: Sequence[RunResult], planned: Sequence[PlannedTask], store: RunStore
    ) -> tuple[RunResult, ...]:
        """Return the results; those of tasks that wrote the same file name it."""
        noted = list(results)
        twice = {path: who for path, who in sorted(self._writers.items()) if len(who) > 1}
        for index in sorted({index for who in twice.values() for index in who}):
            own = [path for path, who in twice.items() if index in who]
            others = {planned[each].task.name for path in own for each in twice[path] - {index}}
            cwd = planned[index].spec.child.cwd
            names = [shown_name(os.path.relpath(path, cwd)) for path in own]
            note = messages.written_twice(names[:_SHOWN], len(names) - _SHOWN, sorted(others))
            noted[index] = replace(noted[index], notes=(*noted[index].notes, note))
            with suppress(OSError):
                store.run_dir(noted[index].run_id).amend_result(results[index], noted[index])
        return tuple(noted)
