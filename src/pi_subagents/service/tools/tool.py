"""
What a tool is: its name, texts for the model, schemas, how a call is read and answered, and flags.

A face wraps a tool by its flags and never looks at its name.  The schema of the parameters has the
same limits as the parser; what is wrong is left to the parser, whose messages are better.
Every character of name, description, parameters, snippet and rules is read by a model with each
request, so nothing is repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pi_subagents.core.settings import ALL_TOOLS
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pi_subagents.core.preset.request import SubagentRequest
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options
    from pi_subagents.view.picture import Role
    from pi_subagents.view.progress_updates import Updates

    Given = Mapping[str, Any]

R = TypeVar("R")

# Reads what there is, stops what runs, or acts: a child can do whatever its user can.
ToolEffect = Literal["reads", "stops", "acts"]


@value
class ToolWords:
    """
    Words above the result of a call, painted while its arguments are still streamed.

    The words at a path in the arguments (a list on the way means each of its items), in a role, and
    perhaps in a text with `{}` for them; `counted` has the texts for one of them and for several.
    """

    path: tuple[str, ...]
    role: Role = "accent"
    text: str = "{}"
    counted: tuple[str, ...] = ()
    distinct: bool = False


WHATEVER_IS_THERE = (
    ToolWords(("sessionId",)),
    ToolWords(("preset",)),
    ToolWords(("tasks", "preset")),
    ToolWords(("runId",)),
    ToolWords(("task",), "muted"),
    ToolWords(("message",), "muted"),
)


@value
class LiveWork:
    """How the progress of a tool whose caller waits for its children is shown."""

    updates: Callable[[], Updates]  # for a host that repeats them in its own stream
    presets: Callable[[object], SubagentRequest | None] = lambda _: None  # of its tasks


@value
class SessionReading:
    """How a tool that reads a session keeps to the characters that a host takes at once."""

    narrow: Callable[[Given, int], Given]  # the parameters, so that the answer is short enough
    mark_cut: Callable[[Given, JsonObject], JsonObject]  # the answer, with what is left out


@value
class Prewarming:
    """What is known of a call that is still being written, and what that starts."""

    parameter: str  # the list of its tasks, if any; what else shapes children is written before it
    start: Callable[[object, int, Options], None]  # what is whole, and how many tasks are begun


@value
class Tool(Generic[R]):
    """One tool: its texts, what it takes and gives, and by which flags faces wrap it."""

    name: str
    description: str
    parameters: Mapping[str, object]  # the schema of what it takes
    returns: Mapping[str, object]  # the schema of its structured value
    parse: Callable[[object, Options], R]  # refuses a call, with the place that is wrong
    run: Callable[[R, Options], Awaitable[JsonObject]]
    effect: ToolEffect
    snippet: str  # a few words for a list of tools
    rules: tuple[str, ...] = ()  # how to use it, each with its name
    family: str = ALL_TOOLS  # which setting of `tools` offers it; `all`: each of them
    lists: str = ""  # the kind of definitions that its description lists for a session
    default_wait_s: float | None = None  # of one that takes `waitSeconds`
    live: LiveWork | None = None
    reading: SessionReading | None = None
    prewarming: Prewarming | None = None
    structured: Callable[[JsonObject, str], JsonObject] = lambda details, _text: details
    logged: Callable[[JsonObject], JsonObject] = lambda answer: answer  # as a host's log keeps it
    settles_usage: bool = False  # its answer carries what ended background runs used
    shown_whole: bool = False  # half of its answer would mislead
    headline: tuple[ToolWords, ...] = WHATEVER_IS_THERE  # as far as it has these parameters
