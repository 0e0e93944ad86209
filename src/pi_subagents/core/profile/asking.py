"""
Put a wizard's questions to somebody who may go back, skip and quit.

In: the wizard's start, what can be offered, and someone to ask.  Out: the profile that is wanted
and its scope, SKIP if it is not to be saved after all, or CANCEL.  Going back replays the answers
before; what was answered then is what is offered now.  Escape twice in a row offers to quit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.profile.messages import GOES_ON, QUIT_OPTIONS, QUIT_TITLE
from pi_subagents.core.profile.questions import (
    BACK,
    CANCEL,
    ESCAPE,
    SKIP,
    Choose,
    Confirm,
    Gesture,
    WizardAnswer,
    WizardQuestion,
    put,
)
from pi_subagents.core.profile.steps import wizard
from pi_subagents.core.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.core.profile.questions import Asker
    from pi_subagents.core.profile.steps import Offers, Start, WizardOutcome

    Questions = Generator[WizardQuestion, WizardAnswer, WizardOutcome | None]

QUIT = Choose(QUIT_TITLE, QUIT_OPTIONS, escape=GOES_ON)
_AGAIN, _QUIT = 1, 2  # places of its options


def run_steps(
    ask: Asker, start: Start, offers: Offers, review: Callable[[Profile, str], str]
) -> WizardOutcome | Gesture:
    """Ask everything; `review` returns what the file of a profile in a scope would hold."""
    given: list[WizardAnswer] = []

    def replayed() -> tuple[Questions, WizardQuestion]:
        asking = wizard(start, offers, review)
        question = next(asking)
        for answer in given:
            question = asking.send(answer)
        return asking, question

    asking, question = replayed()
    before: WizardAnswer = SKIP  # what was answered when this was asked the last time
    escapes = 0
    while True:
        answer = put(ask, _as_asked(question, before, enter_is_default=start.edits))
        escapes = escapes + 1 if answer is ESCAPE else 0
        if escapes > 1:
            escapes = 0
            answer = {_AGAIN: BACK, _QUIT: CANCEL}.get(_place(ask.choose(QUIT)), SKIP)
        if answer is CANCEL:
            asking.close()
            return CANCEL
        before = SKIP
        if answer is BACK:
            if given:
                before = given.pop()
                asking.close()
                asking, question = replayed()
            continue
        given.append(SKIP if answer is ESCAPE else answer)
        try:
            question = asking.send(given[-1])
        except StopIteration as end:
            outcome: WizardOutcome | None = end.value
            return outcome or SKIP


def _place(answer: int | Gesture) -> int:
    """Return which option was taken, or is meant by a key that means the same."""
    if isinstance(answer, Gesture):
        return {CANCEL: _QUIT, BACK: _AGAIN}.get(answer, 0)
    return answer


def _as_asked(
    question: WizardQuestion, before: WizardAnswer, *, enter_is_default: bool
) -> WizardQuestion:
    """Return the question with what it was answered before, if it was."""
    if isinstance(question, Confirm):
        default = before if isinstance(before, bool) else question.default
        return replace(question, default=default, enter_is_default=enter_is_default)
    if isinstance(question, Choose):
        return question if isinstance(before, Gesture) else replace(question, default=before)
    return replace(question, prefill=before) if isinstance(before, str) else question
