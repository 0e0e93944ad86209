"""`subagents call` on a terminal, and a terminal that nobody reads any more."""

from __future__ import annotations

import asyncio
import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.preset_place import MODEL, PresetPlace
from tests.fakes.pty_command import ended, open_pty, subagents_on_a_terminal
from tests.fakes.workplace import answered, comparable

from pi_subagents.core.run import events as ev
from pi_subagents.faces.terminal.display import Display
from pi_subagents.faces.terminal.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.workplace import Workplace

SCOUT = json.dumps({"preset": "scout", "task": "look"})
TASKS = json.dumps({"tasks": [{"name": "first", "prompt": "look"}]})


@pytest.fixture
def here(place: Workplace) -> PresetPlace:
    """A user with a preset that has a model and tools."""
    made = PresetPlace(place)
    made.preset("scout", f"model: {MODEL}", "tools: read,grep")
    return made


def answer_in(path: Path) -> Any:
    """Return the one object that standard output got."""
    return json.loads(path.read_text())


async def test_a_task_with_a_preset_has_its_window_and_the_answer_its_file(
    here: PresetPlace,
) -> None:
    place, output = here.work, here.work.project / "answer"
    call = subagents_on_a_terminal(place, "call", "subagent", SCOUT, output=output)
    async with call as (watcher, process, _):
        child = await place.child("look")
        shown = await watcher.sees("(starting...)")
        assert shown[0] == "Sub-agents: 1 running"
        assert re.fullmatch(r"● scout • scout \(fake/fake-1\) • 2 tools • \d+s", shown[1])
        await child.tool("grep", {"pattern": "needle", "path": "src"})
        await watcher.sees("  grep → ")
        assert output.read_bytes() == b""
        await child.answer_and_exit("12 files")
        assert await ended(process) == 0
        left = await watcher.sees("To continue")
        assert not watcher.terminal.in_program
    assert re.fullmatch(r"✓ scout · 1 call · \d tokens · \d+s", left[0])
    answer = answer_in(output)
    session = answer["details"]["results"][0]["sessionId"]
    line, answers = (block["text"] for block in answer["content"])
    assert line == f"scout: completed (session: {session})"
    assert answers.endswith("\n12 files")
    assert left[1] == f'To continue: subagents resume {session[:8]} "..."'


async def test_tasks_of_a_call_have_windows_too(place: Workplace) -> None:
    output = place.project / "answer"
    call = subagents_on_a_terminal(place, "call", "delegate_to_subagents", TASKS, output=output)
    async with call as (watcher, process, _):
        child = await place.child("look")
        shown = await watcher.sees("(starting...)")
        assert shown[1].startswith("● first • ")
        watcher.press(b"\x03")
        await child.gone()
        assert await ended(process) == 130
        await watcher.sees("To continue")
    answer = answer_in(output)
    assert answer["content"][0]["text"].startswith("✗ first: error — Stopped on request")


async def test_a_call_with_plain_progress_has_lines(here: PresetPlace) -> None:
    place, output = here.work, here.work.project / "answer"
    call = subagents_on_a_terminal(place, "call", "subagent", SCOUT, "--plain", output=output)
    async with call as (watcher, process, _):
        await (await place.child("look")).answer_and_exit("12 files")
        assert await ended(process) == 0
        shown = await watcher.sees("completed after")
    assert shown[:2] == ["[scout] started", "[scout] 12 files"]
    assert "\x1b[?1049h" not in watcher.sent
    assert answer_in(output)["isError"] is False


async def test_a_tool_without_sub_agents_never_takes_the_terminal(place: Workplace) -> None:
    output = place.project / "answer"
    call = subagents_on_a_terminal(place, "call", "list_subagent_profiles", output=output)
    async with call as (watcher, process, _):
        assert await ended(process) == 0
    assert watcher.sent == ""
    assert answer_in(output)["isError"] is False


async def test_a_terminal_that_nobody_reads_delays_neither_the_records_nor_the_end(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pi_subagents.faces.terminal.terminal._PATIENCE_S", 0)
    with open_pty() as (_, slave):
        path = os.ttyname(slave)
        terminal = Terminal(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY))
        display = Display(terminal, coloured=True, tell=print)
        work = place.delegate_by_api(
            "look", "wait", observe=display.changed, on_windows=display.show
        )
        child, other = await place.child("look"), await place.child("wait")
        frame = 0
        while not terminal.busy:  # nobody takes what is painted
            frame += 1
            text = "\n".join(f"{frame} {row} {'x' * 60}" for row in range(15))
            await child.say(text, stop_reason="toolUse")
            await work.sees(ev.AssistantMessage, "look")
            display.paint()
            await asyncio.sleep(0)
        await other.say("Do you hear me?", stop_reason="toolUse")
        await work.sees(ev.AssistantMessage, "wait")
        await child.answer_and_exit("All is well.")
        await other.answer_and_exit("Here too.")
        first, second = await work.results()
        assert terminal.busy
        display.close()
    assert (first.output, second.output) == ("All is well.", "Here too.")
    assert comparable(second) == answered("wait", "Here too.", message_count=3, usage=second.usage)
