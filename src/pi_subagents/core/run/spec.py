"""
What a run is to be, as a value; on this machine it travels in a `LocalOrder`.

In: a RunSpec, or one decoded JSON object.  Out: the other.  A supervisor's control channel carries
a specification, then commands (`stop`, `kill`); after the run's end another specification may
follow, if the child was to be kept.  The end of the channel is the end of the lifeline.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pi_subagents.core import messages
from pi_subagents.core.limits.ladder import SETTLED_GRACE_S, STOP_GRACE_S
from pi_subagents.core.value import as_dict, replace, value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.spending.price import Prices

SCHEMA_VERSION = 1
MAX_RUN_BYTES = 256 * 1024 * 1024
STOP = "stop"
KILL = "kill"
PING = "ping"  # says nothing, and is answered like everything else
STEER: Final = "steer"  # and the number of the text that waits on the run's desk
MAX_STEER_BYTES = 1024 * 1024
ANSWER: Final = "answer"  # and the number of the answer that waits there
MAX_ANSWER_BYTES = 64 * 1024
MAX_REUSE = 8  # how many runs one child serves
# The argument that makes a supervisor's command one that forks supervisors.
FORK = "fork"
# What a supervisor says on its standard output.
NEWS = b"."  # there are new records in the journal
FREE = b"r"  # the run is over, and the child waits for another one
HEARD = b"h"  # a command was taken
# How a session goes on: the child has all of it, or is told what was stored of it.
NATIVE, REPLAY = RESUME_WAYS = ("native", "replay")
# What it answers on the socket of its desk, once for each command.
TAKEN = b"taken\n"


@value
class ChildOrder:
    """What the child is started as, and how it is spoken to; a key may be in `environment`."""

    argv: tuple[str, ...]
    cwd: str
    engine: str  # the kind of agent it is
    environment: Mapping[str, str] = MappingProxyType({})  # added to the caller's
    mode: str = ""  # which of the engine's ways it is spoken to in, where there are several
    takes_commands: bool = False  # on its standard input, which otherwise is its prompt
    session_option: str = ""  # what names the file of its own session; without, it keeps none
    no_session_option: str = ""  # what has it keep none, where the file cannot be made
    writes_in: tuple[str, ...] = ()  # all it may write in, enforced; empty: wherever the user may
    provider: str = ""  # of its model, as far as that is known; and whose account there
    account: str = ""
    rereads: tuple[str, ...] = ()  # files that it needs for another run too
    own_tools: tuple[str, ...] = ()  # tools of ours that it calls by a server of its own

    def argv_in(self, session: str) -> tuple[str, ...]:
        """Return what is started, with its own session in that file, if it keeps one."""
        named = (self.session_option, session) if session else (self.no_session_option,)
        return (*self.argv, *named) if self.session_option else self.argv


@value
class RunLimits:
    """What may end or hold the run, and what it may use."""

    timeout_s: float | None = None
    extend_debounce_s: float = 30
    extend_max_s: float = 3600
    looping_tool_count: int = 5
    stop_grace_s: float = STOP_GRACE_S
    settled_grace_s: float = SETTLED_GRACE_S
    max_run_bytes: int = MAX_RUN_BYTES
    max_children: int = 0  # of this user on this machine; 0: no limit
    max_of_provider: int = 0  # of those with the same provider; 0: no limit
    limit_wait_s: float = 21_600  # how long it waits for limits of its provider, all in all
    wrap_up_s: float = 0  # how long before its time-out the child is told to finish; 0: never
    # By whose they are: what may be spent, by kind.
    budgets: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    prices: Prices = MappingProxyType({})  # which the user has set
    answer_within_s: float = 0  # how long a question of the child waits; 0: it may ask nothing


@value
class ReuseOrder:
    """Whether the child may serve other runs as well."""

    kind: str = ""  # what shapes the child; runs of one kind may share it, empty: with nobody
    follows: str = ""  # the run that this one goes on from, where a session is resumed
    keep: bool = False  # whether the child may serve other runs afterwards
    prewarm: bool = False  # only start the child: its first run is yet to come


@value
class CheckOrder:
    """How the work is checked after the answer."""

    command: str = ""  # a command line; empty: not at all
    rounds: int = 1  # how often the child may mend what failed


@value
class WorkspaceOrder:
    """Where the child works: in the checkout of its caller, or in a worktree of its own."""

    home: str = ""  # of the snapshot that the worktree is made of; empty: there is none
    prefix: str = ""  # the directory of the child below the top of the worktree
    max_bytes: int = 0  # of the patch
    tree: str = ""  # what its files are at first, where they are not the snapshot's
    place: str = ""  # the run whose worktree it goes on in, where that is another
    links: tuple[str, ...] = ()  # ignored things of the checkout that it shares
    setup: str = ""  # a command line that makes it ready
    keep: bool = False  # whether the worktree stays afterwards


@value
class AnswerOrder:
    """What the answer has to be, where it has to be more than a text."""

    schema: str = ""  # as JSON, on one line; empty: any text will do
    by_tool: bool = False  # the child has a tool to give it with


@value
class ResumeOrder:
    """How the run goes on with a session, where it does."""

    how: str = ""  # NATIVE: in a copy of the child's own session, on its desk; or REPLAY
    why: str = ""  # it is a replay, for people; a warm child may have the session all the same
    model: str = ""  # that answered in the session before

    def notes(self, model: str, *, goes_on: bool) -> tuple[str, ...]:
        """Return what is to be said of a run that this model answered, in a warm child or not."""
        is_other = self.model and model and self.model != model
        other = messages.note_other_model(self.model, model) if is_other else ""
        return tuple(filter(None, ("" if goes_on else self.why, other)))


@value
class RunSpec:
    """What a run is to be, wherever that is; never stored, because it may hold a key."""

    run_id: str
    session_id: str
    name: str
    child: ChildOrder
    limits: RunLimits = RunLimits()
    reuse: ReuseOrder = ReuseOrder()
    workspace: WorkspaceOrder = WorkspaceOrder()
    check: CheckOrder = CheckOrder()
    answer: AnswerOrder = AnswerOrder()
    resume: ResumeOrder = ResumeOrder()
    attached: bool = True
    notes: tuple[str, ...] = ()  # said of the run before it began
    on_complete: tuple[str, ...] = ()  # the command that is told of a background run's end


def changed(spec: RunSpec, **fields: object) -> RunSpec:
    """Return the order with some of its fields changed, whichever group they are in."""
    own: Any = {name: fields.pop(name) for name in RunSpec.__match_args__ if name in fields}
    for name in ("child", *_GROUPS):
        group = getattr(spec, name)
        inner = {each: fields.pop(each) for each in group.__match_args__ if each in fields}
        if inner:
            own[name] = replace(group, **inner)
    assert not fields, fields
    return replace(spec, **own)


def spec_to_json(spec: RunSpec) -> dict[str, object]:
    """Return the specification as it travels."""
    child = {**as_dict(spec.child), "environment": dict(spec.child.environment)}
    groups = {name: as_dict(getattr(spec, name)) for name in _GROUPS}
    for name in ("budgets", "prices"):
        groups["limits"][name] = dict(getattr(spec.limits, name))
    return {"schemaVersion": SCHEMA_VERSION, **as_dict(spec), "child": child, **groups}


def spec_from_json(content: object) -> RunSpec:
    """Return the specification; ValueError where it is not one of ours."""
    message = "not a run specification of this version"
    if not isinstance(content, dict) or content.get("schemaVersion") != SCHEMA_VERSION:
        raise ValueError(message)
    try:
        known = known_fields(RunSpec, content)
        child = known_fields(ChildOrder, content["child"])
        words = {
            name: tuple(child.get(name, ()))
            for name in ("argv", "rereads", "writes_in", "own_tools")
        }
        known["child"] = ChildOrder(**{**child, **words})
        for name, group in _GROUPS.items():
            known[name] = group(**known_fields(group, content.get(name, {})))
        links = tuple(known["workspace"].links)
        known["workspace"] = replace(known["workspace"], links=links)
        for name in ("notes", "on_complete"):
            known[name] = tuple(known.get(name, ()))
        return RunSpec(**known)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(message) from error


_GROUPS: Mapping[str, type] = {
    "limits": RunLimits,
    "reuse": ReuseOrder,
    "answer": AnswerOrder,
    "workspace": WorkspaceOrder,
    "check": CheckOrder,
    "resume": ResumeOrder,
}


def known_fields(group: Any, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a group has; what else is there was said by a later version."""
    return {name: content[name] for name in group.__match_args__ if name in content}
