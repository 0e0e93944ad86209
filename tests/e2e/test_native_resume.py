"""A resumed run goes on in the child's own session, on the real pi."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.pi_under_test import needs_early_sessions
from tests.e2e.served_models import serving
from tests.e2e.test_reused_children import Place
from tests.fakes.child_modes import takes_long_with_pi

from pi_subagents import Pool, RunResult, StopSwitch, Task, delegate
from pi_subagents.core.messages import note_other_model
from pi_subagents.core.offline.script import parse_script
from pi_subagents.core.run import events as ev
from pi_subagents.engines.offline.conversations import EACH_PROMPT
from pi_subagents.engines.offline.server import OfflineModel
from pi_subagents.engines.pi.messages import CALL_WAS_CUT_SHORT
from pi_subagents.service import messages
from pi_subagents.store import messages as store_messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Project

    from pi_subagents.service.delegation import Update
    from pi_subagents.store.run_dir import RunDir

pytestmark = pytest.mark.pi

FIRST = "Look around."


def bash(command: str) -> dict[str, object]:
    return {"toolCalls": [{"name": "bash", "arguments": {"command": command}}]}


@pytest.fixture
def place(project: Project) -> Iterator[Place]:
    script = [bash("echo nightingale"), {"text": "Seen."}, {"echo": True, "repeat": True}]
    with OfflineModel(parse_script(script)) as model:
        yield Place(project, model)


async def first_run(place: Place, **task: Any) -> RunResult:
    (result,) = (await place.delegate(Task("look", FIRST, **task))).results
    assert (result.output, result.resumed) == ("Seen.", "")
    return result


async def go_on(place: Place, before: RunResult, prompt: str, **task: Any) -> RunResult:
    (result,) = (
        await place.delegate(Task("go on", prompt, resume=before.session_id, **task))
    ).results
    return result


def sent(place: Place) -> list[dict[str, Any]]:
    """Return every request of the conversation that the first prompt began."""
    return place.model.requests(f"{EACH_PROMPT} {FIRST}")


def told(request: dict[str, Any]) -> str:
    """Return the beginning of a request, to the end of its messages, as it was sent."""
    text = json.dumps(request)
    messages = json.dumps(request["messages"])
    return text[: text.index(messages) + len(messages) - 1]


@takes_long_with_pi
async def test_a_resumed_request_begins_with_the_former_one_byte_for_byte(
    place: Place, child_mode: str
) -> None:
    del child_mode
    before = await first_run(place)
    after = await go_on(place, before, "And now?")
    third = await go_on(place, after, "And then?")
    assert [(each.output, each.resumed, each.notes) for each in (after, third)] == [
        ("And now?", "native", ()),
        ("And then?", "native", ()),
    ]
    assert {each.session_id for each in (before, after, third)} == {before.session_id}
    requests = sent(place)
    assert len(requests) == 4
    for former, later in itertools.pairwise(requests):
        assert told(later).startswith(told(former))
        assert {**later, "messages": 0} == {**former, "messages": 0}
    roles = [message["role"] for message in requests[-1]["messages"][1:]]
    talk = ["user", "assistant", "tool", "assistant"]
    assert roles == [*talk, "user", "assistant", "user"]
    assert "nightingale" in json.dumps(requests[-1]["messages"])
    assert place.dir_of(after).prompt.read_text() == "And now?"
    assert (after.message_count, after.usage.total_tokens < before.usage.total_tokens) == (2, True)


async def test_the_same_holds_for_runs_with_a_schema_questions_and_permissions(
    project: Project,
) -> None:
    submits = [
        {"toolCalls": [{"name": "submit_answer", "arguments": {"seen": seen}}]} for seen in (1, 2)
    ]
    schema = {"type": "object", "properties": {"seen": {"type": "integer"}}}
    with OfflineModel(parse_script([bash("echo nightingale"), *submits])) as model:
        place = Place(project, model)
        place.profile("careful", questions="ask", permissions="{edit: deny}")
        before = Task("look", FIRST, profile="careful", output_schema=schema)
        (first,) = (await place.delegate(before)).results
        after = replace(before, prompt="And now?", resume=first.session_id)
        (second,) = (await place.delegate(after)).results
        requests = sent(place)
    assert [(each.value, each.resumed) for each in (first, second)] == [
        ({"seen": 1}, ""),
        ({"seen": 2}, "native"),
    ]
    assert len(requests) == 3
    for former, later in itertools.pairwise(requests):
        assert told(later).startswith(told(former))
        assert {**later, "messages": 0} == {**former, "messages": 0}


async def test_two_forks_of_one_run_are_two_branches_and_it_stays_as_it_is(place: Place) -> None:
    before = await first_run(place)
    kept = place.dir_of(before).child_session.read_bytes()
    after = await go_on(place, before, "Not this.")
    forks = [Task(word, word, resume=before.run_id, fork=True) for word in ("left", "right")]
    left, right = (await place.delegate(*forks, concurrency=2)).results
    assert [each.resumed for each in (left, right)] == ["native", "native"]
    assert len({each.session_id for each in (before, left, right)}) == 3
    ends = [
        [message["content"] for message in request["messages"] if message["role"] == "user"]
        for request in sent(place)[-2:]
    ]
    assert sorted(json.dumps(each) for each in ends) == sorted(
        json.dumps([ends[0][0], user]) for user in (ends[0][1], ends[1][1])
    )
    assert "Not this." not in json.dumps(ends)
    assert place.dir_of(before).child_session.read_bytes() == kept
    assert place.dir_of(left).read_meta()["forkedFrom"] == before.run_id
    further = await go_on(place, left, "on the left")
    assert (further.session_id, further.resumed) == (left.session_id, "native")
    assert after.session_id == before.session_id


@takes_long_with_pi
async def test_a_session_whose_directory_is_gone_goes_on_in_another_and_says_so(
    place: Place, child_mode: str
) -> None:
    del child_mode
    gone, here = place.project.path / "gone", place.project.path
    gone.mkdir()
    before = await first_run(place, cwd=str(gone))
    gone.rmdir()
    after = await go_on(place, before, "And here?")
    assert (after.output, after.resumed) == ("And here?", "native")
    assert after.notes == (messages.note_session_moved(str(gone), str(here)),)
    header = place.dir_of(after).child_session.read_text().split("\n")[0]
    assert json.loads(header)["cwd"] == str(here)


async def test_another_model_and_another_profile_are_said_in_the_result(
    place: Place, project: Project
) -> None:
    with serving(project.agent_dir, {"id": "one"}, {"id": "two"}):
        place.profile("first", model="scripted/one")
        place.profile("second", model="scripted/two")
        bare = Task("look", FIRST, model="scripted/one")
        (before,) = (await delegate(bare, cwd=project.path, env=project.env)).results
        after: list[RunResult] = []
        for profile in ("first", "second"):
            again = Task("look", "On.", resume=before.session_id, profile=profile)
            after += (await delegate(again, cwd=project.path, env=project.env)).results
    assert [(each.resumed, each.notes) for each in after] == [
        ("native", (messages.note_other_profile("", "first"),)),
        (
            "native",
            (
                messages.note_other_profile("first", "second"),
                note_other_model("one", "two"),
            ),
        ),
    ]


async def test_a_setting_has_sessions_retold_instead(place: Place) -> None:
    before = await first_run(place)
    settings = place.project.agent_dir / "settings.json"
    settings.write_text(json.dumps({"subagents": {"resume": "replay"}}))
    async with Pool() as pool:
        again = Task("again", "And?", resume=before.session_id)
        (after,) = (await place.delegate(again, pool=pool)).results
        (third,) = (await place.delegate(again, pool=pool)).results
    assert [(each.resumed, each.notes) for each in (after, third)] == [("replay", ())] * 2
    assert place.child_of(third) == place.child_of(after)
    assert place.dir_of(third).prompt.read_text().startswith("Previously:")


# A run that did not end well


class Interrupted:
    """A run whose bash command does not end; what happens to it is up to the test."""

    def __init__(self, project: Project) -> None:
        self.stop = StopSwitch()
        self._at_work = asyncio.Event()
        self.project = project

    def observe(self, update: Update) -> None:
        if isinstance(update.what, ev.ToolStarted):
            self._at_work.set()

    async def run(self, place: Place, prompt: str = FIRST, **more: Any) -> asyncio.Task[Any]:
        options: Any = {"stop": self.stop, "on_update": self.observe, **more}
        work = asyncio.create_task(
            delegate(Task("look", prompt), cwd=self.project.path, env=place.env, **options)
        )
        async with asyncio.timeout(60):
            await self._at_work.wait()
        return work


@pytest.fixture
def endless(project: Project) -> Iterator[Place]:
    script = [bash("echo begun; sleep 600"), {"echo": True, "repeat": True}]
    with OfflineModel(parse_script(script)) as model:
        yield Place(project, model)


@takes_long_with_pi
async def test_a_stopped_run_goes_on_with_what_it_did(endless: Place, child_mode: str) -> None:
    del child_mode
    interrupted = Interrupted(endless.project)
    work = await interrupted.run(endless)
    interrupted.stop.stop()
    (stopped,) = (await work).results
    assert stopped.status == "aborted"
    after = await go_on(endless, stopped, "Try again.")
    assert (after.status, after.output, after.resumed) == ("completed", "Try again.", "native")
    first, last = sent(endless)
    assert told(last).startswith(told(first))
    assert [message["role"] for message in last["messages"]][-4:-1] == ["user", "assistant", "tool"]


@takes_long_with_pi
async def test_a_run_whose_supervisor_was_killed_goes_on_with_what_it_did(
    endless: Place, child_mode: str
) -> None:
    del child_mode
    interrupted = Interrupted(endless.project)
    work = await interrupted.run(endless)
    killed = kill_supervisor(endless)
    (lost,) = (await work).results
    assert (lost.status, lost.run_id) == ("interrupted", killed.run_id)
    after = await go_on(endless, lost, "Try again.")
    assert (after.status, after.output, after.resumed) == ("completed", "Try again.", "native")
    assert CALL_WAS_CUT_SHORT in json.dumps(sent(endless)[-1]["messages"])


def kill_supervisor(place: Place) -> RunDir:
    """Kill the supervisor of the run that is at work."""
    from pi_subagents.service.runs import Runs

    (at_work,) = (each for each in Runs(place.project.path, place.env).store.runs() if each.alive())
    supervisor: Any = at_work.read_meta()["supervisor"]
    os.kill(supervisor["pid"], signal.SIGKILL)
    return at_work


@needs_early_sessions
async def test_what_a_warm_child_knew_survives_its_supervisor(project: Project) -> None:
    script = [bash("echo nightingale"), {"text": "Seen."}, bash("sleep 600"), {"echo": True}]
    with OfflineModel(parse_script(script)) as model:
        place = Place(project, model)
        async with Pool() as pool:
            (before,) = (await place.delegate(Task("look", FIRST), pool=pool)).results
            at_work = asyncio.Event()

            def observe(update: Update) -> None:
                if isinstance(update.what, ev.ToolStarted):
                    at_work.set()

            work = asyncio.create_task(
                delegate(
                    Task("b", "Wait.", resume=before.session_id),
                    cwd=project.path,
                    env=place.env,
                    pool=pool,
                    on_update=observe,
                )
            )
            async with asyncio.timeout(60):
                await at_work.wait()
            assert place.child_of_dir(kill_supervisor(place)) == place.child_of(before)
            (lost,) = (await work).results
        assert (lost.status, lost.resumed) == ("interrupted", "native")
        after = await go_on(place, lost, "Still there?")
        assert (after.output, after.resumed) == ("Still there?", "native")
        said = json.dumps(sent(place)[-1]["messages"])
        assert all(word in said for word in ("nightingale", "Wait.", CALL_WAS_CUT_SHORT))


async def test_a_session_that_a_task_wrote_to_is_not_believed(place: Place) -> None:
    before = await first_run(place)
    kept = place.dir_of(before).child_session
    kept.write_bytes(kept.read_bytes().replace(b"nightingale", b"cuckoo's-egg"))
    after = await go_on(place, before, "And now?")
    assert after.resumed == "replay"
    assert after.notes == (messages.note_retold(store_messages.SESSION_CHANGED),)
    prompt = place.dir_of(after).prompt.read_text()
    assert prompt.endswith("Instructions:\n\nAnd now?")
    assert "cuckoo" not in prompt
