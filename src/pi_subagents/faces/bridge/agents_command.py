"""
`/agents` in pi: the runs at work, of which one can be read, steered or stopped.

In: how wide the screen is, whether anybody can be asked, and the runs.  Out: what to show at the
end, nothing where the list was just left.  Without a screen the list itself is shown.  Called in a
thread of its own: its questions wait for a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable
from pi_subagents.core.profile.questions import Choose, Gesture, Text
from pi_subagents.core.value import value
from pi_subagents.errors import SubagentsError
from pi_subagents.faces.bridge import messages
from pi_subagents.service.at_work import runs_at_work, with_whole_task
from pi_subagents.service.fleet_actions import ActionReport, FleetActions
from pi_subagents.service.run_contents import said_in
from pi_subagents.service.runs import Runs
from pi_subagents.view.at_work import at_work_line, called, how_it_stands

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping
    from pathlib import Path

    from pi_subagents.core.profile.questions import Asker
    from pi_subagents.core.run.record import RunRecord

READ, STEER, STOP, BACK = messages.AGENT_ACTIONS
ANSWER = messages.ANSWER_ACTION
MAX_READ_LINES = 200
MAX_READ_CHARS = 20_000
STEER_WAIT_S = 5.0  # pi takes no other command meanwhile
_BESIDE = 5  # columns of a row that pi's dialog takes for itself
_WIDTH = 80
_NOTHING = ActionReport("")


@value
class AgentsPlace:
    """Where the host is, and which background runs of other places its session began."""

    cwd: Path
    env: Mapping[str, str]
    known: Container[str] = ()


class AgentsCommand:
    """One use of the command; `say` shows something while it goes on."""

    def __init__(
        self, place: AgentsPlace, ask: Asker, say: Callable[[str], None], columns: int | None
    ) -> None:
        self._known = place.known
        self._runs = Runs(place.cwd, place.env)
        self._actions = FleetActions(
            place.cwd, place.env, lambda _: None, steer_wait_s=STEER_WAIT_S
        )
        self._ask = ask
        self._say = say
        self._width = max((columns or _WIDTH) - _BESIDE, 1)

    def text(self) -> ActionReport:
        """Return the list, for those who cannot choose."""
        lines = [at_work_line(run, self._width) for run in self._at_work()]
        return ActionReport("\n".join(lines) or messages.NO_AGENTS)

    def run(self) -> ActionReport:
        """Ask which run, and what to do with it, until something was done or the list was left."""
        while found := self._at_work():
            lines = tuple(at_work_line(run, self._width) for run in found)
            place = self._ask.choose(Choose(messages.AGENTS_TITLE, lines, escape=""))
            if isinstance(place, Gesture):
                return _NOTHING
            if (report := self._act_on(found[place], lines[place])) is not None:
                return report
        return ActionReport(messages.NO_AGENTS)

    def _at_work(self) -> list[RunRecord]:
        return runs_at_work(self._runs, self._known)

    def _act_on(self, run: RunRecord, title: str) -> ActionReport | None:
        """Return what came of it; None to go back to the list."""
        while True:
            actions = (*((ANSWER,) if run.question else ()), *messages.AGENT_ACTIONS)
            place = self._ask.choose(Choose(title, actions, escape=""))
            chosen = BACK if isinstance(place, Gesture) else actions[place]
            if chosen == BACK:
                return None
            act = {READ: self._read, STEER: self._steer, STOP: self._stop, ANSWER: self._answer}
            report = act[chosen](run)
            if report is not None:
                return report

    def _read(self, run: RunRecord) -> ActionReport:
        try:
            now = with_whole_task(self._runs, run)
        except SubagentsError as error:
            return ActionReport(str(error), bad=True)
        said = said_in(now).splitlines()
        shown = "\n".join(said[-MAX_READ_LINES:])[-MAX_READ_CHARS:].splitlines()
        left_out = len(said) - len(shown)
        parts = [
            f"{how_it_stands(now)}\n{messages.agent_task(now.meta.task.strip())}",
            messages.earlier_lines(left_out, run.short_id) if left_out else "",
            "\n".join(shown) or messages.AGENT_SAID_NOTHING,
        ]
        return ActionReport(printable("\n\n".join(filter(None, parts))))

    def _steer(self, run: RunRecord) -> ActionReport | None:
        name = called(run)
        message = self._ask.text(Text(messages.agent_steer_title(name), escape=""))
        if isinstance(message, Gesture) or not message.strip():
            return None
        self._say(messages.agent_steering(name, STEER_WAIT_S))
        return self._actions.steer(run.run_id, message)

    def _answer(self, run: RunRecord) -> ActionReport | None:
        waiting = run.question
        assert waiting is not None
        title = printable(messages.agent_asks_title(called(run), waiting.text))
        if waiting.options:
            place = self._ask.choose(Choose(title, waiting.options, escape=""))
            text = "" if isinstance(place, Gesture) else str(place + 1)
        else:
            typed = self._ask.text(Text(title, escape=""))
            text = "" if isinstance(typed, Gesture) else typed
        return self._actions.answer(run.run_id, text, waiting.id) if text.strip() else None

    def _stop(self, run: RunRecord) -> ActionReport | None:
        name = called(run)
        title = messages.agent_stop_title(name, run.short_id)
        if self._ask.choose(Choose(title, messages.STOP_OR_CANCEL, escape="")) != 0:
            return None
        self._say(messages.agent_stopping(name))
        report = self._actions.stop(run.run_id)
        # The end of a background run of this session is announced anyway.
        return _NOTHING if run.run_id in self._known and not report.bad else report
