"""`subagents run` on a terminal: windows while it works, plain text when it is done."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import termios
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.child_modes import RPC
from tests.fakes.driver import PATIENCE_S
from tests.fakes.private_tmux import needs_tmux, private_tmux
from tests.fakes.pty_command import (
    SUBAGENTS,
    Watcher,
    ended,
    fill,
    on_a_terminal,
    subagents_on_a_terminal,
)

from pi_subagents import answer
from pi_subagents.faces.terminal import messages

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from tests.fakes.private_tmux import Tmux
    from tests.fakes.workplace import Workplace

SCROLLED = messages.DISPLAY_KEYS_SCROLLED


def run(
    place: Workplace, *arguments: str, **more: Any
) -> AbstractAsyncContextManager[tuple[Watcher, subprocess.Popen[bytes], int]]:
    return subagents_on_a_terminal(place, "run", *arguments, **more)


def modes(terminal: int) -> list[Any]:
    return termios.tcgetattr(terminal)


async def test_windows_roll_expand_and_stay_behind_as_text(place: Workplace) -> None:
    async with run(place, "look", "wait", "--concurrency", "1") as (watcher, process, slave):
        child = await place.child("look")
        shown = await watcher.sees("(starting...)")
        assert shown[0] == "Sub-agents: 1 running, 1 waiting"
        assert shown[4] == "○ wait • waiting, place 1"
        assert not modes(slave)[3] & termios.ECHO
        await child.say("\n".join(f"line {number}" for number in range(40)), stop_reason="toolUse")
        shown = await watcher.sees("  line 39")
        assert shown[2] == "  line 25"
        assert "2 tokens" in shown[1]
        watcher.press(b"\x0f")
        await watcher.sees(messages.DISPLAY_KEYS_EXPANDED)
        watcher.press(b"\x1b[H")
        shown = await watcher.sees("  line 0")
        assert shown[2:-1] == [f"  line {number}" for number in range(21)]
        watcher.resize(40, 12)
        shown = await watcher.until(lambda: watcher.terminal.screen.text()[11:] == [SCROLLED])
        assert shown[1:-1] == [f"  line {number}" for number in range(11, 21)]
        await child.answer_and_exit("All is well.")
        other = await place.child("wait")
        await other.answer_and_exit("And here.")
        assert await ended(process) == 0
        shown = await watcher.sees("And here.")
        assert not watcher.terminal.in_program
        assert modes(slave)[3] & termios.ECHO
    assert [row.split(" · ")[:2] for row in shown[:2]] == [
        ["✓ look", "4 tokens"],
        ["✓ wait", "2 tokens"],
    ]
    assert shown[2].startswith("To continue look: subagents resume ")
    # The command is longer than 40 columns, and never cut.
    assert [row for row in shown[4:] if row] == [
        "── look ──", "All is well.", "── wait ──", "And here.",
    ]  # fmt: skip


async def test_ctrl_c_stops_in_good_order_and_gives_the_terminal_back(place: Workplace) -> None:
    async with run(place, "look") as (watcher, process, slave):
        before = modes(slave)
        child = await place.child("look")
        await watcher.sees("(starting...)")
        watcher.press(b"\x03")
        await child.gone()
        assert await ended(process) == 130
        shown = await watcher.sees("Interrupted. Stopped: look.")
        assert shown[0].startswith("■ look · stopped · ")
        assert "Error" not in "".join(shown)
        assert (watcher.terminal.in_program, watcher.terminal.cursor_shown) == (False, True)
        assert modes(slave)[3] == before[3] | termios.ECHO | termios.ICANON | termios.IEXTEN


async def test_that_there_is_no_answer_is_said_once(place: Workplace) -> None:
    async with run(place, "look") as (watcher, process, _):
        await (await place.child("look")).answer_and_exit("")
        assert await ended(process) == 0
        shown = await watcher.sees("To continue: ")
    assert shown[0].startswith("⚠ look · ")
    assert shown[1] == "  The sub-agent finished without any text."
    assert "(no text output" not in "".join(shown)


async def test_the_first_ctrl_c_says_what_the_second_does(place: Workplace) -> None:
    async with run(place, "look") as (watcher, process, _):
        child = await place.child("look")
        await child.do("ignore_term")
        await watcher.sees("(starting...)")
        watcher.press(b"\x03")
        shown = await watcher.sees("Stopping every")
        assert watcher.terminal.in_program
        assert shown[-1] == "Stopping every sub-agent. Press Ctrl+C again to force it."
        watcher.press(b"\x03")
        await child.gone()
        assert await ended(process) == 130
        await watcher.sees("Interrupted. Stopped: look.")


@pytest.mark.parametrize(
    ("arguments", "env"), [(["--plain"], {}), (["-v"], {}), ([], {"TERM": "dumb"})]
)
async def test_who_wants_lines_gets_lines(
    place: Workplace, arguments: list[str], env: dict[str, str]
) -> None:
    async with run(place, "look", *arguments, **env) as (watcher, process, _):
        child = await place.child("look")
        await child.answer_and_exit("All is well.")
        assert await ended(process) == 0
        shown = await watcher.sees("[look] completed after ")
    assert "[look] All is well." in shown
    assert "\x1b[?1049h" not in watcher.sent


async def test_a_terminal_that_nobody_reads_holds_up_nothing(place: Workplace) -> None:
    names = ["look", "wait", "wait too", "wait long"]
    async with run(place, *names, "--concurrency", "1") as (watcher, process, slave):
        child = await place.child("look")
        await watcher.sees("(starting...)")
        watcher.look_away()
        fill(slave)
        await child.say("\n".join(f"line {number}" for number in range(40)), stop_reason="toolUse")
        await child.answer_and_exit("All is well.")
        for name in names[1:]:  # each has its turn: somebody reads the journals
            fill(slave)
            other = await place.child(name)
            await other.say("And here.", stop_reason="toolUse")
            if name == names[-1]:
                watcher.look_again()
                await watcher.sees("● wait long • ")
            await other.answer_and_exit("And here.")
        assert await ended(process) == 0
        shown = await watcher.sees("── wait long ──")
    assert [row.split(" · ")[0] for row in shown[:4]] == [f"✓ {name}" for name in names]


async def test_no_color_has_windows_without_colours(place: Workplace) -> None:
    async with run(place, "look", NO_COLOR="1") as (watcher, process, _):
        child = await place.child("look")
        await watcher.sees("(starting...)")
        await child.answer_and_exit("All is well.")
        assert await ended(process) == 0
        await watcher.sees("✓ look · ")
    assert "\x1b[?1049h" in watcher.sent
    assert {part.partition("m")[0] for part in watcher.sent.split("\x1b[")[1:]} & {
        "1", "2", "31", "32", "33",
    } == set()  # fmt: skip


async def test_a_refusal_never_takes_the_terminal(place: Workplace) -> None:
    async with run(place, " ") as (watcher, process, _):
        assert await ended(process) == 2
        shown = await watcher.sees("Error: ")
    assert shown[0] == "Error: Prompt 1 is empty."
    assert "\x1b[?1049h" not in watcher.sent


async def test_what_is_no_terminal_gets_lines_and_no_sequence_of_ours(place: Workplace) -> None:
    log = place.project / "progress"
    argv = ["/bin/sh", "-c", 'exec "$@" 2>progress', "sh", *SUBAGENTS, "run", "look"]
    environment = {**place.env, "TERM": "xterm"}
    async with on_a_terminal(argv, cwd=place.project, env=environment) as (_, process, __):
        child = await place.child("look")
        await child.answer_and_exit("All is well.")
        assert await ended(process) == 0
    lines = log.read_text().splitlines()
    assert lines[:2] == ["[look] started", "[look] All is well."]
    assert "\x1b" not in log.read_text()


async def test_colours_of_a_window_its_tools_and_its_error(place: Workplace) -> None:
    settings = {"subagents": {"maxLinesPerWindow": 3}}
    (place.home / ".pi/agent/settings.json").write_text(json.dumps(settings))
    async with run(place, "look", "--timeout", "86400") as (watcher, process, _):
        child = await place.child("look")
        await child.say("Not to be seen.\nI change it.", stop_reason="toolUse")
        edits = [{"oldText": "a\nb", "newText": "a\nb\nc\nd"}]
        await child.tool("edit", {"path": "src/a.py", "edits": edits})
        await child.tool("bash", {"command": "make all"})
        await watcher.sees("make all")
        shown = watcher.terminal.screen.marked()
        assert shown[0] == "{1}Sub-agents: {36}1 running{0}"
        assert re.fullmatch(r"\{36\}● \{1;36\}look\{2\} • \d+s • 6 tokens\{0\}", shown[1])
        assert shown[2:6] == [
            "  I change it.",
            "  {2}edit → src/a.py (1 edit) {32}+4{2}/{31}-2{0}",
            "  {2}bash → make all{0}",
            "",
        ]
        await child.exit(7)
        assert await ended(process) == 1
        await watcher.sees("To continue: ")
        left = watcher.terminal.screen.marked()
    session = str(place.run_dirs()[0].read_meta()["sessionId"])
    ended_line = r"\{31\}✗ \{1;36\}look\{2\} · failed · 2 calls · 6 tokens · \d+s\{0\}"
    assert re.fullmatch(ended_line, left[0])
    assert left[1:5] == [
        "  {31}Sub-agent exited with code 7 before it finished{0}",
        "  {2}Look for the cause: subagents doctor.{0}",
        f'{{2}}To continue: subagents resume {session[:8]} "..."{{0}}',
        "",
    ]


async def test_the_history_has_500_entries_to_scroll_through(place: Workplace) -> None:
    async with run(place, "look") as (watcher, process, _):
        child = await place.child("look")
        await child.say("\n".join(f"line {number}" for number in range(600)), stop_reason="toolUse")
        await watcher.sees("  line 599")
        watcher.press(b"\x0f\x1b[H")
        shown = await watcher.sees(SCROLLED)
        assert shown[1].startswith("● look • ")
        assert shown[2:-1] == [f"  line {number}" for number in range(100, 121)]
        for first in (120, 142, 164):
            watcher.press(b"\x1b[6~")
            shown = await watcher.sees(f"  line {first + 22}")
        assert shown[1:-1] == [f"  line {number}" for number in range(165, 187)]
        await child.answer_and_exit("All is well.")
        assert await ended(process) == 0


async def test_sixteen_tasks_on_24_lines_of_40_columns(place: Workplace) -> None:
    prompts = [f"look {number}" for number in range(1, 17)]
    async with run(place, *prompts, size=(40, 24)) as (watcher, process, _):
        for number in range(1, 5):
            child = await place.child(f"look {number}")
            await child.say(f"one\ntwo\nthree of {number}", stop_reason="toolUse")
        shown = await watcher.until(
            lambda: sum("three of" in row for row in watcher.terminal.screen.text()) == 4
        )
        watcher.press(b"\x03")
        assert await ended(process) == 130
        await watcher.sees("Interrupted. Stopped: ")
    assert (shown[0], shown[-1]) == ("Sub-agents: 4 running, 12 waiting", messages.DISPLAY_KEYS)
    assert [row.partition(" • ")[0] for row in shown[1:-1]] == [
        "● look 1", "  two", "  three of 1", "● look 2", "  two", "  three of 2",
        "● look 3", "  three of 3", "● look 4", "  three of 4",
        *(f"○ look {number}" for number in range(5, 17)),
    ]  # fmt: skip
    assert shown[22] == "○ look 16 • waiting, place 12"


@needs_tmux
async def test_ctrl_z_gives_the_terminal_back_and_fg_paints_a_fresh_picture(
    place: Workplace,
) -> None:
    with private_tmux() as private:
        tmux = private.users()
        environment = {**place.env, "TERM": "screen", "LC_ALL": "C.UTF-8", "PS1": "shell> "}
        variables = [f"{name}={value}" for name, value in environment.items()]
        tmux(
            "new-session", "-d", "-s", "seen", "-x", "80", "-y", "24", "-c", str(place.project),
            "env", "-i", *variables, "bash", "--norc", "--noprofile", "-i",
        )  # fmt: skip
        await seen_in(tmux, lambda rows: "shell>" in rows[0], least_rows=1)
        tmux("send-keys", "-t", "=seen:", shlex.join([*SUBAGENTS, "run", "look"]), "Enter")
        child = await place.child("look")
        await child.say("before", stop_reason="toolUse")
        await seen_in(tmux, lambda rows: "  before" in rows)
        tmux("send-keys", "-t", "=seen:", "C-z")
        stopped = lambda rows: any("Stopped" in row for row in rows)  # noqa: E731 - a condition
        shown = await seen_in(tmux, stopped, least_rows=1)
        assert "  before" not in shown
        tmux("send-keys", "-t", "=seen:", "stty -a | grep -c ' echo '", "Enter")
        await seen_in(tmux, lambda rows: "1" in rows, least_rows=1)
        await child.say("meanwhile", stop_reason="toolUse")  # it works on
        tmux("send-keys", "-t", "=seen:", "fg", "Enter")
        shown = await seen_in(tmux, lambda rows: "  meanwhile" in rows)
        assert (shown[0], shown[-1]) == ("Sub-agents: 1 running", messages.DISPLAY_KEYS)
        assert "shell>" not in "".join(shown)
        await child.answer_and_exit("All is well.")
        await seen_in(tmux, lambda rows: any("✓ look · " in row for row in rows))


@needs_tmux
async def test_in_a_real_tmux_with_ctrl_o_pressed(place: Workplace) -> None:
    with private_tmux() as private:
        tmux = private.users()
        environment = {**place.env, "TERM": "screen", "LC_ALL": "C.UTF-8"}
        variables = [f"{name}={value}" for name, value in environment.items()]
        tmux("set-option", "-g", "remain-on-exit", "on")
        tmux(
            "new-session", "-d", "-s", "seen", "-x", "80", "-y", "24", "-c", str(place.project),
            "env", "-i", *variables, *SUBAGENTS, "run", "look", "日本", "--name", "first", "--name", "日本",
        )  # fmt: skip
        child, other = await place.child("look"), await place.child("日本")
        await child.say("\n".join(f"line {number}" for number in range(30)), stop_reason="toolUse")
        await other.say("日本語のテキスト " * 10, stop_reason="toolUse")
        shown = await seen_in(tmux, lambda rows: "  line 29" in rows and "日本語" in rows[19])
        assert (shown[0], shown[-1]) == ("Sub-agents: 2 running", messages.DISPLAY_KEYS)
        assert shown[2] == "  line 15"
        assert shown[19] == "  " + "日本語のテキスト " * 4 + "日本語の…"
        tmux("send-keys", "-t", "=seen:", "C-o")
        await seen_in(tmux, lambda rows: rows[-1] == messages.DISPLAY_KEYS_EXPANDED)
        tmux("send-keys", "-t", "=seen:", "Home")
        shown = await seen_in(tmux, lambda rows: rows[-1] == messages.DISPLAY_KEYS_SCROLLED)
        assert shown[2:-1] == [f"  line {number}" for number in range(21)]
        tmux("resize-window", "-t", "=seen:", "-x", "40", "-y", "10")
        # tmux cuts the old picture first; what is waited for is ours.
        anew = [f"  line {number}" for number in range(15, 23)]
        await seen_in(tmux, lambda rows: rows[1:-1] == anew and rows[-1] == SCROLLED)
        await child.answer_and_exit("All is well.")
        await other.answer_and_exit("終わり")
        left = await seen_in(tmux, lambda rows: any("終わり" in row for row in rows), "-S", "-200")
        assert [row.split(" · ")[0] for row in left[:2]] == ["✓ first", "✓ 日本"]
        assert "All is well." in left
        assert tmux("display-message", "-p", "-t", "=seen:", "#{alternate_on}").strip() == "0"


async def seen_in(
    tmux: Tmux, seen: Callable[[list[str]], bool], *options: str, least_rows: int = 5
) -> list[str]:
    """Return the rows of the pane as soon as there are some, and something is true of them."""

    def look() -> list[str]:
        return tmux("capture-pane", "-p", *options, "-t", "=seen:").rstrip("\n").split("\n")

    try:
        async with asyncio.timeout(PATIENCE_S):
            while not (len(rows := [row.rstrip() for row in look()]) >= least_rows and seen(rows)):
                await asyncio.sleep(0)
    except TimeoutError:
        raise AssertionError("never seen, but:\n" + "\n".join(look())) from None
    return rows


async def until_echo(slave: int, *, on: bool) -> None:
    """Return once what is typed is shown by the terminal itself, or no longer."""
    async with asyncio.timeout(PATIENCE_S):
        while bool(modes(slave)[3] & termios.ECHO) is not on:
            await asyncio.sleep(0)


@pytest.mark.child_modes(RPC)
async def test_what_a_sub_agent_asks_is_answered_in_place_of_the_windows(place: Workplace) -> None:
    async with run(place, "look", "--questions", "ask") as (watcher, process, slave):
        child = await place.child("look")
        heard = asyncio.create_task(
            child.ask_dialog("select", "Which\x1b[2J one?", options=["old", "new"])
        )
        shown = await watcher.sees("  → Asks: Which one?")
        assert shown[-1] == messages.question_waits("task-1", "Which one?")
        watcher.press(b"a")
        await watcher.sees("2. new")
        await until_echo(slave, on=True)  # a line is typed, as in any shell
        watcher.press(b"7\n")
        await watcher.sees("Answer with one of the options, by its number or its words:")
        watcher.press(b"2\n")
        answered = await heard
        assert answered is not None
        assert answered["value"] == "new"
        await watcher.sees("  → Answered: new")
        await until_echo(slave, on=False)
        await child.answer_and_exit("Done.")
        assert await ended(process) == 0


@pytest.mark.child_modes(RPC)
async def test_the_windows_come_back_once_somebody_else_has_answered(place: Workplace) -> None:
    async with run(place, "look", "--questions", "ask") as (watcher, process, _slave):
        child = await place.child("look")
        heard = asyncio.create_task(child.ask_dialog("input", "Which one?"))
        await watcher.sees("  → Asks: Which one?")
        watcher.press(b"a")
        await watcher.sees(messages.TYPE_AN_ANSWER)
        report = await answer(child.run_id, "red", cwd=place.project, env=place.env)
        assert report.status == "given"
        await watcher.sees("  → Answered: red")
        await heard
        await child.answer_and_exit("Done.")
        assert await ended(process) == 0


@pytest.mark.child_modes(RPC)
async def test_among_lines_what_a_sub_agent_asks_is_asked_at_once(place: Workplace) -> None:
    async with run(place, "look", "--plain", "--questions", "ask") as (watcher, process, _slave):
        child = await place.child("look")
        options = ["old", "new"]
        heard = asyncio.create_task(
            child.ask_dialog("select", "Which\x1b[2J one?", options=options)
        )
        await watcher.sees("2. new")
        watcher.press(b"7\n")
        await watcher.sees("Answer with one of the options, by its number or its words:")
        watcher.press(b"2\n")
        answered = await heard
        assert answered is not None
        assert answered["value"] == "new"
        await child.answer_and_exit("Done.")
        assert await ended(process) == 0
