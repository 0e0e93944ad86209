"""
What one run wants of its agent beside the prompt: from the caller's side to the conversation.

In: orders, or their text on the run's desk.  Out: the other.  The text is private: it may hold what
servers of tools are given.
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pi_subagents.core.profile.permissions import Permissions, permissions_field
from pi_subagents.core.value import as_dict, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@value
class AgentOrders:
    """How the session is opened, what it is set to, and what its agent may do."""

    cwd: str = "/"
    model: str = ""
    thinking: str = ""
    mode: str = ""
    resume: str = ""  # the id of the session that it goes on with
    session: Mapping[str, object] = MappingProxyType({})  # more members of `session/new`
    servers: tuple[Mapping[str, object], ...] = ()  # MCP servers, as `session/new` names them
    permissions: Permissions = Permissions()
    own_tools: tuple[str, ...] = ()  # of ours, among those of the servers: always allowed
    variables: tuple[str, ...] = ()  # that are set, by name: some ways to log in need one


def orders_text(orders: AgentOrders) -> str:
    """Return orders as they are kept: ASCII, on one line."""
    content = {**as_dict(orders), "session": dict(orders.session)}
    content["permissions"] = dict(orders.permissions.by_kind)
    return json.dumps(content, separators=(",", ":"))


def read_orders(text: str) -> AgentOrders:
    """Return orders from their text; ValueError where it is none of ours."""
    try:
        content = _object(json.loads(text or "{}"))
        known: dict[str, Any] = {
            name: kind(content[name]) for name, kind in _KINDS.items() if name in content
        }
    except (TypeError, AttributeError) as error:
        raise ValueError(text[:80]) from error
    return AgentOrders(**known)


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


def _object(given: object) -> dict[str, object]:
    if not isinstance(given, dict):
        raise TypeError
    return given


def _objects(given: Any) -> tuple[dict[str, object], ...]:
    return tuple(map(_object, given))


def _texts(given: Any) -> tuple[str, ...]:
    return tuple(map(_text, given))


_KINDS: Mapping[str, Callable[[Any], object]] = {
    **dict.fromkeys(("cwd", "model", "thinking", "mode", "resume"), _text),
    "session": _object,
    "servers": _objects,
    "permissions": permissions_field,
    "own_tools": _texts,
    "variables": _texts,
}
