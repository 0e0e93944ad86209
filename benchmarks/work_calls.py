"""
What is worked on in the part *Real work*: calls of tasks, what the models say, and pi's own files.

A task is three model requests of half a second each, with two calls of bash between them.  A main
agent thinks first where it is live, and writes its call at the speed of a model.
"""

from __future__ import annotations

import json
import math
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents.core.value import replace
from pi_subagents.engines.offline.conversations import EACH_PROMPT
from pi_subagents.engines.offline.wire import pieces
from pi_subagents.engines.pi.invocation import QUIET
from pi_subagents.hosts.pi.extension import remember_interpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from measuring import Place

AT_ONCE = 4
REQUEST_S = 0.5
REQUESTS = 3
THINKING_S = 3.0  # before a live call; the main agent is up by then
AGAIN_S = 1.0  # between the calls of one main agent
CHARACTERS_PER_S = 400
FILES = 200  # of a repository
MAIN, CHILDREN = "main", "children"
TOOL = "delegate_to_subagents"


@dataclass(frozen=True, slots=True)
class Call:
    """Prompts to be handed out once: a script is played once for each prompt."""

    side: str
    count: int
    number: int

    @property
    def ideal_ms(self) -> float:
        """Return the time of the model alone: nothing that starts or ends can be quicker."""
        return math.ceil(self.count / AT_ONCE) * REQUESTS * REQUEST_S * 1000

    def prompts(self, what: str = "work") -> list[str]:
        name = f"{what} {self.side} {self.count} {self.number}"
        return [f"Do what is to be done: {name}, task {index}." for index in range(self.count)]

    def main_prompt(self) -> str:
        return f"Please delegate number {self.number} of {self.count} tasks, {self.side}."


def script(at_once: Iterable[Call], live: Iterable[Call]) -> dict[str, object]:
    """Return what the model says: to main agents by their prompts, to everybody else the work."""
    delay = {"delayMs": round(REQUEST_S * 1000)}
    steps = [{**tool_call("bash", command=f"echo step {step}"), **delay} for step in (1, 2)]
    mains = {call.main_prompt(): [_written(call, "work")] for call in at_once}
    for call in live:
        first = {**_at_model_speed(call, "work"), "delayMs": round(THINKING_S * 1000)}
        second = {**_at_model_speed(call, "more work"), "delayMs": round(AGAIN_S * 1000)}
        mains[call.main_prompt()] = [first, second]
    return {
        "conversations": [
            {"match": prompt, "turns": [*turns, {"text": "all done"}]}
            for prompt, turns in mains.items()
        ],
        "default": [*steps, {"text": "done", **delay}],
    }


def _written(call: Call, what: str) -> dict[str, object]:
    tasks = [{"name": f"task-{i}", "prompt": each} for i, each in enumerate(call.prompts(what), 1)]
    return tool_call(TOOL, tasks=tasks)


def _at_model_speed(call: Call, what: str) -> dict[str, object]:
    tasks = [{"name": f"task-{i}", "prompt": each} for i, each in enumerate(call.prompts(what), 1)]
    piece = next(pieces(json.dumps({"tasks": tasks})))
    return {
        **tool_call(TOOL, tasks=tasks),
        "chunkDelayMs": round(len(piece) * 1000 / CHARACTERS_PER_S),
    }


def tool_call(name: str, **arguments: object) -> dict[str, object]:
    return {"toolCalls": [{"name": name, "arguments": arguments}]}


def own_place(
    place: Place, url_of: Callable[[str], str], name: str = "real-work", **settings: object
) -> Place:
    """Return a place whose pi has a model for itself and one for children, in its own files."""
    path = place.path / name
    agent = path / "home" / ".pi" / "agent"
    agent.mkdir(parents=True)
    (path / "project" / ".pi").mkdir(parents=True)
    providers = {
        name: {
            "baseUrl": url_of(EACH_PROMPT),
            "api": "openai-completions",
            "apiKey": "x",
            "models": [{"id": name}],
        }
        for name in (MAIN, CHILDREN)
    }
    (agent / "models.json").write_text(json.dumps({"providers": providers}))
    settings = {
        "defaultProvider": CHILDREN,
        "defaultModel": CHILDREN,
        "subagents": settings,
    }
    (agent / "settings.json").write_text(json.dumps(settings))
    env = {**place.env, **QUIET, "HOME": str(path / "home")}
    remember_interpreter(env)
    return replace(place, path=path, project=path / "project", env=env)


def with_repository(place: Place) -> Place:
    """Make the place's project a repository of some files, so that tasks can have worktrees."""
    for number in range(FILES):
        (place.project / f"file-{number}.txt").write_text(f"file {number}\n" * 20)
    me = ("-c", "user.name=bench", "-c", "user.email=bench@example.invalid")
    for words in (("init", "-q"), ("add", "."), (*me, "commit", "-qm", "begin")):
        subprocess.run(("git", *words), cwd=place.project, env=dict(place.env), check=True)
    return place
