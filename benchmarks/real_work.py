"""
The same work by the same real pi, handed out in every way there is: what does delegation add to it?

A task is three model requests of half a second each, with two calls of bash between them; four are
at work at once.  The ideal is the time of the model alone: nothing that starts, switches or ends
can be quicker.  Bare RPC is pi used again and again with nothing around it (bare_rpc.py): nothing
that uses this pi can be quicker than that.  The reference is the extension of pi that ours is held
against, from npm.  Every way talks to one scripted model in a process of its own, and pi has its
provider from its own files, as a user's pi has.  xargs uses `setsid`, as in against_xargs.py.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Figure, Place, Target, progress, ratios
from scripted_model import scripted_model
from work_calls import AT_ONCE, Call, own_place, script, with_repository
from work_ways import (
    BARE,
    BARE_SECOND,
    HOST,
    LIVE,
    PI,
    REFERENCE,
    REFERENCE_LIVE,
    SECOND,
    SECOND_OF,
    SHELL,
    WORKTREES,
    XARGS,
    Ways,
)

sys.path.append(str(Path(__file__).parents[1]))

from scripts import npm_packages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whole_cost import Peaks

SECTION = "Real work"
ROUNDS = {1: 4, 4: 4, 16: 3}
MEMORY_ROUNDS = 2
IN_MEMORY = (BARE, SHELL, PI, REFERENCE)
# Two calls are in one figure, or one of the two is a warm-up: their CPU says nothing.
NO_CPU = (HOST, BARE_SECOND, *SECOND_OF)
TO_IDEAL = {LIVE: Target(1.10), SECOND: Target(1.05), HOST: Target(1.05)}
HELD_AGAINST = (
    (PI, REFERENCE),
    (LIVE, REFERENCE_LIVE),
    (SECOND, BARE_SECOND),
    (HOST, BARE_SECOND),
)
TO_BARE = Target(1.05)
TO_REFERENCE = {1: Target(1.0), 4: Target(1.0)}
CPU_TO_XARGS = {(16, SHELL): Target(0.36)}
SUPERVISOR_MB = Target(6)
MEMORY_TO_BARE = {(16, SHELL): Target(1.10)}


def measure_few(place: Place) -> list[Figure]:
    """Return the figures of calls of one and of four tasks."""
    return _measured(place, (1, 4)[: place.amount(2, 2, 1)])


def measure_many(place: Place) -> list[Figure]:
    """Return the figures of calls of sixteen tasks, and what they have in memory."""
    return _measured(place, (16,))


def _measured(place: Place, counts: Sequence[int]) -> list[Figure]:
    rounds = {count: place.rounds(ROUNDS[count]) for count in counts}
    with scripted_model(_script(rounds), place.env) as url_of:
        figures = []
        worktrees = own_place(place, url_of, "worktrees", workspace="worktree")
        repository = with_repository(worktrees)
        usual, reference = own_place(place, url_of), None if place.sample else _reference()
        for count in counts:
            kept = min(AT_ONCE, count)
            warm = own_place(place, url_of, f"warm-{count}", warm_children=kept)
            ways = Ways(usual, warm, repository, reference)
            if count == counts[0]:  # everything is read once that is read from disk
                for side in {XARGS, SHELL, REFERENCE}.intersection(ways.sides):
                    ways.run(Call(side, 1, -1))
            figures += _compared(ways, count, rounds[count])
            if count == max(ROUNDS):
                figures += _memory(ways, count, min(rounds[count], MEMORY_ROUNDS))
    return figures


def _reference() -> Path | None:
    try:
        return npm_packages.program("reference")
    except npm_packages.NotInstalledError as error:
        progress(f"{SECTION}: without the reference: {error}")
        return None


def _compared(ways: Ways, count: int, rounds: int) -> list[Figure]:
    """Have the same done in every way, in turn within each round."""
    # What worktrees cost shows with few tasks, and a round of many is long.
    sides = [side for side in ways.sides if side != WORKTREES or count < max(ROUNDS)]
    walls: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}
    for number in range(rounds):
        progress(f"{SECTION}: {_tasks(count)}, round {number + 1} of {rounds}")
        for side in sides if number % 2 else reversed(sides):
            took, used = ways.run(Call(side, count, number))
            for name, wall in took.items():
                walls.setdefault(name, []).append(wall)
            cpu.setdefault(side, []).append(used)
    return [*_wall_figures(walls, count), *_cpu_figures(cpu, count)]


def _wall_figures(walls: Mapping[str, Sequence[float]], count: int) -> list[Figure]:
    section, ideal = _section(count), Call("", count, 0).ideal_ms
    figures = [Figure(section, "ideal, the model alone", "ms", (ideal,))]
    figures += [
        Figure(section, f"wall, {side}", "ms", tuple(walls[side])) for side in _in_order(walls)
    ]
    for side in _in_order(walls):
        to_ideal = ratios(walls[side], [ideal] * len(walls[side]))
        name = f"wall, {side} to ideal"
        figures.append(Figure(section, name, "x", to_ideal, TO_IDEAL.get(side)))
    to_bare = ratios(walls[SHELL], walls[BARE])
    figures.append(Figure(section, f"wall, {SHELL} to {BARE}", "x", to_bare, TO_BARE))
    for ours, theirs in HELD_AGAINST:
        if theirs in walls:
            held = ratios(walls[ours], walls[theirs])
            target = TO_REFERENCE.get(count) if ours == PI else None
            figures.append(Figure(section, f"wall, {ours} to {theirs}", "x", held, target))
    return figures


def _cpu_figures(cpu: Mapping[str, Sequence[float]], count: int) -> list[Figure]:
    section = _section(count)
    sides = [side for side in _in_order(cpu) if side not in NO_CPU]
    figures = [Figure(section, f"CPU, {side}", "ms", tuple(cpu[side])) for side in sides]
    for side in sides[1:]:
        to_xargs, target = ratios(cpu[side], cpu[XARGS]), CPU_TO_XARGS.get((count, side))
        figures.append(Figure(section, f"CPU, {side} to {XARGS}", "x", to_xargs, target))
    if REFERENCE in cpu:
        held, target = ratios(cpu[PI], cpu[REFERENCE]), TO_REFERENCE.get(count)
        figures.append(Figure(section, f"CPU, {PI} to {REFERENCE}", "x", held, target))
    return figures


def _memory(ways: Ways, count: int, rounds: int) -> list[Figure]:
    """Run some ways once more and look at their processes while they run."""
    sides = [side for side in IN_MEMORY if side in ways.sides]
    peaks: dict[str, list[Peaks]] = {side: [] for side in sides}
    for number in range(rounds):
        progress(f"{SECTION}: {_tasks(count)}, memory, round {number + 1} of {rounds}")
        for side in sides:
            peaks[side].append(ways.peaks(_looked_at(side, count, number), side))
    section = _section(count)
    trees = {side: tuple(each.tree_mb for each in peaks[side]) for side in sides}
    figures = [Figure(section, f"memory, {side}", "MB", trees[side]) for side in sides]
    for side in sides[1:]:
        held, target = ratios(trees[side], trees[BARE]), MEMORY_TO_BARE.get((count, side))
        figures.append(Figure(section, f"memory, {side} to {BARE}", "x", held, target))
    private = tuple(each.supervisor_mb for each in peaks[SHELL])
    name = "private memory, largest forked supervisor"
    return [*figures, Figure(section, name, "MB", private, SUPERVISOR_MB)]


def _script(rounds: Mapping[int, int]) -> dict[str, object]:
    every = [(count, number) for count in rounds for number in range(rounds[count])]
    cold = [Call(side, *each) for side in (PI, REFERENCE) for each in every]
    looked_at = [_looked_at(side, *each) for side in (PI, REFERENCE) for each in every]
    live = [Call(side, *each) for side in SECOND_OF for each in every]
    cold.extend(Call(side, 1, -1) for side in (PI, REFERENCE))
    return script([*cold, *looked_at], live)


def _looked_at(side: str, count: int, number: int) -> Call:
    return Call(f"{side}, in memory", count, number)


def _section(count: int) -> str:
    return f"{SECTION}, {_tasks(count)}"


def _tasks(count: int) -> str:
    return f"{count} task{'s' if count > 1 else ''}"


def _in_order(found: Mapping[str, object]) -> list[str]:
    """Return the sides as a reader compares them: ours before the reference's."""
    return sorted(found, key=lambda side: (side.startswith("reference"), [*found].index(side)))
