"""
What the shim in pi asks of the core, as values.

In: the decoded parameters of a request.  Out: a value, or a sentence about what is wrong with them.
What is optional and of the wrong type is refused like anything else: both sides are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.engine_values import HostProgram
from pi_subagents.core.value import replace, value
from pi_subagents.errors import InvalidRequest
from pi_subagents.faces.bridge import messages

if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOL = 2
NEW = "new"


@value
class HostSession:
    """The session that pi has open, with what of its log is ours."""

    session_id: str
    reason: str
    cwd: str
    entries: tuple[object, ...]
    ends_shown: tuple[str, ...] | None = None  # background runs whose end it shows, if it says so
    pi: HostProgram | None = None  # the pi that is the host, if it says so
    trusted: bool | None = None  # whether it trusts the project, if it has decided


@value
class HostToolCall:
    """One call of one of our tools, and what is known of the host at that moment."""

    call_id: str
    tool: str
    arguments: object
    cwd: str
    parent_tools: tuple[str, ...] | None
    models: tuple[str, ...] | None
    trusted: bool | None
    columns: int | None
    has_ui: bool = False  # whether anybody can be asked
    begun: int = 0  # of a call that is still being written: its tasks, those in writing too


@value
class ProfileLine:
    """What was typed after `/profile`, whether anybody can be asked, and what the host knows."""

    line: str
    has_ui: bool
    models: tuple[str, ...] = ()
    trusted: bool | None = None


@value
class AgentsAsked:
    """That `/agents` was typed: where, on how wide a screen, and whether anybody can be asked."""

    cwd: str
    has_ui: bool
    columns: int | None


def parse_session(given: Mapping[str, object]) -> HostSession:
    """Read the session in the parameters of `hello`; InvalidRequest says what is wrong."""
    reason = _text(given, "reason")
    entries = given.get("entries", [])
    if not isinstance(entries, list):
        raise InvalidRequest("entries", messages.MUST_BE_LIST)
    return HostSession(
        session_id=_text(given, "sessionId"),
        reason=reason,
        cwd=_text(given, "cwd"),
        # A new session begins empty, whatever its file may hold already.
        entries=() if reason == NEW else tuple(entries),
        ends_shown=_texts(given, "endsShown"),
        pi=_host_program(given),
        trusted=_trusted(given),
    )


def parse_call(given: Mapping[str, object]) -> HostToolCall:
    """Read the parameters of `call`; InvalidRequest says what is wrong."""
    return HostToolCall(
        call_id=_text(given, "callId"),
        tool=_text(given, "tool"),
        arguments=given.get("arguments"),
        cwd=_text(given, "cwd"),
        parent_tools=_texts(given, "parentTools"),
        models=_texts(given, "models"),
        trusted=_trusted(given),
        columns=_columns(given),
        has_ui=given.get("hasUI") is True,
    )


def parse_prewarm(given: Mapping[str, object]) -> HostToolCall:
    """Read the parameters of `prewarm`, a call that is still being written: it has no id yet."""
    begun = given.get("begun", 0)
    if not isinstance(begun, int) or isinstance(begun, bool) or begun < 0:
        raise InvalidRequest("begun", core_messages.NEEDS_COUNT)
    return replace(parse_call({**given, "callId": "", "columns": None}), begun=begun)


def parse_call_id(given: Mapping[str, object]) -> str:
    """Read the parameters of `cancel`; InvalidRequest says what is wrong."""
    return _text(given, "callId")


def parse_profile(given: Mapping[str, object]) -> ProfileLine:
    """Read the parameters of `profile`; InvalidRequest says what is wrong."""
    models = _texts(given, "models") or ()
    return ProfileLine(_text(given, "line"), _has_ui(given), models, _trusted(given))


def parse_agents(given: Mapping[str, object]) -> AgentsAsked:
    """Read the parameters of `agents`; InvalidRequest says what is wrong."""
    return AgentsAsked(_text(given, "cwd"), _has_ui(given), _columns(given))


def parse_prefix(given: Mapping[str, object]) -> str:
    """Read the parameters of `complete`; InvalidRequest says what is wrong."""
    return _text(given, "prefix")


def _host_program(given: Mapping[str, object]) -> HostProgram | None:
    keys = ("program", "script", "piVersion")
    program, *rest = ("" if given.get(key) is None else _text(given, key) for key in keys)
    return HostProgram(program, *rest) if program else None


def _has_ui(given: Mapping[str, object]) -> bool:
    has_ui = given.get("hasUI")
    if not isinstance(has_ui, bool):
        raise InvalidRequest("hasUI", core_messages.MUST_BE_FLAG)
    return has_ui


def _columns(given: Mapping[str, object]) -> int | None:
    columns = given.get("columns")
    if columns is not None and (isinstance(columns, bool) or not isinstance(columns, int)):
        raise InvalidRequest("columns", messages.MUST_BE_COLUMNS)
    return columns


def _trusted(given: Mapping[str, object]) -> bool | None:
    value = given.get("trusted")
    if value is not None and not isinstance(value, bool):
        raise InvalidRequest("trusted", core_messages.MUST_BE_FLAG)
    return value


def _text(given: Mapping[str, object], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        raise InvalidRequest(key, core_messages.NEEDS_STRING)
    return value


def _texts(given: Mapping[str, object], key: str) -> tuple[str, ...] | None:
    value = given.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InvalidRequest(key, messages.MUST_BE_TEXTS)
    return tuple(value)
