"""Who may start a child: all that it needs is taken at once, or nothing is held."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from tests.fakes.specs import make_spec

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.question import LIMIT, PLACE, WaitingFor
from pi_subagents.core.run.spec import RunSpec, changed
from pi_subagents.store.local_order import LocalOrder, PlaceOrder
from pi_subagents.store.provider_limits import FIRST_WAIT_S, LONGEST_WAIT_S, ProviderLimits
from pi_subagents.supervisor.admission.entering import Admission
from pi_subagents.system.slots import acquire_slot

if TYPE_CHECKING:
    from pathlib import Path

HOUR_MS = 3_600_000
SPEC = make_spec("run", "session", "a", ("pi",), cwd="/")
LIMITED = ev.Limited("acme", after_s=3600)


class Waiting:
    """An admission with what it shows and records."""

    def __init__(self, data: Path, **changes: object) -> None:
        spec: RunSpec = changed(SPEC, provider="acme", **changes)
        place = PlaceOrder(desk=str(data / "desks" / "a"), slots_dir=str(data / "slots"))
        self.shown: list[WaitingFor | None] = []
        self.recorded: list[ev.Event] = []
        order = LocalOrder(spec, place)
        self.admission = Admission(order, self.shown.append, self.recorded.append)
        self.pauses: list[float] = []

    def tries(self, times: int = 1) -> bool:
        """Return whether it entered within so many pauses."""

        def pause(seconds: float) -> bool:
            self.pauses.append(seconds)
            return len(self.pauses) < times

        self.pauses = []
        return self.admission.enter(pause)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_without_limits_everybody_enters_and_nothing_is_written(tmp_path: Path) -> None:
    one = Waiting(tmp_path)
    assert one.tries()
    assert (one.shown, one.recorded, list(tmp_path.iterdir())) == ([], [], [])


def test_a_known_limit_keeps_everybody_out_and_says_until_when(tmp_path: Path) -> None:
    until = now_ms() + HOUR_MS
    ProviderLimits(tmp_path, "acme").note(until, now_ms())
    one = Waiting(tmp_path, max_children=1)
    assert not one.tries(3)
    assert one.pauses == [5, 5, 5]
    shown, gone = one.shown
    assert shown is not None
    assert (shown.kind, until <= shown.until_ms <= until + 10_000, gone) == (LIMIT, True, None)
    assert one.recorded == [ev.Note(shown.text)]
    held = acquire_slot(str(tmp_path / "slots"), 1)
    assert held is not None, "who waits for a limit takes no place"


def test_a_place_that_is_missing_gives_the_others_back(tmp_path: Path) -> None:
    one = Waiting(tmp_path, max_children=2, max_of_provider=1)
    two = Waiting(tmp_path, max_children=2, max_of_provider=1)
    assert one.tries()
    assert not two.tries()
    assert two.shown[0] == WaitingFor(
        0, "All places for children of acme are taken (provider_limits: 1)", kind=LIMIT
    )
    other = Waiting(tmp_path, max_children=2)
    assert other.tries()
    third = Waiting(tmp_path, max_children=2)
    assert not third.tries()
    assert third.shown[0] == WaitingFor(
        0, "All places for children on this machine are taken (max_machine_children: 2)", kind=PLACE
    )
    assert third.recorded == []
    one.admission.leave()
    assert two.tries()


def test_after_a_limit_the_next_enters_when_the_provider_has_answered(tmp_path: Path) -> None:
    ProviderLimits(tmp_path, "acme").note(now_ms() - 1, now_ms())
    one, two, three = (Waiting(tmp_path) for _ in range(3))
    assert [one.tries(), two.tries(), three.tries()] == [True, False, False]
    one.admission.answered()
    assert [three.tries(), two.tries()] == [True, False]
    three.admission.leave()  # it ended without an answer
    assert two.tries()


@pytest.mark.parametrize(("most_s", "enters"), [(7200, False), (60, False)])
def test_a_limit_that_takes_longer_than_a_run_waits_is_not_waited_for(
    tmp_path: Path, most_s: float, *, enters: bool
) -> None:
    ProviderLimits(tmp_path, "acme").note(now_ms() + HOUR_MS, now_ms())
    one = Waiting(tmp_path, limit_wait_s=most_s)
    assert one.tries() is enters
    assert bool(one.pauses) is (most_s > 3600)
    assert one.admission.too_long.startswith("acme has reached its limit until ") is (most_s < 3600)


def test_a_limit_is_noted_for_others_as_soon_as_its_length_is_known(tmp_path: Path) -> None:
    one, known = Waiting(tmp_path), ProviderLimits(tmp_path, "acme")
    one.admission.met(ev.Limited("acme"), gave_up=False)
    assert known.known(now_ms()) is None
    one.admission.met(LIMITED, gave_up=False)
    noted = known.known(now_ms())
    assert noted is not None
    one.admission.met(LIMITED, gave_up=True)
    again = known.known(now_ms())
    assert again is not None
    assert again.until_ms == noted.until_ms, "the time that it takes to give up adds nothing"


@pytest.mark.parametrize("far_ms", [401 * 24 * HOUR_MS, 10**12 * HOUR_MS])
def test_a_time_that_nobody_can_mean_keeps_nobody_out(tmp_path: Path, far_ms: int) -> None:
    one, known = Waiting(tmp_path), ProviderLimits(tmp_path, "acme")
    absurd = ev.Limited("acme", until_ms=now_ms() + far_ms)
    one.admission.met(absurd, gave_up=False)
    assert known.known(now_ms()) is None
    one.admission.met(absurd, gave_up=True)
    noted = known.known(now_ms())
    assert noted is not None
    assert noted.until_ms <= now_ms() + FIRST_WAIT_S * 1000, "as where nobody says how long"


def test_a_provider_that_refuses_what_it_asked_for_is_left_alone_for_longer_and_longer(
    tmp_path: Path,
) -> None:
    one, known = Waiting(tmp_path), ProviderLimits(tmp_path, "acme")
    for least_s in (1, 2, 4, 8):
        one.admission.met(ev.Limited("acme", until_ms=1), gave_up=True)
        noted = known.known(now_ms())
        assert noted is not None
        assert least_s <= (noted.until_ms - now_ms()) / 1000 + 0.5 <= least_s + 1
    one.admission.answered()
    one.admission.met(ev.Limited("acme", until_ms=1), gave_up=True)
    for _ in range(20):
        one.admission.met(ev.Limited("acme", until_ms=1), gave_up=True)
    noted = known.known(now_ms())
    assert noted is not None
    assert noted.until_ms <= now_ms() + LONGEST_WAIT_S * 1000


def test_the_name_that_a_model_gives_its_provider_counts_as_well(tmp_path: Path) -> None:
    Waiting(tmp_path).admission.met(ev.Limited("acme-eu", after_s=60), gave_up=False)
    assert ProviderLimits(tmp_path, "acme-eu").known(now_ms()) is not None
