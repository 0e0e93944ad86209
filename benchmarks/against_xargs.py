"""
The same real pi on the same prompts: through us, and through bare `xargs -P4`.

Both sides talk to one scripted model in a process of its own, so that its work is in neither's
figures; both begin as a fresh process and end with the last answer on disk.  CPU is user and system
time of the whole tree, as the kernel sums it up for whoever waits.

Our children have sessions of their own, and Linux shares the processor out by session (autogroup):
on a busy machine that alone would make us quicker.  So xargs starts its children with `setsid`.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from delegate_tasks import CONCURRENCY, PROMPT
from measuring import (
    Cost,
    Figure,
    Place,
    Target,
    cost_of,
    progress,
    ratios,
    start,
)
from scripted_model import scripted_model
from tree_memory import Peaks, watched

from pi_subagents.core.value import replace
from pi_subagents.engines.offline.provider import URL_VARIABLE
from pi_subagents.engines.pi.command import resolve_pi_command
from pi_subagents.engines.pi.invocation import QUIET
from pi_subagents.engines.pi.offline import pi_arguments

SECTION = "Delegation against xargs"
ROUNDS = {1: 9, 4: 7, 16: 5}
SCRIPT = [{"text": "done", "repeat": True}]
OURS = (sys.executable, str(Path(__file__).with_name("delegate_tasks.py")))
JSON_MODE = ("--mode", "json", "-p", "--no-session", "--no-approve")


@dataclass(frozen=True, slots=True)
class _Side:
    """One way to have N tasks done."""

    argv: tuple[str, ...]
    stdin: Path | None
    stdout: Path


def measure(place: Place) -> list[Figure]:
    """Return wall, CPU and memory of both sides for each number of tasks."""
    pi = resolve_pi_command(place.env, place.project, None).argv
    figures: list[Figure] = []
    with scripted_model(SCRIPT, place.env) as url_of:
        command = (*pi, *pi_arguments())
        env = {
            **place.env,
            **QUIET,
            URL_VARIABLE: url_of("bench"),
            "PI_SUBAGENTS_PI": shlex.join(command),
        }
        placed = replace(place, env=env)
        _round(placed, _sides(placed, command, 1), 1)  # both warm
        for count in (1, 4, 16)[: place.amount(3, 2, 1)]:
            figures += _compare(placed, command, count)
    return figures


def _compare(place: Place, command: tuple[str, ...], count: int) -> list[Figure]:
    sides = _sides(place, command, count)
    rounds = place.rounds(ROUNDS[count])
    name = f"{count} task{'s' if count > 1 else ''}"
    ours, theirs, heard = [], [], []
    for number in range(rounds):
        progress(f"{SECTION}: {name}, round {number + 1} of {rounds}")
        order = ("us", "xargs") if number % 2 else ("xargs", "us")
        costs = _round(place, {side: sides[side] for side in order}, count)
        ours.append(costs["us"])
        theirs.append(costs["xargs"])
        heard.append(json.loads(sides["us"].stdout.read_bytes()))
    wall = ratios([c.wall_ms for c in ours], [c.wall_ms for c in theirs])
    cpu = ratios([c.cpu_ms for c in ours], [c.cpu_ms for c in theirs])
    strict = count == max(ROUNDS)
    own_cpu = tuple(each["cpuS"] * 1000 for each in heard)
    own_peak = tuple(each["peakMb"] for each in heard)
    return [
        Figure(SECTION, f"{name}: wall, xargs", "ms", tuple(c.wall_ms for c in theirs)),
        Figure(SECTION, f"{name}: wall, us", "ms", tuple(c.wall_ms for c in ours)),
        Figure(SECTION, f"{name}: wall, ratio", "x", wall, Target(1.10) if strict else None),
        Figure(SECTION, f"{name}: wall, delegate() alone", "ms", tuple(t["wallMs"] for t in heard)),
        Figure(SECTION, f"{name}: CPU, xargs", "ms", tuple(c.cpu_ms for c in theirs)),
        Figure(SECTION, f"{name}: CPU, us", "ms", tuple(c.cpu_ms for c in ours)),
        Figure(SECTION, f"{name}: CPU, ratio", "x", cpu, Target(1.20) if strict else None),
        Figure(SECTION, f"{name}: CPU, our orchestrator", "ms", own_cpu),
        Figure(SECTION, f"{name}: peak memory, our orchestrator", "MB", own_peak),
        *(_memory(place, sides, name) if strict or place.quick else ()),
    ]


def _memory(place: Place, sides: dict[str, _Side], name: str) -> list[Figure]:
    """Run each side once more and look at its processes while it runs."""
    progress(f"{SECTION}: {name}, memory")
    theirs, ours = _watched(place, sides["xargs"]), _watched(place, sides["us"])
    return [
        Figure(SECTION, f"{name}: peak memory, largest supervisor", "MB", (ours.supervisor_mb,)),
        Figure(SECTION, f"{name}: peak memory, whole tree, xargs", "MB", (theirs.tree_mb,)),
        Figure(SECTION, f"{name}: peak memory, whole tree, us", "MB", (ours.tree_mb,)),
    ]


def _sides(place: Place, command: tuple[str, ...], count: int) -> dict[str, _Side]:
    prompts = place.path / f"prompts-{count}"
    prompts.write_bytes(b"".join(PROMPT.format(i).encode() + b"\0" for i in range(count)))
    session = ("setsid",) if shutil.which("setsid") else ()
    xargs = ("xargs", "-0", "-n1", f"-P{CONCURRENCY}", *session, *command, *JSON_MODE)
    return {
        "xargs": _Side(xargs, prompts, place.path / "xargs.out"),
        "us": _Side((*OURS, str(count)), None, place.path / "ours.out"),
    }


def _round(place: Place, sides: dict[str, _Side], count: int) -> dict[str, Cost]:
    costs = {}
    for name, side in sides.items():
        with (
            side.stdout.open("wb") as out,
            (side.stdin or Path("/dev/null")).open("rb") as prompts,
        ):
            costs[name] = cost_of(side.argv, place, stdin=prompts, stdout=out)
        if name == "xargs":
            answered = side.stdout.read_bytes().count(b'"type":"agent_settled"')
            if answered != count:
                raise RuntimeError(f"xargs: {answered} of {count} answered")
    return costs


def _watched(place: Place, side: _Side) -> Peaks:
    with side.stdout.open("wb") as out, (side.stdin or Path("/dev/null")).open("rb") as prompts:
        return watched(start(side.argv, place, stdin=prompts, stdout=out))
