"""Inside a sub-agent nobody acts on runs, whichever way he asks; looking is allowed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.command import ENTRY
from tests.fakes.child_modes import in_rpc_mode
from tests.fakes.driver import PATIENCE_S

from pi_subagents import answer, call_tool, delegate, errors, start, steer
from pi_subagents.core.preset.request import PresetTask
from pi_subagents.faces.cli import main
from pi_subagents.service.background import BackgroundRuns
from pi_subagents.service.background import start as start_preset
from pi_subagents.service.fleet_actions import ActionReport, FleetActions
from pi_subagents.service.runs import Runs
from pi_subagents.service.tools.registry import all_tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from tests.fakes.workplace import Workplace

pytestmark = in_rpc_mode

REFUSAL = str(errors.ActsInsideSubagent())
NESTED = str(errors.NestedDelegation())
SOURCES = str(Path(errors.__file__).parents[2])


class Inside:
    """A run at work, and the place as one of its own processes sees it."""

    def __init__(self, place: Workplace, run_id: str) -> None:
        self.cwd, self.run_id = place.project, run_id
        self.env = {**place.env, "PI_SUBAGENTS_CHILD": "1", "PYTHONPATH": SOURCES}

    @property
    def runs(self) -> Runs:
        return Runs(self.cwd, self.env)

    @property
    def place(self) -> dict[str, Any]:
        return {"cwd": self.cwd, "env": self.env}


@pytest.fixture
async def inside(place: Workplace) -> AsyncIterator[Inside]:
    work = place.delegate_by_api("look")
    child = await place.child("look")
    yield Inside(place, child.run_id)
    assert child.alive  # whatever was tried
    await child.answer_and_exit("Done.")
    assert (await work.result()).status == "completed"


VERBS = [
    ("stop", "RUN"),
    ("stop", "RUN", "--force"),
    ("steer", "RUN", "Stop that."),
    ("answer", "RUN", "Yes"),
    ("background", "stop", "RUN"),
    ("prune", "--yes"),
    ("call", "steer_subagent", '{"sessionId": "RUN", "message": "x"}'),
    ("call", "answer_subagent", '{"sessionId": "RUN", "answer": "x"}'),
    ("call", "background_agent_stop", '{"runId": "RUN"}'),
    ("call", "background_agent_stop", "{}"),
    ("call", "apply_subagent_changes", '{"runIds": ["RUN"]}'),
    ("apply", "RUN"),
    ("discard", "RUN"),
    ("resume", "RUN", "x"),
    ("resume", "RUN", "x", "--fork"),
    ("run", "--resume", "RUN", "x"),
    ("background", "start", "scout", "x"),
    ("demo",),
    ("worker",),
    ("cluster", "status"),
    ("cluster", "try"),
    ("call", "delegate_to_subagents", '{"tasks": [{"name": "a", "prompt": "x"}]}'),
    ("call", "subagent", '{"preset": "scout", "task": "x"}'),
    ("call", "background_agent", '{"preset": "scout", "task": "x"}'),
]
# Of these no run notices anything; `watch` can only watch.
LOOKING = {
    "runs", "show", "usage", "watch", "sessions", "output", "session", "diff", "models", "tools", "engines", "report",
    "profile", "preset", "mcp", "bridge", "doctor", "setup", "pi", "install", "uninstall",
    "offline-model", "path", "completion",
}  # fmt: skip


def test_every_verb_and_every_tool_that_acts_on_runs_is_tried_here() -> None:
    assert {words[0] for words in VERBS} | LOOKING == set(main.VERBS)
    acting = {tool.name for tool in all_tools() if tool.effect != "reads"}
    assert {words[1] for words in VERBS if words[0] == "call"} == acting


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
async def test_the_command_refuses(inside: Inside, words: tuple[str, ...]) -> None:
    given = [word.replace("RUN", inside.run_id) for word in words]
    ran = await asyncio.create_subprocess_exec(
        *ENTRY, *given, cwd=inside.cwd, env=inside.env,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(PATIENCE_S):
        out, said = await ran.communicate()
    assert ran.returncode == 2
    told = (out + said).decode()
    assert REFUSAL in told or NESTED in told


ASKED: dict[str, Callable[[Inside], Awaitable[object]]] = {
    "steer": lambda i: steer(i.run_id, "x", **i.place),
    "answer": lambda i: answer(i.run_id, "x", **i.place),
    "stop": lambda i: asyncio.to_thread(i.runs.stop, i.runs.find(i.run_id), force=False),
    "remove": lambda i: asyncio.to_thread(i.runs.remove, []),
    "stop in the background": lambda i: BackgroundRuns(i.runs).stop(i.run_id),
}


@pytest.mark.parametrize("way", ASKED)
async def test_python_refuses(inside: Inside, way: str) -> None:
    with pytest.raises(errors.ActsInsideSubagent):
        await ASKED[way](inside)


async def test_python_delegates_nothing_either(inside: Inside) -> None:
    with pytest.raises(errors.NestedDelegation):
        await delegate("look", **inside.place)
    with pytest.raises(errors.NestedDelegation):
        await start("look", **inside.place)
    with pytest.raises(errors.NestedDelegation):
        start_preset(PresetTask("scout", "look"), inside.place)  # type: ignore[arg-type]  # options


async def test_who_watches_can_only_watch(inside: Inside) -> None:
    actions = FleetActions(inside.cwd, inside.env, lambda _: None)
    refused = ActionReport(REFUSAL, bad=True)
    assert await asyncio.to_thread(actions.stop, inside.run_id) == refused
    assert await asyncio.to_thread(actions.steer, inside.run_id, "x") == refused
    assert await asyncio.to_thread(actions.answer, inside.run_id, "x") == refused
    resumed = await asyncio.to_thread(actions.resume, inside.run_id, "x")
    assert (resumed.bad, REFUSAL in resumed.text) == (True, True)


async def test_looking_is_allowed(inside: Inside) -> None:
    read = await call_tool("get_subagent_output", {"sessionId": inside.run_id}, **inside.place)
    assert not read["isError"]
    assert (await answer(inside.run_id, **inside.place)).status == "refused"  # it asks nothing
