"""What is done to watched runs, with real processes; and what is left when watching ends: nothing."""

from __future__ import annotations

import asyncio
import os
import queue
import select
import signal
import subprocess
import sys
import termios
from typing import TYPE_CHECKING

import pytest
from tests.fakes.driver import PATIENCE_S
from tests.fakes.private_tmux import watched
from tests.fakes.processes import command_lines, parent_of
from tests.fakes.pty_command import SUBAGENTS, open_pty

from pi_subagents.faces.cli import messages as cli_messages
from pi_subagents.faces.watch import messages as watch_messages
from pi_subagents.service import messages as service_messages
from pi_subagents.service.fleet_actions import ActionReport, FleetActions
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fakes.workplace import Workplace

    from pi_subagents.core.run.result import RunResult


@pytest.fixture
def heard() -> queue.Queue[ActionReport]:
    """What was said later."""
    return queue.Queue()


def actions(place: Workplace, heard: queue.Queue[ActionReport], **env: str) -> FleetActions:
    return FleetActions(place.project, {**place.env, **env}, heard.put)


async def finished(place: Workplace, prompt: str = "Count.") -> RunResult:
    work = place.delegate_by_api(prompt)
    child = await place.child(prompt)
    await child.answer_and_exit("Seven.")
    return await work.result()


async def test_a_run_is_stopped_with_its_processes(
    place: Workplace, heard: queue.Queue[ActionReport]
) -> None:
    work = place.delegate_by_api("slow")
    child = await place.child("slow")
    await child.fork_setsid()
    grandchild = await place.driver.grandchild()
    done = actions(place, heard)
    run_id = child.run_id
    assert await asyncio.to_thread(done.stop, run_id) == ActionReport("slow: stopped")
    await child.gone()
    await grandchild.gone()
    assert (await work.result()).status == "aborted"
    assert await asyncio.to_thread(done.stop, run_id) == ActionReport(service_messages.RUN_IS_OVER)
    missing = await asyncio.to_thread(done.stop, "0" * 32)
    assert missing.bad


async def test_a_session_goes_on_in_a_process_that_belongs_to_nobody(
    place: Workplace, heard: queue.Queue[ActionReport]
) -> None:
    first = await finished(place)
    # A module of the project must not be taken for one of ours.
    (place.project / "pi_subagents.py").write_text("raise SystemExit(9)")
    secret = "Twice that, and a secret."
    before = len(place.driver.children)
    answer = await asyncio.to_thread(actions(place, heard).resume, first.run_id, secret)
    assert answer == ActionReport(service_messages.resumed("Count."))
    child = await place.driver.next_child(before)
    assert secret in place.run_dir(child).prompt.read_text()
    assert not [line for line in command_lines().values() if secret.encode() in line]
    orchestrator = parent_of(parent_of(child.pid))
    assert os.getsid(orchestrator) == orchestrator != os.getsid(0)
    with watched(orchestrator):
        await child.answer_and_exit("Fourteen.")
        await asyncio.to_thread(place.run_dir(child).desk.wait_for_end, PATIENCE_S)
    view = Runs(place.project, place.env).find(child.run_id)
    assert (view.status, view.session_id, view.name) == (
        "completed", first.session_id, "Count.",
    )  # fmt: skip
    assert view.kind == Runs(place.project, place.env).find(first.run_id).kind
    assert heard.empty()


async def test_a_session_that_cannot_go_on_is_told_at_once(
    place: Workplace, heard: queue.Queue[ActionReport]
) -> None:
    work = place.delegate_by_api("slow")
    child = await place.child("slow")
    done = actions(place, heard)
    for run_id, prompt in ((child.run_id, "go on"), ("0" * 32, "go on"), (child.run_id, " \n")):
        answer = await asyncio.to_thread(done.resume, run_id, prompt)
        assert answer.bad
    await child.answer_and_exit("Done.")
    await work.result()
    assert len(place.driver.children) == 1


async def test_a_refusal_of_the_new_process_is_told_later(
    place: Workplace, heard: queue.Queue[ActionReport]
) -> None:
    first = await finished(place)
    done = actions(place, heard, PI_SUBAGENTS_PI="/no/such/pi")
    assert not (await asyncio.to_thread(done.resume, first.run_id, "go on")).bad
    refusal = await asyncio.to_thread(heard.get, timeout=PATIENCE_S)
    assert refusal.bad
    assert refusal.text.startswith("Not resumed: Error: ")


async def test_a_project_that_is_gone_is_told(
    place: Workplace, heard: queue.Queue[ActionReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await finished(place)
    monkeypatch.setattr(
        "pi_subagents.service.session.follow_up.project_of", lambda _: place.project / "gone"
    )
    answer = await asyncio.to_thread(actions(place, heard).resume, first.run_id, "go on")
    assert answer.bad
    assert "gone" in answer.text


# The real command

END: dict[str, Callable[[subprocess.Popen[str]], None]] = {
    "kill -9": lambda process: process.send_signal(signal.SIGKILL),
    "SIGTERM": lambda process: process.send_signal(signal.SIGTERM),
    "SIGHUP": lambda process: process.send_signal(signal.SIGHUP),
    "Ctrl+C": lambda process: process.send_signal(signal.SIGINT),
}


@pytest.mark.parametrize("how", END)
async def test_however_the_server_ends_nothing_of_it_is_left(place: Workplace, how: str) -> None:
    await finished(place)
    process = subprocess.Popen(
        [*SUBAGENTS, "watch", "--web"],
        cwd=place.project,
        env={**place.env, "DISPLAY": "", "LC_ALL": "C.UTF-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Watching on http://127.0.0.1:")
        with watched(process.pid):
            END[how](process)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert out == ""
    session = [pid for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))) if _in(pid, process.pid)]  # fmt: skip
    assert session == []
    if how == "Ctrl+C":
        assert process.returncode == 0
        assert err.splitlines() == [watch_messages.HOW_TO_END, watch_messages.CLOSING]


async def test_a_view_that_is_told_to_end_leaves_the_terminal_as_it_was(place: Workplace) -> None:
    await finished(place)
    with open_pty() as (master, slave):
        before = termios.tcgetattr(slave)
        process = subprocess.Popen(
            [*SUBAGENTS, "watch"],
            cwd=place.project,
            env={**place.env, "TERM": "xterm", "LC_ALL": "C.UTF-8"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        with process, watched(process.pid):
            read_until(master, b"completed")
            process.send_signal(signal.SIGTERM)
            read_until(master, b"\x1b[?1049l")  # back from the other screen
            assert process.wait(PATIENCE_S) == 0
        assert termios.tcgetattr(slave) == before


def read_until(terminal: int, wanted: bytes) -> None:
    """Return when this has been sent to the terminal."""
    sent = b""
    while wanted not in sent:
        assert select.select([terminal], [], [], PATIENCE_S)[0], sent
        sent += os.read(terminal, 65536)


def _in(pid: int, session: int) -> bool:
    try:
        return os.getsid(pid) == session
    except OSError:
        return False


async def test_without_a_terminal_the_list_is_printed_once(place: Workplace) -> None:
    await finished(place)
    for arguments, wanted in (
        ([], "✓ completed"),
        (["--json"], '"status": "completed"'),
        (["--everywhere", "--json"], '"status": "completed"'),
    ):
        done = subprocess.run(
            [*SUBAGENTS, "watch", *arguments],
            cwd=place.project,
            env={**place.env, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        )
        assert wanted in done.stdout
        hint = "" if arguments else f"{cli_messages.NOTHING_TO_PAINT_ON}\n"
        assert done.stderr == hint


@pytest.mark.parametrize(
    "arguments", [["--port", "80"], ["--no-open"], ["--web", "--json"]], ids=" ".join
)
def test_options_that_contradict_are_refused(tmp_path: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [*SUBAGENTS, "watch", *arguments],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": os.defpath},
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    assert sys.platform == "win32" or not (tmp_path / ".pi").exists()
