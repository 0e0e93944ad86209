"""
Ask the person in front of a host, where the host can show questions (the protocol's elicitation).

In: the context of a call.  Out: a way to ask yes or no, or None where nobody can be asked.  Only a
yes or no that was chosen counts: a host that declines or dismisses the question, with or without
showing it, said neither, and whoever does not answer in time is not waited for.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp.types import ClientCapabilities, ElicitationCapability

from pi_subagents.faces.mcp_server.messages import ASK_TITLE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext

    from pi_subagents.core.stop_switch import StopSwitch

    Ask = Callable[[str], Awaitable[bool | None]]

LIMIT_S = 40.0  # hosts cut calls after a minute, and have to hear why it was refused
_FIELD = "use"
_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {_FIELD: {"type": "boolean", "title": ASK_TITLE}},
    "required": [_FIELD],
}


def person_at(context: ServerRequestContext[Any]) -> Ask | None:
    """Return how to ask the person in front of the host that made a call; None if it cannot."""
    session = context.session
    can_show = ClientCapabilities(elicitation=ElicitationCapability())
    if not (session.can_send_request and session.check_client_capability(can_show)):
        return None

    async def ask(question: str) -> bool | None:
        said = await session.elicit_form(question, _FORM, context.request_id)
        chosen = (said.content or {}).get(_FIELD) if said.action == "accept" else None
        return chosen if isinstance(chosen, bool) else None

    return ask


def patiently(ask: Ask, stop: StopSwitch, limit_s: float) -> Ask:
    """Return the same for a call that can be stopped meanwhile, and has to end."""

    async def wait(question: str) -> bool | None:
        asked = asyncio.ensure_future(ask(question))
        leave = stop.listen(lambda _: _ignore(asked.cancel()))
        try:
            await asyncio.wait([asked], timeout=limit_s)
        finally:
            leave()
            asked.cancel()
        answered = asked.done() and not asked.cancelled() and asked.exception() is None
        return asked.result() if answered else None

    return wait


def _ignore(_: object) -> None:
    """Do nothing with an answer that nobody needs."""
