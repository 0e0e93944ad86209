"""`subagents run` on a terminal: windows while it works, plain text when it is done."""

from __future__ import annotations

import asyncio
import sys
import termios
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.driver import PATIENCE_S
from tests.fakes.private_tmux import needs_tmux, private_tmux
from tests.fakes.pty_command import Watcher, on_a_terminal

from pi_subagents import messages

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from tests.fakes.private_tmux import Tmux
    from tests.fakes.workplace import Workplace

ENTRY = [sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()"]
SCROLLED = messages.DISPLAY_KEYS_SCROLLED


def run(
    place: Workplace, *arguments: str, **env: str
) -> AbstractAsyncContextManager[tuple[Watcher, subprocess.Popen[bytes], int]]:
    environment = {**place.env, "TERM": "xterm", "LC_ALL": "C.UTF-8", **env}
    return on_a_terminal([*ENTRY, "run", *arguments], cwd=place.project, env=environment)


async def ended(process: subprocess.Popen[bytes]) -> int:
    return await asyncio.to_thread(process.wait, PATIENCE_S)


def modes(terminal: int) -> list[Any]:
    return termios.tcgetattr(terminal)


async def test_windows_roll_expand_and_stay_behind_as_text(place: Workplace) -> None:
    async with run(place, "look", "wait", "--concurrency", "1") as (watcher, process, slave):
        child = await place.child("look")
        shown = await watcher.sees("(starting...)")
        assert shown[0] == "Sub-agents: 1 running, 1 queued"
        assert shown[4].startswith("⏳ task-2 • 0 tools • queued, place 1 • 0s/600s")
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
        shown = await watcher.sees("✓ task-2: completed")
        assert not watcher.terminal.in_program
        assert modes(slave)[3] & termios.ECHO
    assert shown[0] == "Sub-agents: 2 done"
    assert shown[2].startswith("✓ task-1 • 0 tools • ")
    assert shown[3:18] == [*(f"  line {number}" for number in range(26, 40)), "  All is well."]
    assert shown[19].startswith("✓ task-2 • 0 tools • ")
    assert shown[20] == "  And here."


async def test_ctrl_c_stops_in_good_order_and_gives_the_terminal_back(place: Workplace) -> None:
    async with run(place, "look") as (watcher, process, slave):
        before = modes(slave)
        child = await place.child("look")
        await watcher.sees("(starting...)")
        watcher.press(b"\x03")
        await child.gone()
        assert await ended(process) == 130
        shown = await watcher.sees("Interrupted. Stopped: task-1.")
        assert "  Error: Stopped on request" in shown
        assert (watcher.terminal.in_program, watcher.terminal.cursor_shown) == (False, True)
        assert modes(slave)[3] == before[3] | termios.ECHO | termios.ICANON | termios.IEXTEN


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
        await watcher.sees("Interrupted. Stopped: task-1.")


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
        shown = await watcher.sees("✓ task-1: completed")
    assert "[task-1] All is well." in shown
    assert "\x1b[?1049h" not in watcher.sent


async def test_no_color_has_windows_without_colours(place: Workplace) -> None:
    async with run(place, "look", NO_COLOR="1") as (watcher, process, _):
        child = await place.child("look")
        await watcher.sees("(starting...)")
        await child.answer_and_exit("All is well.")
        assert await ended(process) == 0
        await watcher.sees("✓ task-1: completed")
    assert "\x1b[?1049h" in watcher.sent
    assert {part.partition("m")[0] for part in watcher.sent.split("\x1b[")[1:]} & {
        "1", "2", "31", "32", "33",
    } == set()  # fmt: skip


async def test_a_refusal_never_takes_the_terminal(place: Workplace) -> None:
    async with run(place, " ") as (watcher, process, _):
        assert await ended(process) == 2
        shown = await watcher.sees("Error: ")
    assert shown[0] == "Error: tasks[0].prompt: must not be empty"
    assert "\x1b[?1049h" not in watcher.sent


@needs_tmux
async def test_in_a_real_tmux_with_ctrl_o_pressed(place: Workplace) -> None:
    with private_tmux() as private:
        tmux = private.users()
        environment = {**place.env, "TERM": "screen", "LC_ALL": "C.UTF-8"}
        variables = [f"{name}={value}" for name, value in environment.items()]
        tmux("set-option", "-g", "remain-on-exit", "on")
        tmux(
            "new-session", "-d", "-s", "seen", "-x", "80", "-y", "24", "-c", str(place.project),
            "env", "-i", *variables, *ENTRY, "run", "look", "日本", "--name", "first", "--name", "日本",
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
        shown = await seen_in(tmux, lambda rows: len(rows) == 10 and rows[-1] == SCROLLED)
        assert shown[1:-1] == [f"  line {number}" for number in range(15, 23)]
        await child.answer_and_exit("All is well.")
        await other.answer_and_exit("終わり")
        left = await seen_in(
            tmux, lambda rows: any("日本: completed" in row for row in rows), "-S", "-200"
        )
        assert left[:3] == ["Sub-agents: 2 done", "", left[2]]
        assert left[2].startswith("✓ first • 0 tools • ")
        assert "  All is well." in left
        assert tmux("display-message", "-p", "-t", "=seen:", "#{alternate_on}").strip() == "0"


async def seen_in(tmux: Tmux, seen: Callable[[list[str]], bool], *options: str) -> list[str]:
    """Return the rows of the pane as soon as something is true of them."""

    def look() -> list[str]:
        return tmux("capture-pane", "-p", *options, "-t", "=seen:").rstrip("\n").split("\n")

    try:
        async with asyncio.timeout(PATIENCE_S):
            while not (len(rows := [row.rstrip() for row in look()]) > 4 and seen(rows)):
                await asyncio.sleep(0)
    except TimeoutError:
        raise AssertionError("never seen, but:\n" + "\n".join(look())) from None
    return rows
