"""We never signal a process that is not ours: a number is no proof, and neither is half of one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.run_places import run_at
from tests.faults.aftermath import HERE, SOURCES, output_of, program
from tests.faults.crashing import POINT_VARIABLE
from tests.faults.records import make_run

from pi_subagents.core.run.files import MARKER_VARIABLE
from pi_subagents.core.value import replace
from pi_subagents.service.runs import Runs
from pi_subagents.store.orphans import marker_of
from pi_subagents.store.recovery import conclude_lost
from pi_subagents.system import crash_points
from pi_subagents.system import identity as ids
from pi_subagents.system.identity import Identity, identity_from_json

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.workplace import Workplace

LAST_PID = "/proc/sys/kernel/ns_last_pid"
NOT_ALLOWED = "only root may choose the next number of a process; the table of mismatches stands in"


def myself() -> Identity:
    known = ids.identify(os.getpid())
    if known is None:
        pytest.skip("this kernel has no handles on processes")
    return known


def test_a_process_is_proven_by_everything_that_is_known_of_it() -> None:
    known = myself()
    assert ids.is_alive(known)
    assert identity_from_json(json.loads(json.dumps(known.to_json()))) == known


@pytest.mark.parametrize(
    "difference",
    [
        {"start_ticks": "1"},
        {"start_ticks": ""},
        {"boot_id": "00000000-0000-0000-0000-000000000000"},
        {"boot_id": ""},
        {"pid_namespace": "pid:[1]"},
        {"pid_namespace": ""},
        {"handle": 1},
        {"handle": 0},
        {"pid": 1},
        {"pid": 2**22 + 1},
        {"pid": 2**31 - 1},
    ],
    ids=str,
)
def test_an_identity_that_differs_in_anything_is_never_proven(difference: dict[str, Any]) -> None:
    other = replace(myself(), **difference)
    assert ids.is_alive(other) is False


def test_without_the_number_of_its_handle_a_process_of_this_kernel_is_not_proven() -> None:
    known = myself()
    if known.handle is None:
        pytest.skip("this kernel does not number its handles")
    assert ids.is_alive(replace(known, handle=None)) is False


def test_a_process_that_ended_is_not_proven_even_while_its_number_is_taken() -> None:
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as process:
        known = ids.identify(process.pid)
        assert known is not None
        assert ids.is_alive(known)
    assert ids.is_alive(known) is False


WHOLE = {"pid": 7, "startTicks": "5", "bootId": "b", "pidNamespace": "n", "handle": None}


@pytest.mark.parametrize(
    "content",
    [None, 7, "7", [], {}, {"pid": 7}]
    + [{k: v for k, v in WHOLE.items() if k != missing} for missing in WHOLE]
    + [{**WHOLE, "pid": pid} for pid in (0, -1, "7", None, 7.0)]
    + [{**WHOLE, "startTicks": 5}, {**WHOLE, "bootId": None}, {**WHOLE, "handle": "1"}],
    ids=str,
)
def test_what_is_not_whole_proves_nothing(content: object) -> None:
    assert identity_from_json(content) is None


def reuse(rounds: int) -> dict[str, int]:
    """Let numbers be given out again that many times; skip where that is not allowed."""
    if os.geteuid() != 0 or not os.access(LAST_PID, os.W_OK):
        pytest.skip(NOT_ALLOWED)
    done = subprocess.run(
        [sys.executable, str(HERE / "reuser.py"), str(rounds)],
        env={"PATH": os.defpath, "PYTHONPATH": str(SOURCES), MARKER_VARIABLE: "e" * 32},
        capture_output=True,
        text=True,
        check=False,
    )
    if "ns_last_pid" in done.stderr:
        pytest.skip(NOT_ALLOWED)
    assert done.returncode == 0, done.stderr
    counts: dict[str, int] = json.loads(done.stdout)
    return counts


def test_a_number_that_was_given_out_again_fools_nobody() -> None:
    counts = reuse(25)
    assert counts["rounds"] >= 15, "the kernel gave out the numbers we asked for"
    assert (counts["fooled"], counts["harmed"]) == (0, 0)


async def test_the_sweep_ends_exactly_the_processes_of_the_lost_run(place: Workplace) -> None:
    """Beside them live innocents whose marks are nearly the same."""
    make_run(Runs(place.project, place.env), "finished")
    crash = {POINT_VARIABLE: crash_points.TOOL_CALL}
    arguments = ("detached", str(place.project), "task")
    async with program(place, "caller.py", *arguments, env=crash) as caller:
        child = await place.child("task")
        await child.do("ignore_term")
        await child.fork_setsid()
        grandchild = await place.driver.grandchild()
        child.tell("tool", name="bash", arguments={})
        await output_of(caller)
    run_id = child.run_id
    other = "0" * 32
    nearly = [
        {MARKER_VARIABLE: run_id[:-1]},
        {MARKER_VARIABLE: f"{run_id}0"},
        {MARKER_VARIABLE: run_id.upper() + "x"},
        {MARKER_VARIABLE: other},
        {f"X{MARKER_VARIABLE}": run_id},
        {f"{MARKER_VARIABLE}_ID": run_id},
        {"OTHER": f"{MARKER_VARIABLE}={run_id}"},
        {"NAME": run_id},
        {},
    ]
    # The child may have died of its closed output by now; what left its session has not.
    await grandchild.echo()
    marked = {pid for pid in ids.all_processes() if marker_of(pid) == run_id}
    assert {grandchild.pid} <= marked <= {child.pid, grandchild.pid}
    with ExitStack() as stack:
        innocents = [
            stack.enter_context(
                subprocess.Popen(
                    ["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=env
                )
            )
            for env in nearly
        ]
        (concluded,) = Runs(place.project, place.env).recover()
        assert concluded.run_id == run_id
        await child.gone()
        await grandchild.gone()
        for innocent in innocents:
            assert innocent.stdin is not None
            assert innocent.stdout is not None
            innocent.stdin.write(b"alive\n")
            assert innocent.stdout.read(6) == b"alive\n"
            innocent.stdin.close()


def test_the_recorded_child_of_a_lost_run_is_ended_even_if_it_emptied_its_environment(
    tmp_path: Path,
) -> None:
    with subprocess.Popen(["sleep", "1000"], env={}) as child:
        known = ids.identify(child.pid)
        assert known is not None
        run = run_at(tmp_path / ("a" * 32))
        meta = {"runId": run.run_id, "sessionId": "s", "name": "n", "child": known.to_json()}
        os.close(run.begin(meta, b""))
        result = conclude_lost(run)
        assert result is not None
        assert (result.status, result.notes) == ("interrupted", ())
        assert child.wait(timeout=10) == -signal.SIGKILL
    assert not ids.is_alive(known)
