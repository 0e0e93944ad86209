"""Open the conversation of a run: its engine's, with tools of ours where the child has any."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pi_subagents.engines.table import open_conversation

if TYPE_CHECKING:
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.engines.conversation import Channel, Conversation
    from pi_subagents.store.desk import Desk
    from pi_subagents.supervisor.listener import Listener


def open_talk(spec: RunSpec, desk: Desk, listener: Listener, channel: Channel) -> Conversation:
    """Return it; without a socket there, the child's server finds nobody and offers nothing."""
    talk = open_conversation(spec.child.engine, spec.child.mode, spec.run_id, channel)
    if not spec.child.own_tools:
        return talk
    from pi_subagents.supervisor.own_tools import OwnTools  # few children have any

    try:
        return cast("Conversation", OwnTools(talk, spec, desk, listener))
    except OSError:
        return talk
