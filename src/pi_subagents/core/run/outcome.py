"""
Fold a run's events into what is known of it, and decide how it ended.

In: events in order, then how the process ended and why we stopped it, if we did.
Out: an Outcome.  The last assistant message decides first, the exit code second: pi exits 0
on a model error, and an answer counts even if the process would not end.  A run that did not
complete keeps what its child said last, as the output of its status: no answer, but not lost.
"""

from __future__ import annotations

from enum import Enum
from math import isclose
from typing import Any, Literal

from pi_subagents.core import messages
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run import events as ev
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace, value

LAST_WORDS_WIDTH = 500

Status = Literal["completed", "failed", "aborted", "interrupted"]


class Cause(Enum):
    """Why we ended the run, where we did."""

    TIMED_OUT = "timed_out"
    LOOPING = "looping"
    STOP_REQUESTED = "stop_requested"
    LIFELINE_LOST = "lifeline_lost"
    BUDGET = "budget"
    LIMIT = "limit"


@value
class Ending:
    """How the child's process ended, and what we did to it."""

    exit_code: int | None = None
    signal_name: str = ""
    cause: Cause | None = None
    timeout_s: float | None = None
    spawn_error: str = ""
    in_workspace: bool = False  # the spawn error: there was no place for it to work in
    refusal: str = ""
    error_tail: str = ""
    advice: tuple[str, ...] = ()  # what to do about it, by its engine
    why: str = ""  # we ended it, where the cause alone does not say it


@value
class Outcome:
    """What a run came to."""

    status: Status
    output: str = ""
    error_message: str = ""
    notes: tuple[str, ...] = ()


class RunFold:
    """Everything the outcome needs, in constant space."""

    def __init__(self) -> None:
        self.last: ev.AssistantMessage | None = None
        self.said = ""  # its latest text, be it before a call or cut short by our stop
        self.settled = False
        self.usage = Usage()
        self.messages = 0
        self._calls_asked = self._calls_begun = 0
        self._asked_to_stop = False
        self._last_good: ev.AssistantMessage | None = None  # that did not fail
        self.limited: ev.Limited | None = None  # why the last one failed
        self.retries = 0  # of the child itself
        self._answered_last = False  # nothing was asked or said after a good answer
        self.given: ev.ValueGiven | None = None

    def apply(self, event: ev.Event) -> None:
        """Take one event into account."""
        match event:
            case ev.UserMessage():
                self.messages += 1
                self.settled, self._answered_last = False, self.given is not None
            case ev.AssistantMessage():
                self.messages += 1
                self._calls_asked += len(event.tool_calls)
                self.usage += event.usage
                self.settled = False
                self.said = event.text if event.text.strip() else self.said
                self._answered_last = event.stop_reason in _ANSWERS or self.given is not None
                if self._answered_last or not self._asked_to_stop:
                    self.last = event
                if event.stop_reason != "error":
                    self._last_good = event
                self.limited = None
            case ev.Limited():
                self.limited = event
            case ev.Retrying():
                self.retries += 1
            case ev.ToolStarted():
                self._calls_begun += not event.call.parent_id
            case ev.ToolFinished():
                self.messages += not event.parent_id  # of those of a script the model sees none
            case ev.ValueGiven():
                self.given = self.given or event
                self._answered_last = True
            case ev.ValueRefused():
                self.given = None
                self.settled = self._answered_last = False
            case ev.Settled():
                # What follows our own request to stop is no end of the child's making.
                self.settled = not self._asked_to_stop or self._answered_last

    @property
    def has_worked(self) -> bool:
        """Whether the model has answered anything, be it only by a call."""
        return self._last_good is not None

    def goes_on_after_limit(self) -> None:
        """Note that the run goes on: the message that failed for a limit is not its last."""
        self.last, self.limited, self.settled = self._last_good, None, False

    def asked_to_stop(self) -> None:
        """Note that the child was asked to abort: what it then reports is our doing."""
        self._asked_to_stop = not self.settled

    def count(self, usage: Usage) -> None:
        """Take the child's own account of the whole run, which knows more than its messages."""
        if usage.total_tokens >= self.usage.total_tokens:
            # The account does not say whether its cost was billed; the same sum is the same cost.
            billed = self.usage.cost_is_billed and isclose(self.usage.cost, usage.cost)
            self.usage = replace(usage, cost_is_billed=billed)

    def answered(self) -> bool:
        """Return whether the child has given its final, good answer."""
        return self.settled and self._answered_last

    def facts(self) -> dict[str, Any]:
        """Return what a RunResult holds beside the outcome, by the names of its fields."""
        last = self.last
        return {
            "stop_reason": last.stop_reason if last else "",
            "provider": last.provider if last else "",
            "model": last.model if last else "",
            "usage": self.usage,
            "message_count": self.messages,
            # An engine may only show that calls begin, not which ones an answer asks for.
            "tool_call_count": max(self._calls_asked, self._calls_begun),
            "value": self.given.value if self.given else None,
            "has_value": self.given is not None,
        }

    def decide(self, ending: Ending) -> Outcome:
        """Return the outcome, given how the process ended."""
        if ending.in_workspace:
            return Outcome("failed", "", ending.spawn_error)
        if ending.spawn_error:
            return Outcome("failed", "", messages.SPAWN_FAILED, (ending.spawn_error,))
        if ending.refusal:
            message = messages.prompt_refused(one_line(ending.refusal, LAST_WORDS_WIDTH))
            return Outcome("failed", "", message, ending.advice)
        last, said = self.last, self.said
        if self.given is not None:  # it completes the run, whatever came after it
            text = last.text if last and last.text.strip() else self.given.text
            return Outcome("completed", text)
        if last is None:
            return replace(_unfinished(ending, has_spoken=False), output=said)
        finished = self.settled or _ended_alone(ending)
        if finished and last.stop_reason in _ANSWERS:
            return _completed(last, ending)
        if last.stop_reason == "error" and (finished or ending.cause is None):
            return Outcome("failed", said, last.error_message or messages.CHILD_REPORTED_ERROR)
        if self.settled:
            message = last.error_message or messages.child_stopped_with(last.stop_reason)
            return Outcome("failed", said, message)
        return replace(_unfinished(ending, has_spoken=True), output=said)


_ANSWERS = ("stop", "length")


def _ended_alone(ending: Ending) -> bool:
    """Return whether the child went away by itself in good order (an engine without `settled`)."""
    return ending.cause is None and ending.exit_code == 0 and not ending.signal_name


def _completed(last: ev.AssistantMessage, ending: Ending) -> Outcome:
    notes: list[str] = []
    if last.stop_reason == "length":
        notes.append(messages.NOTE_LENGTH)
    output = last.text
    if not output.strip():
        output = messages.NO_TEXT_OUTPUT
        notes.append(messages.NOTE_EMPTY_ANSWER)
    if ending.cause is None and ending.exit_code not in (0, None):
        notes.append(messages.note_exit_after_answer(ending.exit_code, ending.signal_name))
    return Outcome("completed", output, notes=tuple(notes))


def _unfinished(ending: Ending, *, has_spoken: bool) -> Outcome:
    match ending.cause:
        case Cause.TIMED_OUT:
            return Outcome("failed", error_message=messages.timed_out(ending.timeout_s or 0))
        case Cause.LOOPING:
            return Outcome("failed", error_message=messages.LOOP_DETECTED)
        case Cause.BUDGET | Cause.LIMIT:
            return Outcome("failed", error_message=ending.why)
        case Cause.STOP_REQUESTED:
            return Outcome("aborted", error_message=messages.STOPPED_ON_REQUEST)
        case Cause.LIFELINE_LOST:
            return Outcome("interrupted", error_message=messages.INTERRUPTED)
        case None:
            message = messages.child_ended_early(
                exit_code=ending.exit_code,
                signal_name=ending.signal_name,
                has_spoken=has_spoken,
                error_tail=_last_words(ending.error_tail),
            )
            return Outcome("failed", "", message, ending.advice)


def _last_words(error_tail: str) -> str:
    """Return the last lines of standard error that fit: what ended a program comes last."""
    kept = error_tail[-LAST_WORDS_WIDTH:]
    if len(kept) < len(error_tail):
        _, _, whole_lines = kept.partition("\n")
        kept = whole_lines if whole_lines.strip() else kept
    return one_line(kept, LAST_WORDS_WIDTH)
