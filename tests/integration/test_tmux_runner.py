"""Runs in tmux windows end as all others do, are in sight while they work, and leave nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes import canary
from tests.fakes.auditor import find_text
from tests.fakes.driver import PATIENCE_S
from tests.fakes.fake_node import write_script
from tests.fakes.private_tmux import PrivateTmux, needs_tmux, private_tmux, watched
from tests.fakes.processes import command_lines
from tests.fakes.specs import make_order, make_spec
from tests.fakes.workplace import answered, comparable, expected
from tests.integration.test_crashes import INTERRUPTED, end_of, orchestrator

from pi_subagents import errors
from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.task.request import Task
from pi_subagents.core.value import replace
from pi_subagents.runners import attachment, supervisor_start
from pi_subagents.runners import messages as runners_messages
from pi_subagents.runners import tmux as tmux_runner
from pi_subagents.store.desk import Desk
from pi_subagents.store.messages import NOTE_PUT_DOWN
from pi_subagents.system.identity import Identity, identify, is_alive
from pi_subagents.system.process_tree import end_supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Delegating, Workplace

    from pi_subagents.core.run.result import RunResult

pytestmark = needs_tmux


@pytest.fixture
def tmux() -> Iterator[PrivateTmux]:
    with private_tmux() as place:
        yield place


def begin(
    place: Workplace, tmux: PrivateTmux, *tasks: Task | str, env: dict[str, str] | None = None
) -> Delegating:
    everything = {**place.env, **tmux.env, **(env or {})}
    return place.delegate_by_api(*tasks, env=everything, runner="tmux")


def stopped(name: str, **more: object) -> RunResult:
    return expected(name, "aborted", error_message="Stopped on request", **more)


def supervisor_of(place: Workplace, child: FakeProcess) -> int:
    supervisor = place.run_dir(child).read_meta()["supervisor"]
    assert isinstance(supervisor, dict)
    pid = supervisor["pid"]
    assert isinstance(pid, int)
    return pid


# What is seen


async def test_a_run_is_in_sight_while_it_works_and_its_window_goes_with_it(
    place: Workplace, tmux: PrivateTmux
) -> None:
    work = begin(place, tmux, "visible")
    child = await place.child("visible")
    with watched(tmux.own.pid):
        await child.tool("read", {"path": "notes.md"})
        await child.say("Half \x1b[31mdone\x07.")
        shown = tmux.own.wait_until_shown(child.run_id, "Half done.")
        assert shown.splitlines() == [
            f"# visible (run {child.run_id})",
            "Reading notes.md",
            "Finished reading notes.md",
            "Half done.",
        ]
        run = place.run_dir(child)
        assert run.transcript.read_text() == shown + "\n"
        await child.answer_and_exit("All done.")
        result = await work.result()
    assert (result.status, result.output) == ("completed", "All done.")
    assert work.states() == ["starting", "running", "completed"]


async def test_an_answer_is_told_as_from_every_runner(place: Workplace, tmux: PrivateTmux) -> None:
    work = begin(place, tmux, "hello")
    await (await place.child("hello")).answer_and_exit("hi")
    assert comparable(await work.result()) == answered("hello", "hi")


async def test_the_caller_is_told_once_how_to_watch(place: Workplace, tmux: PrivateTmux) -> None:
    notices: list[str] = []
    work = place.delegate_by_api(
        "one", "two", env={**place.env, **tmux.env}, runner="tmux", on_notice=notices.append
    )
    for name in ("one", "two"):
        await (await place.child(name)).answer_and_exit("done")
    await work.results()
    attach = f"tmux -S {tmux.own.socket} attach"
    assert notices == [f"Watch the sub-agents while they run: {attach}"]


async def test_the_runs_of_a_call_are_windows_of_one_session(
    place: Workplace, tmux: PrivateTmux
) -> None:
    work = begin(place, tmux, "one", "two", "three")
    children = [await place.child(name) for name in ("one", "two", "three")]
    windows = tmux.own.windows()
    assert {name for _, name in windows} == {f"sub-{child.run_id[:8]}" for child in children}
    assert len({session for session, _ in windows}) == 1
    for child in children:
        await child.answer_and_exit("done")
    assert [result.status for result in await work.results()] == ["completed"] * 3


async def test_a_later_run_gets_a_window_after_all_others_have_closed(
    place: Workplace, tmux: PrivateTmux
) -> None:
    env = {**place.env, **tmux.env}
    work = place.delegate_by_api("first", "second", env=env, runner="tmux", concurrency=1)
    await (await place.child("first")).answer_and_exit("1")
    second = await place.child("second")
    assert tmux.own.windows() == [(f"sub-{second.run_id[:8]}",) * 2]
    await second.answer_and_exit("2")
    assert [result.output for result in await work.results()] == ["1", "2"]


async def test_output_that_nobody_takes_delays_nothing(place: Workplace, tmux: PrivateTmux) -> None:
    work = begin(place, tmux, "flood")
    child = await place.child("flood")
    tmux.own.wait_until_shown(child.run_id, "# flood")
    tmux.own.press(child.run_id, "C-s")
    for _ in range(20):
        await child.say("x" * 50_000)
    await child.answer_and_exit("through")
    assert (await work.result()).output == "through"


async def test_a_long_answer_is_shown_to_its_end(place: Workplace, tmux: PrivateTmux) -> None:
    """A terminal takes a few thousand bytes at a time."""
    work = begin(place, tmux, "long")
    child = await place.child("long")
    await child.say("\n".join(f"line {number}" for number in range(9000)) + "\nthe end")
    tmux.own.wait_until_shown(child.run_id, "line 8999\nthe end")
    await child.answer_and_exit("done")
    assert (await work.result()).status == "completed"


# How it ends


async def test_a_time_out_ends_it(place: Workplace, tmux: PrivateTmux) -> None:
    settings = {"subagents": {"extend_timeout_debounce": 0, "runner": "tmux"}}
    (place.project / ".pi" / "settings.json").write_text(json.dumps(settings))
    work = place.delegate_by_api(Task("late", "late", timeout_s=2), env={**place.env, **tmux.env})
    child = await place.child("late")
    assert tmux.own.windows() == [(f"sub-{child.run_id[:8]}",) * 2], "by the setting alone"
    assert comparable(await work.result()) == expected(
        "late", "failed", error_message=core_messages.timed_out(2), exit_code=143
    )
    await child.gone()


async def test_a_stop_ends_it_with_all_it_left_behind(place: Workplace, tmux: PrivateTmux) -> None:
    work = begin(place, tmux, "leaver")
    child = await place.child("leaver")
    await child.fork_setsid()
    grandchild = await place.driver.grandchild()
    work.stop()
    assert comparable(await work.result()) == stopped("leaver", exit_code=143)
    await child.gone()
    await grandchild.gone()


async def test_force_ends_a_child_that_ignores_sigterm(place: Workplace, tmux: PrivateTmux) -> None:
    work = begin(place, tmux, "stubborn")
    child = await place.child("stubborn")
    await child.do("ignore_term")
    work.force()
    assert comparable(await work.result()) == stopped(
        "stubborn", exit_code=137, signal_name="SIGKILL"
    )


async def test_closing_the_window_aborts_the_run(place: Workplace, tmux: PrivateTmux) -> None:
    work = begin(place, tmux, "closed", "sibling")
    child, sibling = await place.child("closed"), await place.child("sibling")
    await child.fork_setsid()
    grandchild = await place.driver.grandchild()
    tmux.own.close(child.run_id)
    closed = await work.result_of("closed")
    assert comparable(closed) == stopped("closed", exit_code=143)
    await child.gone()
    await grandchild.gone()
    await sibling.answer_and_exit("unharmed")
    assert comparable((await work.results())[1]) == answered("sibling", "unharmed")


async def test_a_window_closed_before_anybody_listens_aborts_the_run_too(
    place: Workplace, tmux: PrivateTmux, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here, go_on = tmp_path / "here", tmp_path / "go on"
    os.mkfifo(here)
    os.mkfifo(go_on)
    waiting = f"open({str(here)!r}, 'w').close(); open({str(go_on)!r}).close(); "
    monkeypatch.setattr(supervisor_start, "BOOT", waiting + supervisor_start.BOOT)
    work = begin(place, tmux, "early")
    await asyncio.to_thread(here.read_bytes)
    (run,) = place.run_dirs()
    tmux.own.close(run.run_id)
    await asyncio.to_thread(go_on.write_bytes, b"")
    result = await work.result()
    assert (result.status, result.error_message) == ("aborted", core_messages.STOPPED_ON_REQUEST)


async def test_killing_the_tmux_server_aborts_the_run(place: Workplace, tmux: PrivateTmux) -> None:
    work = begin(place, tmux, "serverless")
    child = await place.child("serverless")
    os.kill(tmux.own.pid, signal.SIGKILL)
    assert comparable(await work.result()) == stopped("serverless", exit_code=143)
    await child.gone()


async def test_ctrl_c_in_the_window_aborts_the_run(place: Workplace, tmux: PrivateTmux) -> None:
    work = begin(place, tmux, "typed")
    child = await place.child("typed")
    tmux.own.press(child.run_id, "C-c")
    assert comparable(await work.result()) == stopped("typed", exit_code=143)


async def test_other_keys_in_the_window_change_nothing(place: Workplace, tmux: PrivateTmux) -> None:
    work = begin(place, tmux, "typed")
    child = await place.child("typed")
    tmux.own.press(child.run_id, "q", "x", "C-z", "C-\\", "C-d", "Enter")
    await child.say("Undisturbed.")
    shown = tmux.own.wait_until_shown(child.run_id, "Undisturbed.")
    assert shown.splitlines() == [f"# typed (run {child.run_id})", "Undisturbed."]
    await child.answer_and_exit("done")
    assert (await work.result()).status == "completed"


async def test_kill_9_of_the_orchestrator_interrupts_the_run(
    place: Workplace, tmux: PrivateTmux
) -> None:
    (place.project / ".pi" / "settings.json").write_text('{"subagents": {"runner": "tmux"}}')
    place.secrets.update(tmux.env)
    async with orchestrator(place, "working") as caller:
        child = await place.child("working")
        await child.tool("bash", {"command": "setsid server &"})
        await child.fork_setsid()
        grandchild = await place.driver.grandchild()
        with watched(tmux.own.pid):
            caller.kill()
            await child.gone()
            await grandchild.gone()
            result = await end_of(place.run_dir(child))
    assert (result.status, result.error_message) == ("interrupted", INTERRUPTED)


async def test_kill_9_of_a_caller_that_reads_nothing_any_more_interrupts_the_run(
    place: Workplace, tmux: PrivateTmux
) -> None:
    """What it left unread makes the kernel reset the connection instead of closing it."""
    (place.project / ".pi" / "settings.json").write_text('{"subagents": {"runner": "tmux"}}')
    place.secrets.update(tmux.env)
    async with orchestrator(place, "working") as caller:
        child = await place.child("working")
        caller.send_signal(signal.SIGSTOP)
        await child.say("Somebody there?")
        tmux.own.wait_until_shown(child.run_id, "Somebody there?")
        caller.kill()
        await child.gone()
        result = await end_of(place.run_dir(child))
    assert (result.status, result.error_message) == ("interrupted", INTERRUPTED)


async def test_kill_9_of_the_supervisor_is_told_and_nobody_is_left(
    place: Workplace, tmux: PrivateTmux
) -> None:
    work = begin(place, tmux, "orphan")
    child = await place.child("orphan")
    await child.fork_setsid()
    grandchild = await place.driver.grandchild()
    await work.sees(ev.StateChanged("running"))
    os.kill(supervisor_of(place, child), signal.SIGKILL)
    result = await work.result()
    assert (result.status, result.error_message) == ("interrupted", INTERRUPTED)
    await child.gone()
    await grandchild.gone()


async def test_a_supervisor_killed_before_it_read_a_command_is_told_as_well(
    place: Workplace, tmux: PrivateTmux
) -> None:
    faults: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    work = begin(place, tmux, "deaf")
    child = await place.child("deaf")
    await work.sees(ev.StateChanged("running"))
    supervisor = supervisor_of(place, child)
    os.kill(supervisor, signal.SIGSTOP)
    work.stop()
    os.kill(supervisor, signal.SIGKILL)
    result = await work.result()
    assert (result.status, result.error_message) == ("interrupted", INTERRUPTED)
    assert faults == []


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Have supervisors that do nothing but tell their number; tmux wakes one that is stopped."""
    numbers = tmp_path / "numbers"
    os.mkfifo(numbers)
    tell = f"print(os.getpid(), file=open({str(numbers)!r}, 'w'), flush=True)"
    monkeypatch.setattr(supervisor_start, "BOOT", f"import os, signal; {tell}; signal.pause()")
    monkeypatch.setattr(attachment, "SIGN_LIMIT_S", 0.5)
    return numbers


async def test_a_supervisor_that_does_not_answer_is_ended_and_the_result_says_so(
    place: Workplace, tmux: PrivateTmux, deaf: Path
) -> None:
    work = begin(place, tmux, "hung")
    supervisor = identify(int(await asyncio.to_thread(deaf.read_text)))
    assert supervisor is not None
    work.stop()
    assert comparable(await work.result()) == stopped("hung", notes=(NOTE_PUT_DOWN,))
    assert not is_alive(supervisor)


async def test_a_process_that_only_has_the_number_of_a_supervisor_is_left_alone(
    place: Workplace, tmux: PrivateTmux, deaf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is ended is who connected, not whoever has its number by then."""
    ended: asyncio.Queue[bool] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def another(pid: int) -> Identity | None:
        found = identify(pid)
        return found and replace(found, start_ticks="1")

    def end_and_tell(supervisor: Identity | None) -> bool:
        gone = end_supervisor(supervisor)
        loop.call_soon_threadsafe(ended.put_nowait, gone)
        return gone

    monkeypatch.setattr(tmux_runner, "identify", another)
    monkeypatch.setattr(attachment, "end_supervisor", end_and_tell)
    work = begin(place, tmux, "unharmed")
    there = identify(int(await asyncio.to_thread(deaf.read_text)))
    assert there is not None
    work.stop()
    async with asyncio.timeout(PATIENCE_S):
        assert await ended.get(), "nothing of the other is left"
    assert is_alive(there)
    os.kill(there.pid, signal.SIGKILL)
    assert (await work.result()).status == "aborted"


async def test_a_run_is_concluded_only_when_its_supervisor_is_really_gone(
    place: Workplace, tmux: PrivateTmux, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    go_on = tmp_path / "go on"
    os.mkfifo(go_on)
    slow_end = f"import os; os.close(0); os.close(1); open({str(go_on)!r}).close(); "
    slow_end += "sum(range(5 * 10**6)); os._exit(0)"
    monkeypatch.setattr(supervisor_start, "BOOT", slow_end)
    wait_for_end = Desk.wait_for_end

    def let_it_end(desk: Desk, limit_s: float) -> bool:
        go_on.write_bytes(b"")
        return wait_for_end(desk, limit_s)

    monkeypatch.setattr(Desk, "wait_for_end", let_it_end)
    result = await begin(place, tmux, "slow").result()
    assert comparable(result) == expected("slow", "interrupted", error_message=INTERRUPTED)


# What tmux knows


async def test_names_of_tasks_never_reach_tmux(place: Workplace, tmux: PrivateTmux) -> None:
    planted = place.project / "planted"
    name = f"#(touch {planted}) #{{pid}} ;kill-server"
    work = begin(place, tmux, Task(name, "innocent"))
    child = await place.child("innocent")
    assert tmux.own.windows() == [(f"sub-{child.run_id[:8]}",) * 2]
    assert tmux.own.wait_until_shown(child.run_id, "#(touch").startswith(f"# {name} (run ")
    # tmux runs what is in a name when it next draws it: ask it to draw.
    tmux.own("display-message", "-p", "-t", f"sub-{child.run_id[:8]}", "#{T:status-left} #W #S #T")
    await child.answer_and_exit("done")
    assert (await work.result()).status == "completed"
    assert not planted.exists()


async def test_secrets_never_reach_tmux_or_a_command_line(
    place: Workplace, tmux: PrivateTmux
) -> None:
    work = begin(place, tmux, "keyed")
    child = await place.child("keyed")
    assert child.environment["SOME_SERVICE_TOKEN"] == canary.IN_ENVIRONMENT
    server = Path(f"/proc/{tmux.own.pid}/environ").read_bytes().decode()
    seen = "".join(map(str, command_lines().values()))
    known = tmux.own("show-environment", "-g") + tmux.own("show-environment")
    assert canary.heard(server, seen, known) == []
    assert [find_text(tmux.runtime, each.encode()) for each in canary.CANARIES] == [[], []]
    await child.answer_and_exit("done")
    await work.result()


async def test_the_child_has_the_callers_environment_and_no_other(
    place: Workplace, tmux: PrivateTmux
) -> None:
    odd = {"ODD": os.fsdecode(b"\xff=\xfe\n"), "EMPTY": "", "BIG": "x" * 100_000}
    env = {**place.env, **tmux.env, **odd}
    seen = []
    for runner in ("process", "tmux"):
        work = place.delegate_by_api(runner, env=env, runner=runner)
        child = await place.child(runner)
        seen.append({k: v for k, v in child.environment.items() if k != "PI_SUBAGENTS_RUN"})
        await child.answer_and_exit("done")
        await work.result()
    assert seen[0] == seen[1]
    assert seen[0].keys() >= odd.keys()


async def test_the_child_cannot_reach_the_terminal_of_its_window(
    place: Workplace, tmux: PrivateTmux
) -> None:
    work = begin(place, tmux, "blind")
    child = await place.child("blind")
    await work.sees(ev.StateChanged("running"))
    fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    assert int(fields[4]) == 0, "it has no controlling terminal"
    assert os.getsid(child.pid) == child.pid != os.getsid(supervisor_of(place, child))
    assert os.readlink(f"/proc/{supervisor_of(place, child)}/fd/2") == os.devnull
    inherited = {os.readlink(each) for each in Path(f"/proc/{child.pid}/fd").iterdir()}
    assert not [each for each in inherited if each.startswith("/dev/pts")]
    await child.answer_and_exit("done")
    await work.result()


async def test_the_sockets_are_private_and_none_is_left(
    place: Workplace, tmux: PrivateTmux
) -> None:
    work = begin(place, tmux, "tidy")
    child = await place.child("tidy")
    directory = tmux.runtime / "pi-subagents"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert [path.name for path in directory.iterdir()] == ["tmux"]
    await child.answer_and_exit("done")
    await work.result()


# In the caller's own tmux


async def test_inside_tmux_the_window_is_in_the_callers_session_and_not_switched_to(
    place: Workplace, tmux: PrivateTmux
) -> None:
    users = tmux.users()
    users("set-option", "-g", "remain-on-exit", "on")
    users("set-hook", "-g", "window-unlinked", "wait-for -S gone")
    inside = {"TMUX": f"{users.socket},{users.pid},0", "TMUX_PANE": "%0"}
    notices: list[str] = []
    work = place.delegate_by_api(
        "guest", env={**place.env, **tmux.env, **inside}, runner="tmux", on_notice=notices.append
    )
    child = await place.child("guest")
    name = f"sub-{child.run_id[:8]}"
    assert users.windows() == [("work", "editor"), ("work", name)]
    assert users("display-message", "-p", "#W").strip() == "editor"
    assert child.environment["TMUX"] == inside["TMUX"], "unchanged, as everything else"
    await child.answer_and_exit("done")
    assert comparable(await work.result()) == answered("guest", "done")
    await asyncio.to_thread(users, "wait-for", "gone")
    assert users.windows() == [("work", "editor")]
    assert notices == [runners_messages.NOTICE_TMUX_INSIDE]
    assert not tmux.own.socket.exists()


async def test_a_tmux_that_is_gone_is_not_needed(place: Workplace, tmux: PrivateTmux) -> None:
    gone = {"TMUX": f"{tmux.runtime}/gone,1,0", "TMUX_PANE": "%0"}
    work = begin(place, tmux, "lonely", env=gone)
    child = await place.child("lonely")
    assert tmux.own.windows() == [(f"sub-{child.run_id[:8]}",) * 2]
    await child.answer_and_exit("done")
    assert comparable(await work.result()) == answered("lonely", "done")


# Where it cannot be done


async def test_without_tmux_the_call_is_refused_and_nothing_is_left(place: Workplace) -> None:
    empty = place.home / "bin"
    empty.mkdir()
    env = {**place.env, "PATH": str(empty)}
    work = place.delegate_by_api("never", env=env, runner="tmux")
    with pytest.raises(errors.TmuxNotFound):
        await work.work
    assert place.run_dirs() == []


def with_fake_tmux(place: Workplace, tmux: PrivateTmux, script: str) -> dict[str, str]:
    program = f'#!/bin/sh\n[ "$1" = -V ] && echo tmux 3.3a && exit\n{script}\n'
    directory = place.home / "bin"
    write_script(directory / "tmux", program)
    return {**tmux.env, "PATH": f"{directory}:{os.defpath}"}


async def test_a_tmux_that_opens_no_window_fails_the_task_with_its_reason(
    place: Workplace, tmux: PrivateTmux
) -> None:
    env = with_fake_tmux(place, tmux, "echo no more windows >&2; exit 1")
    result = await begin(place, tmux, "unlucky", env=env).result()
    assert comparable(result) == expected(
        "unlucky",
        "failed",
        error_message=core_messages.SPAWN_FAILED,
        notes=("tmux opened no window: no more windows",),
    )


async def test_a_window_that_never_answers_fails_the_task(
    place: Workplace, tmux: PrivateTmux, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tmux_runner, "START_LIMIT_S", 0.5)
    env = with_fake_tmux(place, tmux, "exit 0")
    result = await begin(place, tmux, "silent", env=env).result()
    assert comparable(result) == expected(
        "silent",
        "failed",
        error_message=core_messages.SPAWN_FAILED,
        notes=(runners_messages.note_window_not_started(0.5),),
    )
    assert list((tmux.runtime / "pi-subagents").iterdir()) == []


async def test_a_caller_who_is_cancelled_meanwhile_leaves_nothing(
    place: Workplace, tmux: PrivateTmux
) -> None:
    opened = place.home / "opened"
    os.mkfifo(opened)
    work = begin(place, tmux, "waiting", env=with_fake_tmux(place, tmux, f"echo x > {opened}"))
    await asyncio.to_thread(opened.read_bytes)
    work.work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work.work
    (run,) = place.run_dirs()
    result = run.read_result()
    assert result is not None
    assert comparable(result) == stopped("waiting")
    assert list((tmux.runtime / "pi-subagents").iterdir()) == []


async def test_no_descriptor_is_left_open_by_many_windows(
    place: Workplace, tmux: PrivateTmux
) -> None:
    async def one(name: str) -> None:
        work = begin(place, tmux, name)
        await (await place.child(name)).answer_and_exit("done")
        await work.result()

    await one("warm up")
    before = len(os.listdir("/proc/self/fd")) - len(place.driver.processes)
    for number in range(5):
        await one(f"number {number}")
    after = len(os.listdir("/proc/self/fd")) - len(place.driver.processes)
    assert after <= before


async def test_a_connection_that_cannot_be_told_what_to_run_is_closed() -> None:
    here, there = socket.socketpair()
    with here, there:
        order = make_order(make_spec("r", "s", "name", ("pi",), "/"), "/runs/r")
        with pytest.raises(ValueError, match="embedded null byte"):
            await tmux_runner.hand_over(here, order, {"A": "1\0B=2"})
        assert here.fileno() == -1
        assert there.recv(1) == b"", "not even a part was sent"


def test_a_connection_by_another_user_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    with one, other:
        assert tmux_runner.is_ours(one)
        if sys.platform == "linux":
            monkeypatch.setattr(os, "geteuid", lambda: 12345)
            assert not tmux_runner.is_ours(one)
