"""
Have a fork server make every supervisor that is held, not only the second of several.

`make faults` runs its suite both ways: with FORKED_SUPERVISORS set every process of a test that
holds supervisors has them forked.
"""

from __future__ import annotations

import os

from tests.fakes.processes import children_of, command_lines, has_ended

from pi_subagents.runners import pool

VARIABLE = "FORKED_SUPERVISORS"
FORKED = {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}


def fork_if_wanted() -> None:
    """Obey the variable in this process."""
    if VARIABLE in os.environ:
        vars(pool)["FORK_FROM"] = 1


def servers_of(pid: int) -> list[int]:
    """Return the fork servers of a process."""
    while True:
        lines = command_lines()
        alive = (each for each in children_of(pid) if not has_ended(each))
        own = [each for each in alive if each in lines]
        if all(lines[each] for each in own):  # else one is just executing another program
            return [each for each in own if lines[each].endswith(b"\0fork\0")]


def supervisors_of(pid: int) -> list[int]:
    """Return the supervisors that a process holds, whoever started them."""
    servers = servers_of(pid)
    own = [each for each in children_of(pid) if each not in servers]
    return [*own, *(each for server in servers for each in children_of(server))]
