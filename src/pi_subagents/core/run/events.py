"""
The events of a run, whatever engine its child has.

The same values travel from an engine's conversation through the journal (`journal.py`), the limits,
the outcome and every face.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pi_subagents.core.usage import Usage
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping


@value
class StateChanged:
    """The run moved to another of its states."""

    state: str


@value
class UserMessage:
    """What the child was asked."""

    text: str


@value
class ToolCall:
    """
    One call the model asked for; `arguments` is None where the child sent none.

    A call that another tool made (a script of codemode) has that one's id as `parent_id`.
    """

    call_id: str
    name: str
    arguments: Mapping[str, object] | None
    parent_id: str = ""


@value
class AssistantMessage:
    """One complete answer of the model, with the calls it asks for."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    stop_reason: str = ""
    error_message: str = ""
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0  # 0 where the child does not say


@value
class ToolStarted:
    """The child began to execute a call."""

    call: ToolCall


@value
class ToolFinished:
    """The child finished a call."""

    call_id: str
    name: str
    text: str
    failed: bool
    parent_id: str = ""
    duration_ms: int = 0  # 0 where the child does not say


@value
class Retrying:
    """The child waits and asks its model again."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


LONGEST_LIMIT_S = 400 * 86_400.0  # what is said to take longer is not believed


@value
class Limited:
    """
    The provider of the child's model answers no more for now: not an error, a matter of time.

    It follows the message that failed for it.  How long that is was said in seconds, or until when,
    or not at all; `text` is what was said.
    """

    provider: str
    after_s: float = 0
    until_ms: int = 0
    text: str = ""


@value
class Settled:
    """The child has nothing left to do; `aborted` where it says that it was told to stop."""

    aborted: bool = False


@value
class OutputText:
    """A line on standard output that is no record of the protocol."""

    text: str


@value
class ErrorText:
    """A line on standard error."""

    text: str


@value
class Note:
    """Something the supervisor has to say: a line skipped, a log cut."""

    text: str


@value
class Steer:
    """What became of a message to a child at work: it read it, or it was refused."""

    number: str
    status: str
    text: str
    reason: str = ""


@value
class Asked:
    """The child asks somebody and waits, so long at most; options are what can be answered."""

    number: str  # of the questions of this run
    text: str
    options: tuple[str, ...] = ()
    within_s: float = 0


@value
class Replied:
    """
    What became of an answer, or of a question that got none.

    `given` and `unanswered` end the question; an answer that was `refused` leaves it as it is.
    """

    question: str
    status: str
    text: str = ""
    reason: str = ""
    reply: str = ""  # the number of the answer, where there is one


@value
class ValueGiven:
    """The answer as a value; of several the first counts, unless it was refused."""

    value: object

    @property
    def text(self) -> str:
        """The value as JSON, as people write it."""
        return json.dumps(self.value, ensure_ascii=False)


@value
class ValueRefused:
    """The answer does not fit what was asked for; the child may be asked again."""

    problem: str


@value
class Activity:
    """A record that only shows the child is at work; it is not journaled."""

    kind: str


DELIVERED, REFUSED = ("delivered", "refused")
GIVEN, UNANSWERED = ("given", "unanswered")
# The numbers of our own messages: before a time-out, before a budget is used up.
WRAP_UP, BUDGET = ("wrap-up", "budget")

Event = (
    StateChanged
    | UserMessage
    | AssistantMessage
    | ToolStarted
    | ToolFinished
    | Retrying
    | Limited
    | Settled
    | OutputText
    | ErrorText
    | Note
    | Steer
    | Asked
    | Replied
    | ValueGiven
    | ValueRefused
    | Activity
)
