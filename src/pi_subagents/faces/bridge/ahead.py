"""
Children for a call that is still being written, started before it comes.

In: the call as far as it is known.  Out: children that wait in the host's pool, for as long as the
pool has patience.  It is only a hint: what cannot be understood, or would be refused, starts
nothing and is told to nobody.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents import api, launch
from pi_subagents.core.request import parse_delegate
from pi_subagents.core.tool_defs import DELEGATE
from pi_subagents.errors import SubagentsError

if TYPE_CHECKING:
    from pi_subagents.core.bridge_params import ToolCall
    from pi_subagents.launch import Options


def start_children(call: ToolCall, options: Options) -> None:
    """Start what the tasks that are known will need, where the host keeps children ready."""
    if call.tool != DELEGATE:
        return
    pool = options["pool"]
    if pool.is_full:  # each hint repeats those before it: the rest of a long call adds nothing
        pool.settle_later()
        return
    with suppress(SubagentsError):
        request = parse_delegate(call.arguments)
        ground = launch.stand(options)
        if not ground.settings.warm_children:
            return
        tasks = zip(request.tasks, api.prepare(request, ground), strict=True)
        launch.start_ahead(ground, tasks)
        pool.settle_later()
