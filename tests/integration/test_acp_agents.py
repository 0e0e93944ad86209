"""
Agents that speak ACP, run by real supervisors: they answer, fail, ask, hang and go away.

The agent is a fake one that does what its prompt says, held to the protocol's own models in
`tests/unit/engines/acp/test_official_models.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.bridge_host import open_bridge
from tests.fakes.driver import PATIENCE_S
from tests.fakes.processes import has_ended
from tests.fakes.workplace import comparable

from pi_subagents import Task
from pi_subagents.core.preset.request import StatusRequest
from pi_subagents.core.run import events as ev
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.task.request import checked_request
from pi_subagents.core.usage import Usage
from pi_subagents.engines.acp import messages
from pi_subagents.service.background import BackgroundRuns, start_request
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from tests.fakes.workplace import Delegating, Workplace

AGENT = Path(__file__).parents[1] / "fakes" / "acp_agent.py"
COMMAND = [sys.executable, "-I", "-S", str(AGENT)]
USED = Usage(input=5, output=7, total_tokens=12)


def steps(*given: list[Any]) -> str:
    return json.dumps(given)


def delegate(
    place: Workplace, *tasks: Any, fault: str = "", like: str = "", **options: Any
) -> Delegating:
    engine = {"command": COMMAND, "env": {"FAKE_ACP": fault or "none"}, "like": like}
    place.settings(engines={"fake": engine}, extend_timeout_debounce=0)
    named = [Task(f"t{n}", each) if isinstance(each, str) else each for n, each in enumerate(tasks)]
    return place.delegate_by_api(*named, **{"profile": None, "engine": "acp:fake", **options})


async def test_an_agent_answers_with_what_it_said_after_its_last_call(place: Workplace) -> None:
    task = steps(
        ["say", "I look first."],
        ["call", "ls", {"kind": "execute", "rawInput": {"command": "ls"}}, "completed"],
        ["say", "42"],
    )
    run = delegate(place, task)
    result = await run.result()
    assert (result.status, result.output, result.usage) == ("completed", "42", USED)
    assert (result.model, result.provider, result.tool_call_count) == ("small", "fake", 1)
    await run.sees(ev.ToolStarted(ev.ToolCall("ls", "bash", {"command": "ls"})))


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ([["end", "end_turn"]], messages.ENDED_WITHOUT_ANSWER),
        ([["end", "refusal"]], messages.REFUSED_BY_MODEL),
        ([["error", -32603, "Internal error", {"details": "400 bad"}]], "400 bad"),
        ([["say", "x"], ["exit", 7]], "exited with code 7"),
        ([["raw", "\x00\xff\n" * 100], ["end", "nonsense"]], messages.UNKNOWN_ANSWER),
    ],
)  # fmt: skip
async def test_what_is_no_answer_fails_with_the_reason(
    place: Workplace, task: list[list[Any]], words: str
) -> None:
    result = await delegate(place, steps(*task)).result()
    assert (result.status, words in result.error_message) == ("failed", True), result


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("protocol", messages.other_protocol(2)),
        ("login", "the agent is not logged in"),
        ("die", "cannot begin: no such thing"),
    ],
)  # fmt: skip
async def test_an_agent_that_cannot_begin_says_why(
    place: Workplace, fault: str, words: str
) -> None:
    result = await delegate(place, steps(["say", "42"]), fault=fault).result()
    assert (result.status, words in result.error_message) == ("failed", True), result


async def test_a_way_to_log_in_that_needs_a_variable_is_taken_where_it_is_set(
    place: Workplace,
) -> None:
    place.secrets["FAKE_KEY"] = "k"
    result = await delegate(place, steps(["say", "42"]), fault="login").result()
    assert (result.status, result.output) == ("completed", "42")


async def test_noise_before_and_between_records_is_text_and_changes_nothing(
    place: Workplace,
) -> None:
    task = steps(["raw", "Segmentation fault\n{}\n"], ["flood", 20, 70_000], ["say", "end"])
    result = await delegate(place, task, fault="noise").result()
    assert (result.status, len(result.output)) == ("completed", 1_400_003)


async def test_a_stop_is_said_to_the_agent_before_anything_is_killed(place: Workplace) -> None:
    task = steps(["say", "working"], ["update", "plan", {"entries": []}], ["until cancelled"])
    run = delegate(place, task)
    await run.sees(ev.ToolStarted)
    run.stop()
    result = await run.result()
    assert (result.status, result.output) == ("aborted", "working")
    await run.sees(ev.Settled(aborted=True))


async def test_nothing_is_left_of_an_agent_that_ignores_everything(place: Workplace) -> None:
    marker = place.project / "pid"
    script = f"trap '' TERM; echo $$ > {marker}; sleep 3600"
    run = delegate(place, steps(["shell", script], ["call", "x", {}, "in_progress"], ["hang"]))
    await run.sees(ev.ToolStarted)
    run.force()
    result = await run.result()
    assert result.status == "aborted"
    if marker.exists() and marker.read_text().strip():
        assert has_ended(int(marker.read_text()))


async def test_a_session_is_opened_again_by_another_process(place: Workplace) -> None:
    first = await delegate(place, steps(["say", "one"])).result()
    again = Task("again", steps(["say", "two"]), resume=first.session_id)
    second = await delegate(place, again).result()
    assert (second.status, second.output) == ("completed", "two")
    assert comparable(second).notes == ()
    (kept,) = (place.home / ".fake-acp").glob("s-*")  # the same one
    assert kept.read_text() == "asked before\n" * 2


async def test_a_call_is_allowed_where_no_profile_says_otherwise(place: Workplace) -> None:
    run = delegate(place, steps(["allowed", "rm", "execute"]))
    assert (await run.result()).output == "[id-0]"


async def test_two_agents_work_at_once(place: Workplace) -> None:
    tasks = [steps(["say", str(n)]) for n in range(3)]
    results = await delegate(place, *tasks).results()
    assert [each.output for each in results] == ["0", "1", "2"]


async def test_first_starts_in_a_home_are_not_made_at_once(place: Workplace) -> None:
    """Codex and opencode make databases there, which only one of them can."""
    tasks = [steps(["say", str(n), {"messageId": "m"}]) for n in range(3)]
    results = await delegate(place, *tasks, fault="database", like="codex").results()
    assert [(each.status, each.output) for each in results] == [
        ("completed", str(n)) for n in range(3)
    ]


# The faces


async def test_a_host_delegates_to_an_agent_beside_a_pi(place: Workplace) -> None:
    """Through the bridge of pi's extension; what only that pi brings along is for its own kind."""
    agent = {"command": COMMAND, "env": {"FAKE_ACP": "none"}}
    place.settings(engines={"fake": agent})
    given = [
        {"name": "one", "prompt": steps(["say", "from the agent"]), "engine": "acp:fake"},
        {"name": "two", "prompt": "two"},
    ]
    async with open_bridge(place.project, place.env) as host:
        await host.open()
        number = host.begin("c1", "delegate_to_subagents", {"tasks": given})
        await (await place.child("two")).answer_and_exit("from a pi")
        result = (await host.answer(number))["result"]
        assert await host.bye() == 0
    outputs = [each["output"] for each in result["details"]["results"]]
    assert (outputs, result["isError"]) == (["from the agent", "from a pi"], False)
    shown = [each.get("engine") for each in result["details"]["windows"]]
    assert shown == ["acp:fake", None]


async def test_a_background_run_and_the_one_that_resumes_it_have_the_same_agent(
    place: Workplace,
) -> None:
    place.settings(engines={"fake": {"command": COMMAND, "env": {"FAKE_ACP": "none"}}})
    task = Task("bg", steps(["say", "first"]), engine="acp:fake", timeout_s=PATIENCE_S)
    (run,) = await start_request(checked_request([task]), {"cwd": place.project, "env": place.env})
    known = BackgroundRuns(Runs(place.project, place.env))
    await known.wait(StatusRequest(run.run_id, wait_s=PATIENCE_S), StopSwitch())
    ended = known.find(run.run_id)
    assert (ended.status, ended.output, ended.agent) == ("completed", "first", "acp:fake")
    again = Task("on", steps(["say", "second"]), resume=run.session_id)
    result = await place.delegate_by_api(again, profile=None).result()
    assert (result.output, result.resumed, result.notes) == ("second", "native", ())
