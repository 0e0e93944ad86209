"""
What is known of one agent beyond the protocol: a row of the catalogue.

In: facts that were measured.  Out: an Agent, for the caller's side (how it is found, started and
shaped) and for the supervisor's (how it is steered, what its answers are worth).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.profile.permissions import Permissions

# How a message reaches the agent at work: as a second prompt, which joins the first; by a method of
# its own; where it asks for messages between two calls; or not at all.
BY_PROMPT, BY_METHOD, BY_DRAIN, NO_STEERING = ("prompt", "method", "drain", "")
# Where the agent says what a turn used: in its answer, for all requests or for the last alone; in
# its messages, request by request; in a member of its own; or nowhere.
OF_TURN, OF_LAST_REQUEST, OF_EACH_REQUEST, OF_QUOTA, UNTOLD = (
    "turn",
    "last request",
    "each request",
    "quota",
    "",
)
# How its model is chosen: by an option of its session, a method, an argument or a variable.
OPTION, METHOD = ("option", "method")


@value
class AgentShape:
    """What a profile adds to how an agent is started, and to how its session is opened."""

    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = MappingProxyType({})
    session: Mapping[str, object] = MappingProxyType({})  # more members of `session/new`
    mode: str = ""  # the mode that the session is put into


UNSHAPED = AgentShape()


@value
class Databases:
    """What an agent's first start makes in a home, and where: two first starts at once fail."""

    variable: str  # that says where they are
    directory: str  # at home, without it
    pattern: str  # of their names there


@value
class ShapeRequest:
    """What a profile wants of an agent, as far as its engine said that it can be had."""

    permissions: Permissions
    env: Mapping[str, str]  # of the caller
    system_prompt: str = ""
    append_prompt: str = ""
    tools: tuple[str, ...] | None = None
    exclude_tools: tuple[str, ...] = ()
    no_tools: bool = False
    thinking: str = ""


def no_shape(request: ShapeRequest) -> AgentShape:
    """Add nothing."""
    del request
    return UNSHAPED


@value
class Agent:
    """One agent."""

    name: str  # as users write it: `acp:<name>`
    title: str = ""
    like: str = ""  # the agent whose row this is, where a user gave a name of their own
    # How it is found and started.
    program: str = ""  # on PATH
    arguments: tuple[str, ...] = ()
    package: str = ""  # of npm
    needs: tuple[str, ...] = ()  # other programs on PATH
    environment: Mapping[str, str] = MappingProxyType({})  # unless the user has set them
    unset: tuple[str, ...] = ()  # variables that would make it another agent's child
    login: str = ""  # what a person types or sets so that it can work
    logins: tuple[str, ...] = ()  # files at home of which one is there once a person logged in
    variables: tuple[str, ...] = ()  # of which each does instead
    writes: tuple[str, ...] = ()  # what it writes at home
    databases: Databases | None = None  # that its first start has to make alone
    # What a profile can have of it, and how.
    fields: frozenset[str] = frozenset()  # of a Profile, beside those that every agent honours
    permissions: frozenset[str] = frozenset()  # kinds of calls that it asks about, all of them
    also: Mapping[str, str] = MappingProxyType({})  # a call of one kind that is one of another too
    shape: Callable[[ShapeRequest], AgentShape] = no_shape
    model_by: str = OPTION
    takes_mcp: bool = True  # servers that `session/new` names
    resumes: bool = True  # a session outlives its process
    announces_files: bool = False  # whether it is to read and write files through us
    # How it is spoken to, and what its words are worth.
    steering: str = NO_STEERING
    usage: str = OF_TURN
    null_usage_fails: bool = False  # a turn without usage is one whose model request failed
    keys: Mapping[str, str] = MappingProxyType({})  # ways to log in: the variable of each
    question_ids: str = ""  # how the ids of calls begin that only ask something
    answers_have_ids: bool = False  # what has no message id is the adapter's, not the model's
    chatter: tuple[str, ...] = ()  # patterns of whole chunks that are the adapter's
    retrying: str = ""  # such a pattern, with groups for attempt, of how many, and seconds
    troubles: tuple[str, ...] = ()  # where a session's info says, in `_meta`, what failed
