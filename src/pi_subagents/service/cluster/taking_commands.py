"""
Carry out what the submitter of a run wants done with it on its worker: stop, kill, steer, answer.

In: commands as the database has them.  Out: a word or a sentence each, which the submitter can
read.  What is wrong with one is said there, and harms neither the run nor the worker.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from pi_subagents.cluster.worker import command_taken, commands_for
from pi_subagents.core.run.spec import (
    ANSWER,
    MAX_ANSWER_BYTES,
    MAX_STEER_BYTES,
    STEER,
)
from pi_subagents.service.cluster import messages
from pi_subagents.store.orders import send
from pi_subagents.system.own_thread import in_own_thread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.cluster.link import Link
    from pi_subagents.cluster.worker import Command
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.store.desk import Desk

TAKEN = "taken"
STOP, KILL = "stop", "kill"


async def take_commands(
    link: Link, worker_id: str, switches: Mapping[str, StopSwitch], desks: Mapping[str, Desk]
) -> None:
    """Carry out what waits for runs that are at work here; the others' commands wait on."""
    for command in await commands_for(link, worker_id):
        switch, desk = switches.get(command.run_id), desks.get(command.run_id)
        if switch is not None and command.kind in (STOP, KILL):
            switch.stop() if command.kind == STOP else switch.force()
            await command_taken(link, command.id, TAKEN)
        elif desk is not None:  # else it is planned just now, and asked about again
            await command_taken(link, command.id, await _carry_out(command, desk))


async def _carry_out(command: Command, desk: Desk) -> str:
    try:
        return await in_own_thread("command", partial(_say, command, desk))
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        return messages.command_refused(command.kind, str(wrong))


def _say(command: Command, desk: Desk) -> str:
    """Put a message or an answer on the desk of the run, and have its supervisor look."""
    said: dict[str, Any] = json.loads(command.content)
    number = _text(said, "number", 16)
    desk.steer_text(number)  # a number that is none is refused
    if command.kind == STEER:
        desk.write_steer(_text(said, "text", MAX_STEER_BYTES), number)
    elif command.kind == ANSWER:
        desk.write_reply(_text(said, "question", 64), _text(said, "text", MAX_ANSWER_BYTES), number)
    else:
        raise ValueError(messages.UNKNOWN_COMMAND)
    send(desk, f"{command.kind} {number}")  # where nobody listens yet, whoever does finds it
    return TAKEN


def _text(said: Any, name: str, most: int) -> str:
    text = said[name] if isinstance(said, dict) and name in said else None
    if not isinstance(text, str) or len(text.encode("utf-8", "replace")) > most:
        raise ValueError(messages.wrong_member(name, most))
    return text
