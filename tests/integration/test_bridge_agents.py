"""`agents` over the bridge: what its dialogs ask, and what is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.bridge_host import BridgeHost, Json, open_bridge

from pi_subagents.faces.bridge import messages
from pi_subagents.faces.bridge.agents_command import MAX_READ_LINES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.fakes.workplace import Workplace

LEFT = None


@pytest.fixture
async def host(place: Workplace) -> AsyncIterator[BridgeHost]:
    async with open_bridge(place.project, place.env) as made:
        await made.open()
        yield made


def answers(host: BridgeHost, *given: object) -> list[Json]:
    """Answer one dialog after the other, a number by the option of that place; return them."""
    asked: list[Json] = []
    waiting: Iterator[object] = iter(given)

    def answer(dialog: Json) -> object:
        asked.append(dialog)
        value = next(waiting)
        return dialog["arguments"][1][value] if isinstance(value, int) else value

    host.dialog = answer
    return asked


async def agents(host: BridgeHost, columns: int | None = 60, *, ui: bool = True) -> Any:
    return await host.request("agents", cwd=str(host.cwd), hasUI=ui, columns=columns)


def said(text: str, level: str = "info") -> Json:
    return {"text": text, "level": level}


def begin(host: BridgeHost, name: str) -> int:
    asked = {"tasks": [{"name": name, "prompt": f"do {name}"}]}
    return host.begin(name, "delegate_to_subagents", asked)


async def test_nobody_at_work_is_a_sentence_with_and_without_a_screen(host: BridgeHost) -> None:
    asked = answers(host)
    assert await agents(host) == await agents(host, ui=False) == said(messages.NO_AGENTS)
    assert asked == []
    assert await host.bye() == 0


async def test_without_a_screen_the_list_is_a_text(place: Workplace, host: BridgeHost) -> None:
    begin(host, "one")
    child = await place.child("do one")
    await child.say("x" * 100, stop_reason="toolUse")
    await host.heard("picture", lambda p: "xxx" in str(p["parts"]))
    listed = (await agents(host, ui=False))["text"]
    start = f"● one · {child.run_id[:8]} · running · "
    assert (listed[: len(start)], len(listed), listed[-2:]) == (start, 55, "x…")
    assert await host.bye() == 0


async def test_each_dialog_can_be_left_for_the_one_before(
    place: Workplace, host: BridgeHost
) -> None:
    begin(host, "one")
    await place.child("do one")
    back = messages.AGENT_ACTIONS.index("Back")
    asked = answers(
        host, 0, 1, LEFT, 1, "  ", 2, LEFT, 2, 1, LEFT, 0, back, LEFT
    )  # fmt: skip
    assert await agents(host) == said("")
    titles = [dialog["arguments"][0].split(" · ")[0] for dialog in asked]
    steer, stop = messages.agent_steer_title("one"), "Stop one (run "
    listed, opened = messages.AGENTS_TITLE, "● one"
    expected = [
        listed, opened, steer, opened, steer, opened, stop, opened, stop, opened,
        listed, opened, listed,
    ]  # fmt: skip
    assert [title[: len(stop)] if title.startswith("Stop") else title for title in titles] == (
        expected
    )
    assert await host.bye() == 0


async def test_of_a_long_transcript_the_end_is_read(place: Workplace, host: BridgeHost) -> None:
    begin(host, "one")
    child = await place.child("do one")
    lines = [f"line {number}" for number in range(MAX_READ_LINES + 50)]
    await child.say("\n".join(lines), stop_reason="toolUse")
    await host.heard("picture", lambda p: lines[-1] in str(p["parts"]))
    answers(host, 0, 0)
    text = (await agents(host))["text"]
    head, task, left_out, *shown = text.split("\n\n")[0].split("\n") + text.split("\n\n")[1:]
    assert head.startswith(f"● one · {child.run_id[:8]} · running · ")
    assert (task, left_out) == ("Task: do one", messages.earlier_lines(50, child.run_id[:8]))
    assert shown == ["\n".join(lines[50:])]
    assert await host.bye() == 0


async def test_what_ended_meanwhile_is_not_stopped(place: Workplace, host: BridgeHost) -> None:
    number = begin(host, "one")
    child = await place.child("do one")
    host.answers_dialogs = False
    request = host.ask("agents", cwd=str(host.cwd), hasUI=True, columns=None)
    listed = await host.line(lambda each: each.get("method") == "dialog")
    await child.answer_and_exit("done")
    await host.answer(number)
    host.answers_dialogs = True
    answers(host, 2, 0)
    host.send({"id": listed["id"], "result": listed["params"]["arguments"][1][0]})
    assert (await host.answer(request))["result"] == said("It has already ended.")
    assert await host.bye() == 0
