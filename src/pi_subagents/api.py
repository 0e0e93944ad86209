"""
The Python API.

    from pi_subagents import Task, delegate
    done = await delegate("Which modules have no tests?")
    done = await delegate([Task("count", "Count the Python files in src"), "List the bugs"])
    print(done.results[0].output)

Everything that refuses a whole call raises here, before anything starts; afterwards every task
has a result.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Unpack

from pi_subagents.core.task.request import checked_request
from pi_subagents.errors import SubagentsError
from pi_subagents.service.call import Options, check_options
from pi_subagents.service.foreground import delegate_request
from pi_subagents.view.answers import refusal_to_json

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.task.request import Tasks
    from pi_subagents.service.delegation import Delegation


async def delegate(tasks: Tasks, **options: Unpack[Options]) -> Delegation:
    """Run every task, or prompt, in a sub-agent of its own; return the results in task order."""
    check_options(options)
    return await delegate_request(checked_request(tasks, options.get("profile")), options)


def delegate_sync(tasks: Tasks, **options: Unpack[Options]) -> Delegation:
    """Do the same without an event loop of one's own."""
    return asyncio.run(delegate(tasks, **options))


async def start(tasks: Tasks, **options: Unpack[Options]) -> tuple[RunRecord, ...]:
    """Start every task in the background, where it outlives this program; return the runs."""
    from pi_subagents.service.background import start_request

    check_options(options)
    return await start_request(checked_request(tasks, options.get("profile")), options)


async def call_tool(name: str, parameters: object, **options: Unpack[Options]) -> dict[str, object]:
    """Run a tool by name; a refusal is a value here, as it is for every host."""
    from pi_subagents.service.tools.registry import call

    try:
        check_options(options)
        return await call(name, parameters, options)
    except SubagentsError as refusal:
        return refusal_to_json(str(refusal))
