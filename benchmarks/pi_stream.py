"""
What pi's own stream carries of sub-agents at work: bytes, for a client in JSON or RPC mode.

The real pi in JSON mode delegates four tasks in one call; each child takes so many steps (some
words, a call of bash, its result) as quickly as it can.  With every update pi repeats the arguments
of the call, so the same is measured with long prompts.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from main_agent import JSON_MODE
from measuring import Figure, Place, progress
from scripted_model import scripted_model
from work_calls import MAIN, own_place, tool_call

from pi_subagents.engines.pi.command import resolve_pi_command
from pi_subagents.hosts.pi.extension import extension_dir

if TYPE_CHECKING:
    from collections.abc import Iterable

SECTION = "Stream of pi while sub-agents work"
TASKS = 4
ROUNDS = 3
STEPS = (10, 40)
PROMPT_BYTES = (100, 10_000)
UPDATE = b'{"type":"tool_execution_update"'


@dataclass(frozen=True, slots=True)
class _Load:
    """How much the children do, and how much they are told."""

    steps: int
    prompt_bytes: int
    number: int

    @property
    def name(self) -> str:
        return f"{TASKS} x {self.steps} steps, prompts of {self.prompt_bytes / 1000:g} kB"

    def main_prompt(self) -> str:
        return f"Delegate load {self.steps}/{self.prompt_bytes}/{self.number}."

    def work(self) -> str:
        return f"Work {self.steps}/{self.prompt_bytes}/{self.number}, task"

    def prompts(self) -> list[str]:
        return [f"{self.work()} {index}. ".ljust(self.prompt_bytes, "x") for index in range(TASKS)]


def measure(place: Place) -> list[Figure]:
    """Return how many updates there are, and what they and the whole stream take."""
    rounds = place.rounds(ROUNDS)
    loads = [(steps, size) for steps in STEPS for size in PROMPT_BYTES][: 1 if place.sample else 4]
    figures = []
    every = [_Load(*load, number) for load in loads for number in range(rounds)]
    with scripted_model(_script(every), place.env) as url_of:
        own = own_place(place, url_of)
        for load in loads:
            counts, updates, streams = [], [], []
            for number in range(rounds):
                progress(f"{SECTION}: {_Load(*load, number).name}, round {number + 1} of {rounds}")
                lines = _stream(own, _Load(*load, number))
                heard = [len(line) for line in lines if line.startswith(UPDATE)]
                counts.append(float(len(heard)))
                updates.append(sum(heard) / 1000)
                streams.append(sum(map(len, lines)) / 1000)
            name = _Load(*load, 0).name
            figures += [
                Figure(SECTION, f"{name}: updates", "", tuple(counts)),
                Figure(SECTION, f"{name}: their bytes", "kB", tuple(updates)),
                Figure(SECTION, f"{name}: the whole stream", "kB", tuple(streams)),
            ]
    return figures


def _stream(place: Place, load: _Load) -> list[bytes]:
    pi = resolve_pi_command(place.env, place.project, None).argv
    main = ("--provider", MAIN, "--model", MAIN, "-e", str(extension_dir()))
    done = subprocess.run(
        [*pi, *main, *JSON_MODE, load.main_prompt()],
        cwd=place.project,
        env=dict(place.env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    if done.stdout.count(b": completed (session: ") == 0:
        raise RuntimeError(f"nothing was completed: {done.stdout[-2000:]!r}")
    return done.stdout.splitlines(keepends=True)


def _script(loads: Iterable[_Load]) -> dict[str, object]:
    """Return what the main agent's model says, and the children's, each told by its prompt."""
    conversations: list[object] = []
    for load in loads:
        tasks = [{"name": f"task-{i}", "prompt": text} for i, text in enumerate(load.prompts(), 1)]
        delegating = tool_call("delegate_to_subagents", tasks=tasks)
        turns = [delegating, {"text": "all done"}]
        steps = [
            {"text": f"Now step {step}.", **tool_call("bash", command=f"echo this is step {step}")}
            for step in range(load.steps)
        ]
        conversations += [
            {"match": load.main_prompt(), "turns": turns},
            {"match": load.work(), "turns": [*steps, {"text": "done"}]},
        ]
    return {"conversations": conversations, "default": [{"text": "unexpected"}]}
