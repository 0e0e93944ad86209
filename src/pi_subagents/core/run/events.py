"""
The events of a run, whatever engine its child has.

The same values travel from an engine's conversation through the journal (`journal.py`), the limits,
the outcome and every face.
"""

from __future__ import annotations

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
    duration_ms: int = 0  # 0 where the child does not tell


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
    duration_ms: int = 0  # 0 where the child does not tell


@value
class Retrying:
    """The child waits and asks its model again."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


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
class Activity:
    """A record that only shows the child is at work; it is not journaled."""

    kind: str


DELIVERED, REFUSED = ("delivered", "refused")
WRAP_UP = "wrap-up"  # the number of our own message, before a time-out

Event = (
    StateChanged
    | UserMessage
    | AssistantMessage
    | ToolStarted
    | ToolFinished
    | Retrying
    | Settled
    | OutputText
    | ErrorText
    | Note
    | Steer
    | Activity
)
