"""The tool `subagent`: one task with a preset, or several at once, each with its own."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.child_modes import in_both_modes
from tests.fakes.driver import PATIENCE_S
from tests.fakes.preset_place import MODEL, OTHER_MODEL, PROMPT, PresetPlace, text_of, texts_of

from pi_subagents import errors
from pi_subagents.api import call_tool
from pi_subagents.core import messages as core_messages
from pi_subagents.core.session.next_calls import go_on
from pi_subagents.core.settings import ALL_TOOLS
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.usage import usage_to_json
from pi_subagents.engines.pi import messages as pi_messages
from pi_subagents.service import messages as service_messages
from pi_subagents.view import messages as view_messages
from pi_subagents.view.inline_answers import facts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.fakes.workplace import Workplace

SCOUT: dict[str, Any] = {"preset": "scout"}


@pytest.fixture
def here(place: Workplace) -> PresetPlace:
    """A user with presets: one with a model, one without."""
    made = PresetPlace(place)
    made.preset("scout", f"model: {MODEL}", "tools: read,grep")
    made.preset("plain", body="")
    return made


class Calling:
    """Calls under way; at the end of a test none may be left."""

    def __init__(self, here: PresetPlace) -> None:
        self._here = here
        self.stop = StopSwitch()
        self._work: list[asyncio.Task[dict[str, Any]]] = []

    def begin(self, **parameters: Any) -> asyncio.Task[dict[str, Any]]:
        place = self._here.work
        work = call_tool("subagent", parameters, cwd=place.project, env=place.env, stop=self.stop)
        self._work.append(asyncio.create_task(work))
        return self._work[-1]

    async def leave(self) -> None:
        self.stop.force()
        await asyncio.gather(*self._work, return_exceptions=True)


@pytest.fixture
async def calling(here: PresetPlace) -> AsyncIterator[Calling]:
    made = Calling(here)
    yield made
    await made.leave()


async def answer_of(work: asyncio.Task[dict[str, Any]]) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S):
        answer = await asyncio.shield(work)
    assert not answer["isError"], answer
    return answer


# One task


@in_both_modes
async def test_one_task_is_answered_by_its_child(here: PresetPlace, calling: Calling) -> None:
    work = calling.begin(preset="scout", task="count the files")
    child = await here.work.child("count the files")
    options = " ".join(child.arguments)
    run = here.run_dir(child.run_id)
    for expected in (
        f"--model {MODEL}",
        "--tools read,grep",
        f"--append-system-prompt {run.desk.path}/system-prompt.md",
        "--no-approve",
    ):
        assert expected in options
    assert child.session == str(run.desk.child_session)
    assert run.system_prompt.read_text() == PROMPT
    assert run.read_meta()["timeoutS"] is None
    await child.answer_and_exit("12 files")
    answer = await answer_of(work)
    result = run.read_result()
    assert result is not None
    line, answers = texts_of(answer)
    assert line == f"scout: completed (session: {result.session_id})"
    used = facts(result.model_used, result.usage)
    assert answers.split("\n")[3:] == ["12 files"]
    assert answers.split("\n")[2].endswith(f" 1. scout: completed · {used}")
    assert answer["details"] == {
        "mode": "single",
        "inlineAnswers": {"each": 2000, "call": 12_000},
        "results": [
            {
                "preset": "scout",
                "task": "count the files",
                "cwd": str(here.work.project),
                "requestedModel": MODEL,
                "resolvedModel": MODEL,
                "runId": child.run_id,
                "sessionId": result.session_id,
                "status": "completed",
                "output": "12 files",
                "errorMessage": None,
                "nextCall": None,
                "exitCode": 0,
                "stopReason": "stop",
                "startedAt": result.started_at_ms,
                "finishedAt": result.finished_at_ms,
                "durationMs": result.duration_ms,
                "model": result.model_used,
                "usage": usage_to_json(result.usage),
                "notes": [],
            }
        ],
    }


async def test_a_tool_that_nobody_knows_is_noted(here: PresetPlace, calling: Calling) -> None:
    here.preset("odd", f"model: {MODEL}", "tools: read, gerp")
    work = calling.begin(preset="odd", task="look")
    await (await here.work.child("look")).answer_and_exit("seen")
    (result,) = (await answer_of(work))["details"]["results"]
    assert result["notes"] == [pi_messages.note_unknown_tools("preset", ("gerp",))]


async def test_the_calls_model_counts_and_makes_up_for_a_presets(
    here: PresetPlace, calling: Calling
) -> None:
    for preset in ("scout", "plain"):
        work = calling.begin(preset=preset, task=f"ask {preset}", model="FAKE-2")
        child = await here.work.child(f"ask {preset}")
        assert f"--model {OTHER_MODEL}" in " ".join(child.arguments)
        await child.answer_and_exit("done")
        (result,) = (await answer_of(work))["details"]["results"]
        assert (result["requestedModel"], result["resolvedModel"]) == ("FAKE-2", OTHER_MODEL)


async def test_a_preset_without_prompt_or_tools_leaves_pi_as_it_is(
    here: PresetPlace, calling: Calling
) -> None:
    work = calling.begin(preset="plain", task="just do it", model=MODEL)
    child = await here.work.child("just do it")
    assert "--tools" not in child.arguments
    assert "--append-system-prompt" not in child.arguments
    assert not here.run_dir(child.run_id).system_prompt.exists()
    meta = here.run_dir(child.run_id).read_meta()
    assert [meta[k] for k in ("tools", "systemPrompt", "systemPromptPath")] == [None] * 3
    await child.answer_and_exit("done")
    await answer_of(work)


async def test_a_projects_preset_counts_before_the_users(
    here: PresetPlace, calling: Calling
) -> None:
    directory = here.work.project / ".pi/subagents"
    directory.mkdir()
    text = f"---\nname: scout\ndescription: d\nmodel: {OTHER_MODEL}\n---\n"
    (directory / "scout.md").write_text(text)
    work = calling.begin(preset="scout", task="whose")
    child = await here.work.child("whose")
    assert here.run_dir(child.run_id).read_meta()["presetSource"] == "project"
    await child.answer_and_exit("the project's")
    assert (await answer_of(work))["details"]["results"][0]["resolvedModel"] == OTHER_MODEL


async def test_a_child_that_fails_is_told_in_place_of_an_answer(
    here: PresetPlace, calling: Calling
) -> None:
    work = calling.begin(preset="scout", task="doomed")
    child = await here.work.child("doomed")
    await child.say("I see smoke", stop_reason="toolUse")
    await child.exit(3)
    answer = await answer_of(work)
    (result,) = answer["details"]["results"]
    said = "Sub-agent exited with code 3 before it finished"
    assert (result["status"], result["exitCode"], result["errorMessage"]) == ("failed", 3, said)
    assert text_of(answer) == f"scout: failed — {said} (session: {result['sessionId']})"
    assert result["nextCall"] == go_on(result["sessionId"], "scout", ALL_TOOLS)
    *_, ours, words = texts_of(answer)[1].split("\n")
    assert words == "I see smoke"
    assert ours.endswith(f"{view_messages.PARTIAL_ANSWER} · to go on: {result['nextCall']}")


async def test_a_call_that_is_stopped_is_told_as_aborted(
    here: PresetPlace, calling: Calling
) -> None:
    work = calling.begin(preset="scout", task="endless")
    child = await here.work.child("endless")
    calling.stop.stop()
    answer = await answer_of(work)
    assert text_of(answer).startswith(f"scout: aborted — {core_messages.STOPPED_ON_REQUEST} (")
    await child.gone()


async def test_the_loop_rule_and_the_time_out_that_is_set_apply(
    here: PresetPlace, calling: Calling
) -> None:
    here.settings('{"subagents": {"foreground_timeout": 7}}')
    work = calling.begin(preset="scout", task="dizzy")
    child = await here.work.child("dizzy")
    assert here.run_dir(child.run_id).read_meta()["timeoutS"] == 7
    await child.loop(5, "read", {"path": "a"})
    (result,) = (await answer_of(work))["details"]["results"]
    assert (result["status"], result["errorMessage"]) == ("failed", core_messages.LOOP_DETECTED)


async def test_a_missing_directory_is_the_tasks_own_failure(
    here: PresetPlace, calling: Calling
) -> None:
    answer = await answer_of(calling.begin(preset="scout", task="t", cwd="missing"))
    problem = service_messages.cwd_missing(str(here.work.project / "missing"))
    assert text_of(answer).startswith(f"scout: failed — {problem} (session: ")
    assert texts_of(answer)[1].endswith(f"1. scout: failed · {view_messages.NO_ANSWER}")


@pytest.mark.parametrize(
    ("parameters", "refusal"),
    [
        (
            {"preset": "stranger", "task": "t"},
            str(errors.UnknownPreset("stranger", ("plain", "scout"))),
        ),
        ({"task": "t"}, "preset: is required and must be a string"),
        ({"preset": "scout"}, "task: is required and must be a string"),
        ({"tasks": []}, core_messages.wrong_task_count(16, 0)),
        (
            {"tasks": [{"preset": "scout", "task": "t"}] * 17},
            core_messages.wrong_task_count(16, 17),
        ),
        ({"preset": "scout", "task": "t", "chain": []}, 'parameters: unknown field "chain"'),
        ({"preset": "scout", "tasks": [{"task": "t"}]}, 'parameters: unknown field "preset"'),
        ({"preset": "scout", "task": "t", "model": "gpt-9"}, 'Model "gpt-9" is not available'),
    ],
)
async def test_what_cannot_be_asked_is_refused_and_leaves_nothing(
    here: PresetPlace, parameters: dict[str, Any], refusal: str
) -> None:
    assert refusal in await here.refusal("subagent", **parameters)
    assert here.work.run_dirs() == []
    assert here.work.driver.processes == []


async def test_without_a_model_the_refusal_says_where_to_set_one(here: PresetPlace) -> None:
    path = str(here.presets / "plain.md")
    refusal = await here.refusal("subagent", preset="plain", task="t")
    assert refusal == str(errors.NoModelGiven("plain", path))
    assert path in refusal


async def test_a_pi_that_does_not_tell_its_models_refuses_the_call(here: PresetPlace) -> None:
    here.work.secrets["PI_SUBAGENTS_PI"] = "/bin/false"
    refusal = await here.refusal("subagent", preset="scout", task="t")
    assert refusal == str(errors.ModelsUnknown("it exited with code 1"))


# Several


async def test_several_tasks_are_answered_in_their_order(
    here: PresetPlace, calling: Calling
) -> None:
    tasks = [
        {"preset": "scout", "task": "one"},
        {"preset": "plain", "task": "two", "model": OTHER_MODEL},
        {"preset": "stranger", "task": "three"},
        {"preset": "scout", "task": "four", "cwd": "missing"},
    ]
    work = calling.begin(tasks=tasks)
    one, two = await here.work.child("one"), await here.work.child("two")
    await two.answer_and_exit("second")
    await one.answer_and_exit("first")
    answer = await answer_of(work)
    unknown = str(errors.UnknownPreset("stranger", ("plain", "scout")))
    missing = service_messages.cwd_missing(str(here.work.project / "missing"))
    details = answer["details"]
    ids = [f"(session: {result['sessionId']})" for result in details["results"]]
    lines, answers = texts_of(answer)
    assert lines == (
        "2 of 4 sub-agents completed.\n\n"
        f"[1] scout: completed {ids[0]}\n\n"
        f"[2] plain: completed {ids[1]}\n\n"
        f"[3] stranger: failed — {unknown} {ids[2]}\n\n"
        f"[4] scout: failed — {missing} {ids[3]}"
    )
    assert [line for line in answers.split("\n")[2:] if not line.startswith("[")] == [
        "first", "", "second", "", "",
    ]  # fmt: skip
    assert details["mode"] == "parallel"
    heard = ("preset", "status", "requestedModel", "resolvedModel")
    assert [tuple(result[key] for key in heard) for result in details["results"]] == [
        ("scout", "completed", MODEL, MODEL),
        ("plain", "completed", OTHER_MODEL, OTHER_MODEL),
        ("stranger", "failed", None, None),
        ("scout", "failed", MODEL, MODEL),
    ]
    assert len(here.work.driver.children) == 2


async def test_sixteen_tasks_run_four_at_once(here: PresetPlace, calling: Calling) -> None:
    work = calling.begin(tasks=[{**SCOUT, "task": f"task {n}"} for n in range(16)])
    for number in range(16):
        child = await here.work.driver.next_child(number)
        await child.answer_and_exit(f"answer to {child.prompt_line}")
    outputs = [result["output"] for result in (await answer_of(work))["details"]["results"]]
    assert outputs == [f"answer to task {n}" for n in range(16)]
    assert here.work.driver.most_at_once <= 4


async def test_relative_directories_are_below_the_calls(
    here: PresetPlace, calling: Calling
) -> None:
    (here.work.project / "deep/er").mkdir(parents=True)
    other = str(here.work.home)
    tasks = [
        {**SCOUT, "task": "a"},
        {**SCOUT, "task": "b", "cwd": "deep/er"},
        {**SCOUT, "task": "c", "cwd": other},
    ]
    work = calling.begin(tasks=tasks)
    children = [await here.work.child(task) for task in "abc"]
    project = str(here.work.project)
    assert [child.cwd for child in children] == [project, f"{project}/deep/er", other]
    for child in children:
        await child.answer_and_exit("done")
    results = (await answer_of(work))["details"]["results"]
    assert [result["cwd"] for result in results] == [project, f"{project}/deep/er", other]


async def test_a_long_answer_says_where_the_rest_is(here: PresetPlace, calling: Calling) -> None:
    here.settings('{"subagents": {"inline_answers": 0}}')
    work = calling.begin(preset="scout", task="tell me all")
    child = await here.work.child("tell me all")
    await child.answer_and_exit("y" * 20_000)
    answer = await answer_of(work)
    (result,) = answer["details"]["results"]
    assert result["output"] == "y" * 20_000
    cut = view_messages.background_output_cut(16_384, 20_000, result["sessionId"])
    assert text_of(answer) == "y" * 16_384 + "\n" + cut
    rest = await here.call("get_subagent_output", sessionId=result["sessionId"], offset=16_384)
    assert text_of(rest) == "y" * 3616
    json.dumps(answer)
