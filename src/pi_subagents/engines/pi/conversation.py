"""The supervisor's side of pi: a conversation in the mode the child was started in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_subagents.engines.base import Channel, Conversation

JSON_MODE, RPC_MODE = MODES = ("json", "rpc")


def open_conversation(mode: str, run_id: str, channel: Channel) -> Conversation:
    """Return the conversation of one run; `run_id` tells its commands from those of other runs."""
    if mode == RPC_MODE:
        from pi_subagents.engines.pi.rpc_conversation import RpcConversation

        return RpcConversation(run_id, channel)
    from pi_subagents.engines.pi.json_conversation import JsonConversation  # one of them is enough

    return JsonConversation()
