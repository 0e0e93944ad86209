"""What hosts are answered: every tool's text and value, in the shape that its schema promises."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # has no types
from tests import tool_names
from tests.fakes import canary
from tests.fakes.driver import PATIENCE_S
from tests.fakes.mcp_host import NEWEST, Progress, in_process, tasks, text_of, texts_of, value_of
from tests.fakes.preset_place import MODEL, PresetPlace

from pi_subagents.config.profile_files import invalidate_profiles_cache
from pi_subagents.core import messages as core_messages
from pi_subagents.core.session.next_calls import call_of, go_on
from pi_subagents.core.session.retrieval import MAX_WAIT_S
from pi_subagents.core.settings import ALL_TOOLS
from pi_subagents.core.usage import usage_to_json
from pi_subagents.core.value import replace
from pi_subagents.errors import NestedDelegation, ResumeNotFound, RunNotActive, SessionNotFound
from pi_subagents.faces.mcp_server.calls import MAX_TEXT
from pi_subagents.service.tools import list_subagent_profiles
from pi_subagents.service.tools import messages as tool_messages
from pi_subagents.service.tools.registry import all_tools, find_tool
from pi_subagents.view import messages as view_messages
from pi_subagents.view.answers import MAX_ANSWER, MAX_LISTED_OUTPUT, MAX_OUTPUT
from pi_subagents.view.inline_answers import facts, shortened_answer

if TYPE_CHECKING:
    from mcp.client.client import Client
    from mcp.types import CallToolResult
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

    from pi_subagents.service.tools.tool import Tool

REST = view_messages.how_to_get_the_rest


@pytest.fixture
def here(place: Workplace) -> PresetPlace:
    """A user with a preset."""
    made = PresetPlace(place)
    made.preset("scout", f"model: {MODEL}")
    return made


async def called(client: Client, tool: str, **parameters: Any) -> CallToolResult:
    """Return a result whose value, if it has one, is what the schema says."""
    async with asyncio.timeout(PATIENCE_S):
        result = await client.call_tool(tool, parameters)
    if result.structured_content is None:
        assert result.is_error
    else:
        Draft202012Validator(find_tool(tool).returns).validate(result.structured_content)
    return result


async def called_while(
    client: Client, tool: str, parameters: dict[str, Any], *children: Any
) -> CallToolResult:
    call = asyncio.create_task(called(client, tool, **parameters))
    for child in children:
        await child
    return await call


async def answer(place: Workplace, prompt: str, text: str, code: int = 0) -> None:
    await (await place.child(prompt)).answer_and_exit(text, code)


@pytest.mark.parametrize("tool", all_tools(), ids=lambda tool: tool.name)
def test_a_schema_is_one_of_an_object(tool: Tool[Any]) -> None:
    schema: Any = tool.returns
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert set(schema["required"]) <= set(schema["properties"])


# delegate_to_subagents


@pytest.mark.parametrize("mode", ["legacy", NEWEST])
async def test_a_delegation_is_told_by_line_and_by_value(place: Workplace, mode: str) -> None:
    async with in_process(place, mode=mode) as client:
        call = asyncio.create_task(called(client, tool_names.DELEGATE, **tasks("a", "b")))
        await answer(place, "a", "first")
        await (await place.child("b")).exit(3)
        result = await call
    value = value_of(result)
    a, b = (run_dir.read_result() for run_dir in place.run_dirs())
    assert a is not None
    assert b is not None
    a, b = sorted((a, b), key=lambda run: run.name)
    assert value == {
        "status": "done",
        "results": [
            {
                "name": "a",
                "sessionId": a.session_id,
                "status": "completed",
                "output": "first",
                "durationMs": a.duration_ms,
                "model": a.model_used,
                "usage": value["results"][0]["usage"],
            },
            {
                "name": "b",
                "sessionId": b.session_id,
                "status": "error",
                "errorMessage": b.error_message,
                "exitCode": 3,
                "durationMs": b.duration_ms,
            },
        ],
    }
    used = value["results"][0]["usage"]
    assert used == {key: each for key, each in usage_to_json(a.usage).items() if key in used}
    lines, answers = texts_of(result)
    assert lines == (
        f"✓ a: completed (session: {a.session_id})\n"
        f"✗ b: error — {b.error_message} (session: {b.session_id})"
    )
    mark = answers.split(" ")[4]
    assert answers.split("\n")[2:] == [
        f"{mark} 1. a: completed · {facts(a.model_used, a.usage)}",
        "first",
        "",
        f"{mark} 2. b: error · {view_messages.NO_ANSWER}",
    ]


async def test_a_call_of_which_every_task_failed_is_an_error_with_all_that_is_known(
    here: PresetPlace,
) -> None:
    async with in_process(here.work) as client:
        call = asyncio.create_task(called(client, tool_names.DELEGATE, **tasks("a", "b")))
        a = await here.work.child("a")
        await a.say("half of it", stop_reason="toolUse")
        await a.exit(3)
        await (await here.work.child("b")).exit(4)
        result = await call
        assert result.is_error
        assert result.structured_content is not None
        half, nothing = result.structured_content["results"]
        assert (half["status"], half["output"], "output" in nothing) == (
            "error",
            "half of it",
            False,
        )
        assert half["nextCall"] == go_on(half["sessionId"], "a", ALL_TOOLS)
        assert "half of it" in texts_of(result)[1]
        read = await called(client, tool_names.GET_OUTPUT, sessionId=half["sessionId"])
        assert text_of(read).split("\n\n") == [
            "half of it",
            core_messages.session_failed(half["errorMessage"]),
            core_messages.session_can_go_on(half["nextCall"]),
        ]
        preset = {"preset": "scout", "task": "alone"}
        call = asyncio.create_task(called(client, tool_names.SUBAGENT, **preset))
        await (await here.work.child("alone")).exit(5)
        assert (await call).is_error


async def test_sixteen_long_answers_are_cut_in_the_value_and_whole_by_retrieval(
    place: Workplace,
) -> None:
    names = [f"task {number}" for number in range(16)]
    long = "x" * (MAX_OUTPUT + 1)
    async with in_process(place, concurrency=16) as client:
        call = asyncio.create_task(called(client, tool_names.DELEGATE, **tasks(*names)))
        await asyncio.gather(*(answer(place, name, long) for name in names))
        value = value_of(await call)
        assert [each["name"] for each in value["results"]] == names
        for each in value["results"]:
            assert each["output"] == shortened_answer(long, 12_000 // 16, each["sessionId"])
            assert each["outputTruncated"]
        session = value["results"][7]["sessionId"]
        assert text_of(await called(client, tool_names.GET_OUTPUT, sessionId=session)) == long


async def test_an_answer_is_cut_beyond_its_room_and_the_call_in_it_reads_on(
    place: Workplace,
) -> None:
    async with in_process(place) as client:
        whole, cut = ("".join(f"{n:04}" for n in range(count)) for count in (500, 501))
        result = await called_while(
            client, tool_names.DELEGATE, tasks("a"), answer(place, "a", whole)
        )
        (heard,) = value_of(result)["results"]
        assert (heard["output"], "outputTruncated" in heard) == (whole, False)
        assert texts_of(result)[1].endswith(f"\n{whole}")
        result = await called_while(
            client, tool_names.DELEGATE, tasks("b"), answer(place, "b", cut)
        )
        (heard,) = value_of(result)["results"]
        assert heard["outputTruncated"]
        for shown in (heard["output"], texts_of(result)[1]):
            found = re.search(r"(\w+)\n[^\n]* left out here: (\w+) ({[^}]*})\]?\n(\w+)$", shown)
            assert found
            head, tool, parameters, tail = found.groups()
            read = await called(client, tool, **json.loads(parameters))
            assert head + value_of(read)["text"] + tail == cut


@pytest.mark.parametrize(
    ("parameters", "refusal"),
    [
        ({}, "tasks: is required and must be a list of task objects"),
        ({"tasks": []}, "tasks: must hold 1 to 16 tasks, not 0"),
        ({"tasks": [{"name": "a"}]}, "tasks[0].prompt: is required and must be a string"),
        (
            {"tasks": [{"name": "a", "prompt": "p", "resume": "0" * 16}]},
            str(ResumeNotFound("0" * 16)),
        ),
        ({"tasks": [{"name": "a", "prompt": "p"}] * 17}, "tasks: must hold 1 to 16 tasks, not 17"),
    ],
)
async def test_what_is_refused_is_a_tool_error_with_the_same_words_as_everywhere(
    place: Workplace, parameters: dict[str, Any], refusal: str
) -> None:
    async with in_process(place) as client:
        result = await called(client, tool_names.DELEGATE, **parameters)
    assert (result.is_error, text_of(result)) == (True, refusal)
    assert place.run_dirs() == []


async def test_inside_a_sub_agent_nothing_is_started(here: PresetPlace) -> None:
    nested = {**here.work.env, "PI_SUBAGENTS_CHILD": "1"}
    async with in_process(here.work, env=nested) as client:
        for tool, parameters in (
            (tool_names.DELEGATE, tasks("a")),
            (tool_names.SUBAGENT, {"preset": "scout", "task": "t"}),
            (tool_names.BACKGROUND, {"preset": "scout", "task": "t"}),
        ):
            result = await called(client, tool, **parameters)
            assert (result.is_error, text_of(result)) == (True, str(NestedDelegation()))
    assert here.work.run_dirs() == []


async def test_a_fault_of_ours_is_told_as_one_and_harms_no_other_call(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> dict[str, object]:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(
        list_subagent_profiles, "TOOL", replace(list_subagent_profiles.TOOL, run=broken)
    )
    async with in_process(place) as client:
        result = await called(client, tool_names.LIST_PROFILES)
        heard = core_messages.internal_error(ZeroDivisionError("oops"))
        assert (result.is_error, text_of(result)) == (True, heard)
        assert (await called(client, tool_names.BACKGROUND_STATUS)).is_error is False


async def test_what_is_said_beside_an_answer_follows_it(place: Workplace) -> None:
    (place.home / ".pi/agent/settings.json").write_text('{"subagents": {"runner": 5}}')
    async with in_process(place) as client:
        result = await called_while(
            client, tool_names.DELEGATE, tasks("a"), answer(place, "a", "done")
        )
    first, answers, second = texts_of(result)
    assert first.startswith("✓ a: completed")
    assert answers.endswith("\ndone")
    assert second.startswith("Note: ")
    assert "runner" in second


async def test_half_a_character_from_a_child_costs_nothing_but_itself(place: Workplace) -> None:
    async with in_process(place) as client:
        result = await called_while(
            client, tool_names.DELEGATE, tasks("a"), answer(place, "a", "cut \ud83d here")
        )
        (heard,) = value_of(result)["results"]
        assert heard["output"] == "cut \N{REPLACEMENT CHARACTER} here"
        heard = await called(client, tool_names.GET_SESSION, sessionId=heard["sessionId"])
        assert "cut \N{REPLACEMENT CHARACTER} here" in text_of(heard)


# Longer than a host waits


async def test_work_that_takes_longer_is_told_as_running_and_goes_on(place: Workplace) -> None:
    async with in_process(place, within_s=0.05) as client:
        result = await called(client, tool_names.DELEGATE, **tasks("quick", "slow"))
        quick, slow = (each["sessionId"] for each in value_of(result)["results"])
        assert value_of(result) == {
            "status": "running",
            "results": [
                {"name": name, "sessionId": session, "status": "running"}
                for name, session in (("quick", quick), ("slow", slow))
            ],
        }
        first, *lines, last = text_of(result).split("\n")
        seconds = float(first.split(" ")[3])  # planning takes its time on a busy machine
        assert first == view_messages.still_running(seconds, 2, 2)
        assert [line.split(":")[0] for line in lines] == ["⏳ quick", "⏳ slow"]
        assert all(
            line.endswith(f"(session: {session})")
            for line, session in zip(lines, (quick, slow), strict=True)
        )
        assert last == REST(0.05)
        await answer(place, "quick", "early")
        await answer(place, "slow", "late")
        for session, text in ((quick, "early"), (slow, "late")):
            heard = await waited(client, session)
            assert (heard["status"], heard["text"]) == ("completed", text)


async def waited(client: Client, session: str) -> dict[str, Any]:
    """Ask until a session is over, as a host would."""
    while True:
        result = await called(client, tool_names.GET_OUTPUT, sessionId=session, waitSeconds=3000)
        value = value_of(result)
        if value["status"] != "running":
            return value


async def test_what_is_done_by_then_is_told_with_its_result(place: Workplace) -> None:
    progress, time_is_up = Progress(), asyncio.Event()
    async with in_process(place, within_s=50, time_is_up=time_is_up) as client:
        call = asyncio.create_task(
            client.call_tool(
                tool_names.DELEGATE, tasks("quick", "slow"), progress_callback=progress
            )
        )
        await answer(place, "quick", "early")
        await progress.says("1 done")
        slow = await place.child("slow")
        await slow.tool("read", {"path": "README.md"})
        await progress.says("slow: Finished reading README.md")
        time_is_up.set()
        result = await call
        value = value_of(result)
        Draft202012Validator(find_tool(tool_names.DELEGATE).returns).validate(value)
        done = value["results"][0]
        assert (done["name"], done["status"], done["output"]) == ("quick", "completed", "early")
        assert value["results"][1]["status"] == "running"
        stands, answers = texts_of(result)
        assert answers.endswith("\nearly")
        lines = stands.split("\n")
        assert lines[0].endswith(": 1 of 2. The work goes on by itself.")
        assert lines[1] == f"✓ quick: completed (session: {done['sessionId']})"
        slow_session = value["results"][1]["sessionId"]
        assert lines[2] == (
            f"⏳ slow: running — Finished reading README.md (session: {slow_session})"
        )
        assert lines[3:] == [REST(50)]
        await slow.answer_and_exit("late")


async def test_a_running_subagent_has_the_states_of_presets(here: PresetPlace) -> None:
    work = here.work
    progress, time_is_up = Progress(), asyncio.Event()
    async with in_process(work, within_s=50, time_is_up=time_is_up) as client:
        three = [{"preset": "scout", "task": "bad"}, {"preset": "scout", "task": "slow"}]
        three.append({"preset": "nope", "task": "refused"})
        call = asyncio.create_task(
            client.call_tool(tool_names.SUBAGENT, {"tasks": three}, progress_callback=progress)
        )
        await (await work.child("bad")).exit(1)
        slow = await work.child("slow")
        await progress.says("2 error")
        time_is_up.set()
        value = value_of(await call)
        Draft202012Validator(find_tool(tool_names.SUBAGENT).returns).validate(value)
        assert (value["status"], value["mode"]) == ("running", "parallel")
        assert [(each["preset"], each["status"]) for each in value["results"]] == [
            ("scout", "failed"),
            ("scout", "running"),
            ("nope", "failed"),
        ]
        bad = value["results"][0]
        heard = await called(client, tool_names.GET_OUTPUT, sessionId=bad["sessionId"])
        why = core_messages.session_failed(bad["errorMessage"])
        assert texts_of(heard) == [f"{core_messages.NO_TEXT_OUTPUT}\n\n{why}"]
        assert value_of(heard)["errorMessage"] == bad["errorMessage"]
        await slow.answer_and_exit("late")
    async with in_process(work, within_s=0.05) as client:
        value = value_of(await called(client, tool_names.SUBAGENT, preset="scout", task="alone"))
        assert (value["status"], value["mode"], len(value["results"])) == ("running", "single", 1)
        await answer(work, "alone", "done")
        assert (await waited(client, value["results"][0]["sessionId"]))["text"] == "done"


async def test_without_a_limit_the_end_is_waited_for(place: Workplace) -> None:
    async with in_process(place) as client:
        call = asyncio.create_task(called(client, tool_names.DELEGATE, **tasks("a")))
        child = await place.child("a")
        session = place.run_dirs()[0].read_meta()["sessionId"]
        heard = await called(client, tool_names.GET_OUTPUT, sessionId=session)
        goes_on = core_messages.session_goes_on(MAX_WAIT_S)
        assert texts_of(heard) == [f"{core_messages.NO_TEXT_OUTPUT}\n\n{goes_on}"]
        assert not call.done()
        await child.answer_and_exit("done")
        assert value_of(await call)["status"] == "done"


async def test_a_running_session_is_stopped_by_its_id(place: Workplace) -> None:
    async with in_process(place, within_s=0.05) as client:
        result = await called(client, tool_names.DELEGATE, **tasks("slow", "other"))
        slow, other = (each["sessionId"] for each in value_of(result)["results"])
        child, second = await place.child("slow"), await place.child("other")
        stopped = await called(client, tool_names.BACKGROUND_STOP, runId=slow)
        await child.gone()
        (row,) = value_of(stopped)["runs"]
        assert (row["sessionId"], row["status"], row["task"]) == (slow, "aborted", "slow")
        assert "counts" not in value_of(stopped) or value_of(stopped)["counts"] == {}
        assert text_of(stopped).startswith("Stopped 1 background run.")
        await second.answer_and_exit("done")
        assert (await waited(client, other))["status"] == "completed"
        again = await called(client, tool_names.BACKGROUND_STOP, runId=slow)
        assert text_of(again) == str(RunNotActive(row["runId"], "stopped"))


async def test_a_call_that_the_host_cancels_stops_its_children(place: Workplace) -> None:
    async with in_process(place) as client:
        call = asyncio.create_task(client.call_tool(tool_names.DELEGATE, tasks("a", "b")))
        children = [await place.child("a"), await place.child("b")]
        call.cancel()
        for child in children:
            await child.gone()
        with pytest.raises(asyncio.CancelledError):
            await call
    results = [run_dir.read_result() for run_dir in place.run_dirs()]
    assert [result and result.status for result in results] == ["aborted", "aborted"]


async def test_an_early_answer_is_no_cancellation(place: Workplace) -> None:
    async with in_process(place, within_s=0.05) as client:
        value = value_of(await called(client, tool_names.DELEGATE, **tasks("a")))
        child = await place.child("a")
        await child.echo()
        await child.answer_and_exit("done")
        assert (await waited(client, value["results"][0]["sessionId"]))["status"] == "completed"


async def test_the_end_of_a_server_ends_what_goes_on_in_its_name(place: Workplace) -> None:
    async with in_process(place, within_s=0.05) as client:
        await called(client, tool_names.DELEGATE, **tasks("a"))
        child = await place.child("a")
    await child.gone()
    (result,) = [run_dir.read_result() for run_dir in place.run_dirs()]
    assert result is not None
    assert result.status == "aborted"


async def test_progress_is_put_into_words_as_everywhere_while_the_host_listens(
    place: Workplace,
) -> None:
    progress = Progress()
    async with in_process(place) as client:
        call = asyncio.create_task(
            client.call_tool(tool_names.DELEGATE, tasks("a", "b"), progress_callback=progress)
        )
        a, b = await place.child("a"), await place.child("b")
        await a.tool("grep", {"pattern": "auth"})
        await progress.says("Sub-agents: 2 running — a: Search finished")
        await b.say("almost\nthere", stop_reason="toolUse")
        await progress.says("Sub-agents: 2 running — b: almost there")
        await a.answer_and_exit("1")
        await b.answer_and_exit("2")
        await call
    assert progress.times == sorted(set(progress.times))
    assert all(line for line in progress.lines)


# Retrieval


async def session_of(client: Client, place: Workplace, text: str) -> str:
    result = await called_while(
        client, tool_names.DELEGATE, tasks("long"), answer(place, "long", text)
    )
    session: str = value_of(result)["results"][0]["sessionId"]
    return session


async def test_a_long_text_is_given_in_parts_and_says_where_it_goes_on(place: Workplace) -> None:
    text = "".join(f"{number:07}\n" for number in range(10_000))
    async with in_process(place) as client:
        session = await session_of(client, place, text)
        parts, offset = [], 0
        while True:
            result = await called(
                client, tool_names.GET_OUTPUT, sessionId=session, offset=offset, limit=None
            )
            value = value_of(result)
            parts.append(value["text"])
            end = offset + MAX_TEXT
            if texts_of(result) == [value["text"]]:
                break
            call = call_of(tool_names.GET_OUTPUT, sessionId=session, offset=end)
            goes_on = tool_messages.text_goes_on(offset, end, len(text), call)
            assert texts_of(result) == [f"{value['text']}\n\n{goes_on}"]
            offset = end
        assert "".join(parts) == text
        assert len(parts) == 2
        tail = await called(client, tool_names.GET_OUTPUT, sessionId=session, tail=10)
        assert text_of(tail) == text[-10:]
        more = await called(client, tool_names.GET_OUTPUT, sessionId=session, limit=50_000)
        assert value_of(more)["shownCharacters"] == 50_000
        none = await called(client, tool_names.GET_OUTPUT, sessionId=session, limit=0)
        assert texts_of(none) == [""]
        nothing = await called(client, tool_names.GET_OUTPUT, sessionId=session, offset=None)
        assert value_of(nothing)["text"] == text[:MAX_TEXT]


async def test_a_long_transcript_is_cut_and_says_which_call_reads_on(place: Workplace) -> None:
    async with in_process(place) as client:
        session = await session_of(client, place, "y" * 50_000)
        result = await called(client, tool_names.GET_SESSION, sessionId=session, grep=None)
        whole = await client.read_resource(f"subagents://sessions/{session}")
        text = whole.contents[0].text  # type: ignore[union-attr]  # it is a text
        value = value_of(result)
        call = call_of(tool_names.GET_SESSION, sessionId=session, grep=None, offset=MAX_TEXT)
        goes_on = tool_messages.text_goes_on(0, MAX_TEXT, len(text), call)
        assert texts_of(result) == [f"{text[:MAX_TEXT]}\n\n{goes_on}"]
        assert value["text"] == text[:MAX_TEXT]
        assert (value["shownCharacters"], value["totalCharacters"]) == (MAX_TEXT, len(text))
        rest = await called(client, tool_names.GET_SESSION, sessionId=session, offset=MAX_TEXT)
        assert value_of(rest)["text"] == text[MAX_TEXT:]


@pytest.mark.parametrize("tool", [tool_names.GET_OUTPUT, tool_names.GET_SESSION])
async def test_lines_are_found_by_a_text_or_a_pattern(place: Workplace, tool: str) -> None:
    async with in_process(place) as client:
        session = await session_of(client, place, "one\ntwo (2)\nthree\nfour 4\nfive")

        async def found(**grep: Any) -> list[str]:
            value = value_of(await called(client, tool, sessionId=session, **grep))
            lines: list[str] = value["text"].split("\n")
            assert value.get("matchingLines", 0) == sum(":" in line for line in lines)
            return [re.sub(r"^\d+", "", line) for line in lines]

        assert await found(grep="(2)") == [":two (2)"]
        assert await found(grep=r"\d$|\(\d", regex=True, context=1) == [
            "-one", ":two (2)", "-three", ":four 4", "-five",
        ]  # fmt: skip
        assert len(await found(grep="(2", regex=False)) == 1
        slow = await called(client, tool, sessionId=session, grep="(", regex=True)
        assert (slow.is_error, text_of(slow).startswith("grep: is no pattern")) == (True, True)


async def test_a_wait_is_no_longer_than_the_server_may_keep_a_host(place: Workplace) -> None:
    async with in_process(place, within_s=0.05) as client:
        value = value_of(await called(client, tool_names.DELEGATE, **tasks("a")))
        session = value["results"][0]["sessionId"]
        result = await called(client, tool_names.GET_OUTPUT, sessionId=session, waitSeconds=3000)
        assert value_of(result)["status"] == "running"
        assert text_of(result).endswith(core_messages.session_goes_on(0.05))
        result = await called(client, tool_names.GET_SESSION, sessionId=session)
        assert text_of(result).endswith(core_messages.session_goes_on(0.05))
        await answer(place, "a", "done")
        assert (await waited(client, session))["text"] == "done"


@pytest.mark.parametrize("wait", [-1, True, "soon", [1]])
async def test_a_wait_that_is_none_is_refused(place: Workplace, wait: object) -> None:
    async with in_process(place, within_s=0.05) as client:
        result = await called(client, tool_names.GET_OUTPUT, sessionId="0" * 16, waitSeconds=wait)
    assert (result.is_error, text_of(result).startswith("waitSeconds: ")) == (True, True)


@pytest.mark.parametrize("tool", [tool_names.GET_OUTPUT, tool_names.GET_SESSION])
async def test_a_session_that_nobody_knows_is_a_tool_error(place: Workplace, tool: str) -> None:
    async with in_process(place) as client:
        result = await called(client, tool, sessionId="0" * 16)
    assert (result.is_error, text_of(result)) == (True, str(SessionNotFound("0" * 16)))


async def test_profiles_are_listed_with_what_is_wrong(place: Workplace) -> None:
    async with in_process(place) as client:
        result = await called(client, tool_names.LIST_PROFILES)
        value = value_of(result)
        assert (value["count"], list(value["profiles"])) == (1, [canary.PROFILE])
        assert text_of(result) == value["profiles"][canary.PROFILE]
        (place.home / ".pi/agent/agent-profiles/broken.md").write_text("---\nname: [\n---\n")
        invalidate_profiles_cache()
        value = value_of(await called(client, tool_names.LIST_PROFILES))
        assert (value["count"], len(value["problems"])) == (1, 1)


# Presets


async def test_a_preset_is_told_alone_and_beside_others(here: PresetPlace) -> None:
    work = here.work
    async with in_process(work) as client:
        one = await called_while(
            client,
            tool_names.SUBAGENT,
            {"preset": "scout", "task": "t"},
            answer(work, "t", "found"),
        )
        assert texts_of(one)[0].startswith("scout: completed (session: ")
        assert texts_of(one)[1].endswith("\nfound")
        assert value_of(one)["mode"] == "single"
        both = [{"preset": "scout", "task": name} for name in ("u", "v")]
        two = await called_while(
            client,
            tool_names.SUBAGENT,
            {"tasks": both},
            answer(work, "u", "1"),
            answer(work, "v", "2", 1),
        )
        assert [each["output"] for each in value_of(two)["results"]] == ["1", "2"]
        refused = await called(client, tool_names.SUBAGENT, preset="stranger", task="t")
        assert text_of(refused).startswith('Unknown preset: "stranger".')


async def test_background_runs_are_started_told_and_stopped(here: PresetPlace) -> None:
    work, long = here.work, "z" * (MAX_ANSWER + 1)
    async with in_process(work, within_s=20) as client:
        begun = value_of(await called(client, tool_names.BACKGROUND, preset="scout", task="first"))
        assert (begun["status"], begun["counts"]) == ("running", {"running": 1, "total": 1})
        assert "paths" not in begun
        assert begun["runDir"] == str(here.run_dir(begun["runId"]).path)
        waiting = asyncio.create_task(
            called(client, tool_names.BACKGROUND_STATUS, runId=begun["runId"], waitSeconds=3600)
        )
        await answer(work, "first", long)
        (row,) = value_of(await waiting)["runs"]
        assert (row["output"], row["outputTruncated"]) == (
            shortened_answer(long, MAX_ANSWER, row["sessionId"]),
            True,
        )
        second = value_of(
            await called(client, tool_names.BACKGROUND, preset="scout", task="second")
        )
        child = await work.child("second")
        listed = value_of(await called(client, tool_names.BACKGROUND_STATUS, includeCompleted=True))
        assert {len(each.get("output", "")) for each in listed["runs"]} == {0, MAX_LISTED_OUTPUT}
        stopped = value_of(await called(client, tool_names.BACKGROUND_STOP, runId=second["runId"]))
        await child.gone()
        assert [each["status"] for each in stopped["runs"]] == ["aborted"]
        refused = await called(client, tool_names.BACKGROUND_STOP, runId="ffff")
        assert refused.is_error


async def test_a_background_run_outlives_its_server(here: PresetPlace) -> None:
    async with in_process(here.work) as client:
        begun = value_of(await called(client, tool_names.BACKGROUND, preset="scout", task="long"))
        child: FakeProcess = await here.work.child("long")
    await child.answer_and_exit("done")
    await here.ended(begun["runId"])
    async with in_process(here.work) as client:
        (row,) = value_of(await called(client, tool_names.BACKGROUND_STATUS, runId=begun["runId"]))[
            "runs"
        ]
    assert (row["status"], row["output"]) == ("completed", "done")
