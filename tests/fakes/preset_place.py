"""
Presets for a workplace, and the tools that use them, called as a host calls them.

The fake pi has the models `fake/fake-1` and `fake/fake-2`; the preset `scout` names the first.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.fakes.driver import PATIENCE_S
from tests.fakes.profile_home import write_preset

from pi_subagents.api import call_tool
from pi_subagents.config.preset_files import invalidate_presets_cache
from pi_subagents.service.background import BackgroundRuns
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.service.host_log import LogEntry, Registry
    from pi_subagents.store.run_dir import RunDir

MODEL = "fake/fake-1"
OTHER_MODEL = "fake/fake-2"
PROMPT = "You are a scout."


POLL_S = 0.1


async def watch_ends(known: BackgroundRuns, on_end: Callable[[RunRecord], None]) -> None:
    """Report every end that nobody has reported, until cancelled."""
    reported: set[str] = set()
    while True:
        known.report_ends(on_end, reported)
        await asyncio.sleep(POLL_S)


async def watch_log(
    log: Registry, append: Callable[[LogEntry], None], on_end: Callable[[RunRecord], None]
) -> None:
    """Log and report every end, as the bridge does for a host, until cancelled."""
    reported: set[str] = set()
    while True:
        log.look(append, on_end, reported)
        await asyncio.sleep(POLL_S)


@dataclass
class PresetPlace:
    """A workplace whose user has presets."""

    work: Workplace

    @property
    def presets(self) -> Path:
        return self.work.home / ".pi/agent/subagents"

    @property
    def runs(self) -> Runs:
        return Runs(self.work.project, self.work.env)

    @property
    def known(self) -> BackgroundRuns:
        return BackgroundRuns(self.runs)

    def preset(self, name: str, *lines: str, body: str = PROMPT) -> None:
        self.presets.mkdir(exist_ok=True)
        write_preset(self.presets, name, *lines, body=body)
        invalidate_presets_cache()

    def settings(self, text: str) -> None:
        (self.work.home / ".pi/agent/settings.json").write_text(text)

    async def call(self, tool: str, **parameters: Any) -> dict[str, Any]:
        """Return the tool's whole value."""
        place = self.work
        return await call_tool(tool, parameters, cwd=place.project, env=place.env)

    async def refusal(self, tool: str, **parameters: Any) -> str:
        """Return why the call was refused."""
        answer = await self.call(tool, **parameters)
        assert answer["isError"], answer
        return text_of(answer)

    async def start(self, task: str, **more: Any) -> dict[str, Any]:
        """Start a background run, and return its details."""
        answer = await self.call("background_agent", preset="scout", task=task, **more)
        assert not answer["isError"], answer
        details: dict[str, Any] = answer["details"]
        return details

    async def started(self, task: str) -> tuple[str, FakeProcess]:
        """Start a background run; return its id, and its child when that is there."""
        details = await self.start(task)
        return details["runId"], await self.work.child(task)

    async def answered(self, task: str) -> str:
        """Return the id of a run that has come to its end."""
        run_id, child = await self.started(task)
        await child.answer_and_exit(f"answer to {task}")
        await self.ended(run_id)
        return run_id

    async def status(self, **parameters: Any) -> dict[str, Any]:
        """Return the details of `background_agent_status`."""
        answer = await self.call("background_agent_status", **parameters)
        assert not answer["isError"], answer
        details: dict[str, Any] = answer["details"]
        return details

    def run_dir(self, run_id: str) -> RunDir:
        return self.work.store.run_dir(run_id)

    def session(self, run_id: str) -> str:
        return str(self.run_dir(run_id).read_meta()["sessionId"])

    async def ended(self, run_id: str) -> None:
        """Return when nobody answers for the run any more."""
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.to_thread(self.run_dir(run_id).desk.wait_for_end, PATIENCE_S)

    async def supervisor(self, run_id: str, child: FakeProcess) -> int:
        """Return the pid of a run's supervisor, which is at work."""
        await child.write(b"\n", until_read=True)
        supervisor = self.run_dir(run_id).read_meta()["supervisor"]
        assert isinstance(supervisor, dict)
        pid = supervisor["pid"]
        assert isinstance(pid, int)
        return pid

    async def kill_supervisor(self, run_id: str, child: FakeProcess, number: int) -> None:
        os.kill(await self.supervisor(run_id, child), number)


def text_of(answer: dict[str, Any]) -> str:
    """Return the first text of an answer; what sub-agents answered stands behind it."""
    return texts_of(answer)[0]


def texts_of(answer: dict[str, Any]) -> list[str]:
    assert {content["type"] for content in answer["content"]} == {"text"}
    return [str(content["text"]) for content in answer["content"]]


def counts(running: int = 0, completed: int = 0, failed: int = 0, aborted: int = 0) -> Any:
    """Return what `details.counts` should be."""
    total = running + completed + failed + aborted
    return {
        "running": running,
        "completed": completed,
        "failed": failed,
        "aborted": aborted,
        "total": total,
    }
