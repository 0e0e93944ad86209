"""Questions of children where a host delegated: to its person, or back to its main model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp.types import ElicitResult
from tests.fakes.bridge_host import open_bridge
from tests.fakes.child_modes import in_rpc_mode
from tests.fakes.driver import PATIENCE_S
from tests.fakes.mcp_host import http_in_process, in_process, text_of, value_of

from pi_subagents import Task, answer
from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages
from pi_subagents.faces.bridge import messages as bridge_messages
from pi_subagents.faces.mcp_server import messages as mcp_messages
from pi_subagents.service.at_work import runs_at_work
from pi_subagents.service.fleet import Fleet
from pi_subagents.service.fleet_actions import ActionReport, FleetActions
from pi_subagents.service.runs import Runs
from pi_subagents.view.states import state_of

if TYPE_CHECKING:
    from mcp.types import ElicitRequestParams
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

pytestmark = in_rpc_mode

DELEGATE = "delegate_to_subagents"
CALL = {"tasks": [{"name": "look", "prompt": "look", "questions": "ask"}]}


def asking(child: FakeProcess, **more: object) -> asyncio.Task[dict[str, Any] | None]:
    return asyncio.create_task(child.ask_dialog("select", "Which?", options=["old", "new"], **more))


async def test_an_mcp_host_that_can_ask_its_person_does(place: Workplace) -> None:
    asked: list[ElicitRequestParams] = []

    async def person(context: object, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params)
        return ElicitResult(action="accept", content={"answer": "new"})

    async with (
        asyncio.timeout(PATIENCE_S),
        http_in_process(place) as server,
        server.client(person=person) as client,
    ):
        call = asyncio.create_task(client.call_tool(DELEGATE, CALL))
        child = await place.child("look")
        answered = await asking(child)
        assert answered is not None
        assert answered["value"] == "new"
        await child.answer_and_exit("Done.")
        assert value_of(await call)["results"][0]["status"] == "completed"
    (question,) = asked
    assert question.message == mcp_messages.asked_by("look", "Which?", "")
    form = question.requested_schema["properties"]["answer"]  # type: ignore[union-attr]  # a form
    assert form["enum"] == ["old", "new"]


async def test_an_mcp_host_that_cannot_gets_the_question_at_once_and_answers_by_tool(
    place: Workplace,
) -> None:
    async with asyncio.timeout(PATIENCE_S), in_process(place) as client:
        call = asyncio.create_task(client.call_tool(DELEGATE, CALL))
        child = await place.child("look")
        answered = asking(child)
        result = await call
        value = value_of(result)
        session = value["results"][0]["sessionId"]
        assert run_messages.asks_model("Which?", ("old", "new")) in text_of(result)
        assert value["status"] == "running"
        waiting = value["results"][0]["waitingFor"]
        assert (waiting["text"], waiting["options"]) == ("Which?", ["old", "new"])

        read = await client.call_tool("get_subagent_output", {"sessionId": session,
                                                              "waitSeconds": 60})  # fmt: skip
        assert value_of(read)["waitingFor"] == waiting | {
            "until": value_of(read)["waitingFor"]["until"]
        }
        assert run_messages.asks_model("Which?", ("old", "new")) in text_of(read)

        given = {"sessionId": session, "answer": "2"}
        first = await client.call_tool("answer_subagent", given)
        assert value_of(first)["status"] == "given"
        late = await client.call_tool("answer_subagent", given)
        assert value_of(late)["status"] == "refused"
        heard = await answered
        assert heard is not None
        assert heard["value"] == "new"
        await child.answer_and_exit("Done.")


async def test_pi_shows_a_dialog_that_closes_once_somebody_else_has_answered(
    place: Workplace,
) -> None:
    async with open_bridge(place.project, place.env) as host, asyncio.timeout(PATIENCE_S):
        host.answers_dialogs = False
        number = host.begin("c1", DELEGATE, CALL, hasUI=True)
        child = await place.child("look")
        answered = asking(child)
        shown = await host.line(lambda each: each.get("method") == "dialog")
        params = shown["params"]
        title = bridge_messages.agent_asks_title("look", "Which?")
        assert (params["kind"], params["arguments"]) == ("select", [title, ["old", "new"]])
        report = await answer(child.run_id, "1", cwd=place.project, env=place.env)
        assert report.status == "given"
        closed = await host.line(lambda each: each.get("method") == "undialog")
        assert closed["params"] == {"dialogId": params["dialogId"]}
        await answered
        await child.answer_and_exit("Done.")
        assert (await host.answer(number))["result"]["details"]["status"] == "done"


async def test_what_a_person_chooses_in_pi_reaches_the_child(place: Workplace) -> None:
    async with open_bridge(place.project, place.env) as host, asyncio.timeout(PATIENCE_S):
        host.dialog = lambda params: params["arguments"][1][1]
        number = host.begin("c1", DELEGATE, CALL, hasUI=True)
        child = await place.child("look")
        heard = await asking(child)
        assert heard is not None
        assert heard["value"] == "new"
        await child.answer_and_exit("Done.")
        await host.answer(number)


async def test_whoever_watches_sees_that_it_asks_and_can_answer(place: Workplace) -> None:
    work = place.delegate_by_api(Task("look", "look", questions="ask"))
    child = await place.child("look")
    answered = asking(child)
    await work.sees(ev.Asked)
    (row,) = Fleet(Runs(place.project, place.env), place.env).read_once()
    assert row.waiting_for is not None
    assert (state_of(row).word, row.waiting_for.text) == ("asks", "Which?")
    (at_work,) = runs_at_work(Runs(place.project, place.env))
    assert (at_work.progress.last_line, at_work.waiting_for) == ("Asks: Which?", row.waiting_for)
    actions = FleetActions(place.project, place.env, lambda _: None)
    wrong = await asyncio.to_thread(actions.answer, row.run_id, "3", "1")
    assert wrong.bad
    right = await asyncio.to_thread(actions.answer, row.run_id, "1", "1")
    assert right == ActionReport(run_messages.answer_given("look"))
    await answered
    await child.answer_and_exit("Done.")
    await work.result()


async def test_without_a_person_in_pi_the_question_comes_back_and_the_work_goes_on(
    place: Workplace,
) -> None:
    async with open_bridge(place.project, place.env) as host, asyncio.timeout(PATIENCE_S):
        call = asyncio.create_task(host.call(DELEGATE, CALL, hasUI=False))
        child = await place.child("look")
        answered = asking(child)
        asked = await call
        assert run_messages.asks_model("Which?", ("old", "new")) in asked["content"][0]["text"]
        session = asked["details"]["sessionIds"][0]
        given = await host.call("answer_subagent", {"sessionId": session, "answer": "new"})
        assert given["details"]["status"] == "given"
        heard = await answered
        assert heard is not None
        assert heard["value"] == "new"
        await child.answer_and_exit("Done.")
        read = await host.call("get_subagent_output", {"sessionId": session, "waitSeconds": 60})
        assert read["content"][0]["text"] == "Done."
