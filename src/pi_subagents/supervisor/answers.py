"""
The answer of a run that has to fit a schema: given by the child's tool, or found in its last text.

It is checked by a short-lived process; meanwhile the supervisor goes on listening, so that a stop
is taken at once.  An answer that does not fit is asked for again, at most twice; what is then wrong
fails the run, with its text kept.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

from pi_subagents.core.answer import messages
from pi_subagents.core.answer.finding import FoundJson, find_json, is_too_deep
from pi_subagents.core.answer.schema import MAX_VALUE
from pi_subagents.core.run import events as ev
from pi_subagents.core.value import replace
from pi_subagents.store.rescue import make_envelope
from pi_subagents.system import schema_check
from pi_subagents.system.safe_io import write_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.run.outcome import Outcome
    from pi_subagents.core.run.spec import AnswerOrder
    from pi_subagents.engines.conversation import Conversation
    from pi_subagents.supervisor.intake import Intake
    from pi_subagents.supervisor.listener import Listener

MAX_ROUNDS = 2


class WantedAnswer:
    """What is wanted, and how often the child was asked for it again."""

    def __init__(self, order: AnswerOrder, intake: Intake, listener: Listener) -> None:
        self._order = order
        self._intake = intake
        self._listener = listener
        self._rounds = 0
        self._known: str | None = None  # what is wrong with the answer, once it was checked

    def asks_again(self, talk: Conversation, is_ending: Callable[[], bool]) -> bool:
        """Have the child answer again where what it said will not do; return whether it is to."""
        may_ask = talk.can_go_on and self._rounds < MAX_ROUNDS and self._intake.fold.answered()
        if not may_ask or is_ending() or not (problem := self._problem()) or is_ending():
            return False
        self._rounds, self._known = self._rounds + 1, None
        self._intake.decided(ev.ValueRefused(problem))
        schema, by_tool = self._order.schema, self._order.by_tool
        talk.go_on(messages.answer_again(problem, schema, by_tool=by_tool))
        return True

    def judge(self, outcome: Outcome, _: Callable[[], bool]) -> Outcome:
        """Return what a run came to, now that its answer is as it is."""
        if outcome.status != "completed" or not (problem := self._problem()):
            return outcome
        self._intake.decided(ev.ValueRefused(problem))
        why = messages.answer_does_not_fit(problem)
        return replace(outcome, status="failed", error_message=why)

    def _problem(self) -> str:
        """Return what is wrong with the answer as it is."""
        if self._known is None:
            self._known = self._look()
        return self._known

    def _look(self) -> str:
        """Check the answer; a good one that was found in a text is noted."""
        fold = self._intake.fold
        found: FoundJson | ev.ValueGiven | None = fold.given
        if found is None and fold.last is not None:
            found = find_json(fold.last.text)
        if found is None:
            return messages.NO_JSON
        problem = self._problem_with(found.value)
        if not problem and fold.given is None:
            self._intake.decided(ev.ValueGiven(found.value))
        return problem

    def _problem_with(self, value: object) -> str:
        if is_too_deep(value):
            return messages.NESTED_TOO_DEEP
        if len(json.dumps(value, ensure_ascii=False)) > MAX_VALUE:
            return messages.value_too_large(MAX_VALUE)
        asked = schema_check.question(json.loads(self._order.schema), value=value)
        try:
            return self._checked(asked)
        except OSError as error:
            return str(error)

    def _checked(self, asked: bytes) -> str:
        """Have it checked, and listen to everybody else meanwhile."""
        envelope = make_envelope()
        try:
            write_all(envelope, asked)
            os.lseek(envelope, 0, os.SEEK_SET)
            checker = schema_check.start_checker(envelope)
        finally:
            os.close(envelope)
        assert checker.stdout is not None
        pipe, reply = checker.stdout.fileno(), bytearray()
        deadline = time.monotonic() + schema_check.LIMIT_S
        self._listener.add_stream(pipe, reply.extend)
        while pipe in self._listener.selector.get_map() and time.monotonic() < deadline:
            self._listener.serve(max(deadline - time.monotonic(), 0))
        self._listener.remove(pipe)
        checker.kill()
        checker.wait()
        checker.stdout.close()
        return schema_check.problem_in(bytes(reply))
