"""
What is looked at once a child has answered: whether its answer fits, whether its work is good.

In: a specification.  Out: whether the child is asked again, and what the run came to.  What a run
does not want is not even loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.run.checked import Checked
    from pi_subagents.core.run.outcome import Outcome
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.engines.conversation import Conversation
    from pi_subagents.supervisor.checking import WorkCheck
    from pi_subagents.supervisor.intake import Intake
    from pi_subagents.supervisor.listener import Listener
    from pi_subagents.system.process_tree import Reaped

    OnReaped = Callable[[Reaped], None]


class Review(Protocol):
    """One thing that is looked at."""

    def asks_again(self, talk: Conversation, is_ending: Callable[[], bool]) -> bool:
        """Return whether the child was asked to do something again."""

    def judge(self, outcome: Outcome, is_ending: Callable[[], bool]) -> Outcome:
        """Return what the run came to."""


class Reviews:
    """Everything that is looked at in one run."""

    def __init__(
        self, spec: RunSpec, intake: Intake, listener: Listener, on_reaped: OnReaped
    ) -> None:
        self._each: list[Review] = []
        self._check: WorkCheck | None = None
        if spec.answer.schema:
            from pi_subagents.supervisor.answers import WantedAnswer

            self._each.append(WantedAnswer(spec.answer, intake, listener))
        if spec.check.command:
            from pi_subagents.supervisor.checking import WorkCheck
            from pi_subagents.supervisor.commands import Commands

            self._check = WorkCheck(spec, intake, Commands(spec, listener, on_reaped))
            self._each.append(self._check)

    def asks_again(self, talk: Conversation, is_ending: Callable[[], bool]) -> bool:
        """Return whether the child was asked to do something again."""
        return any(each.asks_again(talk, is_ending) for each in self._each)

    def judge(self, outcome: Outcome, is_ending: Callable[[], bool]) -> Outcome:
        """Return what the run came to."""
        for each in self._each:
            outcome = each.judge(outcome, is_ending)
        return outcome

    @property
    def checked(self) -> Checked | None:
        """What the check of the work said, where there is one."""
        return self._check.result if self._check else None
