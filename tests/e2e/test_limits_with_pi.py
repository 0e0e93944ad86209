"""Limits of a provider, met by the real pi: they cost time, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import EVERY_CHILD_MODE, takes_long_with_pi
from tests.fakes.limiting_provider import LimitingProvider

from pi_subagents import Task, delegate
from pi_subagents.core.run import events as ev
from pi_subagents.store.run_store import open_store
from pi_subagents.store.tails import journal_entries
from pi_subagents.system.identity import identity_from_json

if TYPE_CHECKING:
    from tests.e2e.conftest import Project

    from pi_subagents import Delegation
    from pi_subagents.store.run_dir import RunDir

pytestmark = pytest.mark.pi
# From the answer of a provider until every process of this machine can know of it.
HEARD_MS = 500
TASKS = 16 if EVERY_CHILD_MODE else 8


async def work(project: Project, provider: LimitingProvider, *tasks: Task) -> Delegation:
    (project.agent_dir / "models.json").write_text(json.dumps(provider.models()))
    profiles = project.agent_dir / "agent-profiles"
    profiles.mkdir(exist_ok=True)
    (profiles / "limited.md").write_text(
        "---\nname: limited\nprovider: limiting\nmodel: limiting\n---\n"
    )
    return await delegate(
        tasks, cwd=project.path, env=project.env, profile="limited", concurrency=len(tasks)
    )


def runs_of(project: Project) -> list[RunDir]:
    return open_store(project.path, project.env).runs()


def events_of(run: RunDir) -> list[tuple[int, ev.Event]]:
    return [(entry.time_ms, entry.event) for entry in journal_entries(run)]


@pytest.mark.slow
async def test_many_tasks_into_a_provider_that_takes_2_at_a_time_all_complete(
    project: Project,
) -> None:
    with LimitingProvider(lambda _, busy: busy >= 2, 1, takes_s=0.3) as provider:
        tasks = [Task(f"task {number}", f"Say {number}.") for number in range(TASKS)]
        done = await work(project, provider, *tasks)
    assert [(r.status, r.output) for r in done.results] == [("completed", "The answer.")] * TASKS
    assert provider.most_at_once == 2
    assert provider.refused > 0
    assert {r.usage.total_tokens for r in done.results} == {110}
    journals = [events_of(run) for run in runs_of(project)]
    retries = sum(isinstance(e, ev.Retrying) for journal in journals for _, e in journal)
    noted = [note for r in done.results for note in r.notes if note.startswith("Asked its model")]
    assert retries >= len(noted) > 0, "retries of children at work are counted and shown"
    limits = [(t, e.until_ms) for j in journals for t, e in j if isinstance(e, ev.Limited)]
    starts = [t for j in journals for t, e in j if e == ev.StateChanged("running")]
    assert len(starts) > TASKS, "some children gave up, and others went on"
    into_a_limit = [
        (start, known, until)
        for start in starts
        for known, until in limits
        if known + HEARD_MS < start < until
    ]
    assert into_a_limit == []


@takes_long_with_pi
@pytest.mark.usefixtures("child_mode")
async def test_a_run_goes_on_in_the_same_session_where_its_child_had_to_give_up(
    project: Project,
) -> None:
    with LimitingProvider(lambda n, _: 2 <= n <= 5, 1, calls_first=True) as provider:
        (result,) = (await work(project, provider, Task("a", "Look around."))).results
    assert (result.status, result.output) == ("completed", "The answer.")
    assert result.usage.total_tokens == 220
    said = [str(message["content"]) for message in provider.asked[-1]]
    assert sum("Look around." in each for each in said) == 1
    assert "Go on where you were." in said[-1]
    assert any(note.startswith("Waited 1 s for limiting") for note in result.notes)


async def test_a_run_whose_supervisor_was_killed_while_it_waited_is_resumed_with_all_it_had(
    project: Project,
) -> None:
    with LimitingProvider(lambda n, _: 2 <= n <= 5, 8, calls_first=True) as provider:
        victim = asyncio.create_task(work(project, provider, Task("a", "Look around.")))
        async with asyncio.timeout(60):
            while not (runs := runs_of(project)) or not runs[0].desk.waits():
                await asyncio.sleep(0.02)
        supervisor = identity_from_json(runs[0].desk.read_supervisor())
        assert supervisor is not None
        os.kill(supervisor.pid, signal.SIGKILL)
        (lost,) = (await victim).results
        assert lost.status == "interrupted"
        again = Task("a", "Go on.", resume=lost.session_id)
        (result,) = (await work(project, provider, again)).results
    assert (result.status, result.output, result.resumed) == ("completed", "The answer.", "native")
    said = [str(message["content"]) for message in provider.asked[-1]]
    assert sum("Look around." in each for each in said) == 1
