"""Whether a child may serve another run; what it leaves running is tested with real children."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from pi_subagents.core.run.spec import MAX_REUSE
from pi_subagents.supervisor import reuse
from pi_subagents.system import process_tree

if TYPE_CHECKING:
    from pi_subagents.supervisor.child import Child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "descendants", lambda _: {})


def child(**changes: Any) -> Child:
    """A child that is this very process: alive, and of a size that is known to the kernel."""
    facts = {"runs": 1, "started": time.monotonic(), "ended": False}
    own = {
        "pid": os.getpid(),
        "own_processes": frozenset({os.getpid()}),
        "conditions": reuse.conditions_of(os.getpid()),
    }
    return cast("Child", SimpleNamespace(**{**facts, **own, **changes}))


def fit(of: Child) -> bool:
    return reuse.may_serve_again(of, lambda _: None)


def test_a_child_in_good_order_may_serve_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "MAX_BYTES", 2**40)  # this process has run other tests before
    assert fit(child())
    assert fit(child(runs=MAX_REUSE - 1))


@pytest.mark.parametrize(
    "changes",
    [
        {"runs": MAX_REUSE},
        {"started": time.monotonic() - reuse.MAX_AGE_S},
        {"ended": True},
        {"own_processes": frozenset()},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_one_that_is_worn_old_dead_or_unknown_may_not(changes: dict[str, Any]) -> None:
    assert not fit(child(**changes))


def test_one_whose_limits_were_changed_from_outside_may_not() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        for change in (
            lambda pid: resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, 64)),
            lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 7),
            lambda pid: Path(f"/proc/{pid}/oom_score_adj").write_text("1000"),
        ):
            before = reuse.conditions_of(process.pid)
            own = {"pid": process.pid, "own_processes": frozenset({process.pid})}
            assert fit(child(**own, conditions=before))
            change(process.pid)
            assert not fit(child(**own, conditions=before))
        process.communicate(b"\n")


def test_one_that_has_grown_large_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "MAX_BYTES", 1024 * 1024)
    assert not fit(child())


def test_one_whose_run_left_what_cannot_be_ended_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "SWEEP_LIMIT_S", 0)
    monkeypatch.setattr(reuse, "kill_exactly", lambda *_: None)
    monkeypatch.setattr(process_tree, "descendants", lambda _: {1: "long ago"})
    assert not fit(child())
