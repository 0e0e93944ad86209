"""Whether a child may serve another run; what it leaves running is tested with real children."""

from __future__ import annotations

import os
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from pi_subagents.procs import reuse

if TYPE_CHECKING:
    from pi_subagents.procs.child import Child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "_end_leftovers", lambda *_: True)


def child(**changes: Any) -> Child:
    """A child that is this very process: alive, and of a size that is known to the kernel."""
    facts = {"runs": 1, "started": time.monotonic(), "ended": False}
    own = {"own_processes": frozenset({os.getpid()})}
    return cast("Child", SimpleNamespace(**{**facts, **own, **changes}))


def fit(of: Child) -> bool:
    return reuse.may_serve_again(of, lambda _: None)


def test_a_child_in_good_order_may_serve_again() -> None:
    assert fit(child())
    assert fit(child(runs=reuse.MAX_RUNS - 1))


@pytest.mark.parametrize(
    "changes",
    [
        {"runs": reuse.MAX_RUNS},
        {"started": time.monotonic() - reuse.MAX_AGE_S},
        {"ended": True},
        {"own_processes": frozenset()},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_one_that_is_worn_old_dead_or_unknown_may_not(changes: dict[str, Any]) -> None:
    assert not fit(child(**changes))


def test_one_that_has_grown_large_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "MAX_BYTES", 1024 * 1024)
    assert not fit(child())


def test_one_whose_run_left_what_cannot_be_ended_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "_end_leftovers", lambda *_: False)
    assert not fit(child())
