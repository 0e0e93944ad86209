"""Faults of our own: a supervisor that breaks down still tells the truth, and leaves nobody."""

from __future__ import annotations

import asyncio
import os
import select
import signal
from typing import TYPE_CHECKING

from tests.fakes.child_modes import takes_long
from tests.fakes.driver import PATIENCE_S
from tests.fakes.workplace import answered, comparable, expected

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.runners import supervisor_start
from pi_subagents.store import messages as store_messages
from pi_subagents.supervisor import messages as supervisor_messages

if TYPE_CHECKING:
    import pytest
    from tests.fakes.workplace import Workplace

pytestmark = takes_long


def broken(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Let supervisors be started with something wrong inside them."""
    boot = supervisor_start.BOOT
    main = "os._exit(main())"
    assert main in boot
    fault = f"s = sys.modules['pi_subagents.supervisor.supervisor']; {what}; {main}"
    monkeypatch.setattr(supervisor_start, "BOOT", boot.replace(main, fault))


async def test_a_fault_while_output_is_taken_in_is_told_and_nobody_is_left(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy = place.delegate_by_api("healthy")
    sibling = await place.child("healthy")
    with monkeypatch.context() as patched:
        fails = "1 / 0 if b'the last straw' in data else real(self, data)"
        broken(patched, f"real = s.Intake.output; s.Intake.output = lambda self, data: {fails}")
        work = place.delegate_by_api("unlucky")
        child = await place.child("unlucky")
    await child.do("ignore_term")
    await child.fork_setsid()
    grandchild = await place.driver.grandchild()
    child.tell("say", text="the last straw")
    result = await work.result()
    fault = repr(ZeroDivisionError("division by zero"))
    assert (result.status, result.error_message) == (
        "failed",
        supervisor_messages.supervisor_failed(fault),
    )
    await child.gone()
    await grandchild.gone()
    await sibling.answer_and_exit("unharmed")
    assert comparable(await healthy.result()) == answered("healthy", "unharmed")


async def test_a_supervisor_that_cannot_even_begin_is_told(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, "raise ImportError")
    result = await place.delegate_by_api("unlucky").result()
    assert (result.status, result.error_message) == ("interrupted", core_messages.INTERRUPTED)
    assert place.driver.children == []


POWERLESS = (
    "t = s.process_tree; t.SWEEP_LIMIT_S = 0.05; t.kill_exactly = lambda *_: None; "
    "t.os.kill = t.os.killpg = lambda *_: None; "
    "t.kill_children = lambda _: False; t.kill_group_of_child = lambda _: None"
)


async def test_a_child_that_even_sigkill_does_not_end_keeps_no_run_from_its_end(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, POWERLESS)
    work = place.delegate_by_api("undead")
    child = await place.child("undead")
    await child.do("ignore_term")
    work.force()
    assert comparable(await work.result()) == expected(
        "undead",
        "aborted",
        error_message=core_messages.STOPPED_ON_REQUEST,
        notes=(store_messages.NOTE_PROCESSES_LEFT,),
    )
    child.signal(signal.SIGKILL)
    await child.gone()


async def test_one_that_cannot_be_ended_and_never_stops_writing_is_heard_no_longer(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, POWERLESS)
    work = place.delegate("undead", argv=("yes",), session_option="")
    await work.sees(ev.OutputText)
    process = place.store.runs()[0].read_meta()["child"]
    assert isinstance(process, dict)
    handle = os.pidfd_open(process["pid"])
    work.force()
    result = await work.result()
    assert (result.status, result.notes[0]) == ("aborted", store_messages.NOTE_PROCESSES_LEFT)
    # Nobody reads what it writes any more, which ends it.
    assert (await asyncio.to_thread(select.select, [handle], [], [], PATIENCE_S))[0]
    os.close(handle)
