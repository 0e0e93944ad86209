from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.records import record, with_facts
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.session.recent import (
    MAX_RUNS,
    MAX_SESSIONS,
    Session,
    SessionView,
)
from pi_subagents.core.usage import Usage

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord


def run(number: int, session: str = "", status: str = "completed") -> RunRecord:
    """Return a run that was begun at `number`, in a session of its own unless one is named."""
    return record(f"r{number}", session or f"s{number}", "n", status, started_at_ms=number + 1)


def view_of(*runs: RunRecord) -> SessionView:
    view = SessionView()
    for each in runs:
        view.register(each)
    return view


def ids(view: SessionView) -> list[str]:
    return [session.session_id for session in view.sessions()]


# Sessions


def test_sessions_are_told_with_the_newest_run_first() -> None:
    first, second, third = run(1), run(2), run(3)
    resumed = run(4, session="s1")
    view = view_of(first, third, second, resumed)
    assert view.sessions() == [
        Session("s1", (first, resumed)),
        Session("s3", (third,)),
        Session("s2", (second,)),
    ]
    assert view.runs("s1") == (first, resumed)
    assert view.runs("unknown") == ()


def test_the_latest_run_speaks_for_a_session_and_all_are_counted() -> None:
    one = with_facts(run(1, "s"), usage=Usage(input=1, cost=0.5))
    other = with_facts(run(2, "s"), usage=Usage(input=2, cost=0.25))
    session = Session("s", (one, other))
    assert (session.latest, session.usage) == (other, Usage(input=3, cost=0.75))


def test_a_session_runs_while_any_of_its_runs_does() -> None:
    assert Session("s", (run(1, status="planned"), run(2))).running
    assert not Session("s", (run(1, status="failed"), run(2))).running


def test_the_33rd_session_takes_the_place_of_the_one_that_began_first() -> None:
    runs = [run(i) for i in range(1, MAX_SESSIONS + 1)]
    view = view_of(*runs[1:], runs[0], run(50, session="s1"))  # goes on, and yet began first
    assert len(ids(view)) == MAX_SESSIONS
    view.register(run(99))
    assert ids(view) == ["s99", *(f"s{i}" for i in range(MAX_SESSIONS, 1, -1))]
    assert view.runs("s1") == ()


def test_a_session_that_runs_is_never_let_go_of() -> None:
    view = view_of(run(0, status="stopping"), *(run(i) for i in range(1, 100)))
    assert ids(view) == [*(f"s{i}" for i in range(99, 99 - MAX_SESSIONS + 1, -1)), "s0"]


def test_where_everything_runs_the_view_grows_until_something_has_ended() -> None:
    running = [run(i, status="running") for i in range(MAX_SESSIONS + 2)]
    view = view_of(*running, run(90))  # what was just registered stays too
    assert len(ids(view)) == MAX_SESSIONS + 3
    view.register(run(91, status="running"))
    assert len(ids(view)) == MAX_SESSIONS + 3
    assert view.runs("s90") == ()
    for i in range(MAX_SESSIONS + 2):
        view.register(run(i))
    assert ids(view) == ["s91", *(f"s{i}" for i in range(MAX_SESSIONS + 1, 2, -1))]


def test_a_view_without_bound_has_them_all() -> None:
    view = SessionView(max_sessions=None)
    for i in range(100):
        view.register(run(i))
    assert len(ids(view)) == 100


# Runs of a session


def test_the_eleventh_run_shifts_the_oldest_off() -> None:
    runs = [run(i, "s") for i in range(MAX_RUNS + 2)]
    assert view_of(*runs).runs("s") == tuple(runs[2:])


def test_a_run_that_is_running_is_not_shifted_off() -> None:
    old = run(0, "s", "running")
    runs = [run(i, "s") for i in range(1, MAX_RUNS + 2)]
    assert view_of(old, *runs).runs("s") == (old, *runs[2:])
    all_running = [run(i, "s", "running") for i in range(MAX_RUNS + 3)]
    assert view_of(*all_running).runs("s") == tuple(all_running)
    latest = run(99, "s")
    assert view_of(*all_running, latest).runs("s") == (*all_running, latest)


def test_a_run_that_changed_is_told_anew_in_its_place() -> None:
    began, other, ended = run(1, "s", "running"), run(2, "s"), run(1, "s", "failed")
    assert view_of(began, other, ended).runs("s") == (ended, other)


def test_runs_without_an_id_are_told_apart_by_their_start() -> None:
    first, second = (with_facts(run(i, "s"), run_id="") for i in (1, 2))
    changed = with_facts(first, status="failed")
    assert view_of(first, second, changed).runs("s") == (changed, second)
    unknown = with_facts(first, started_at_ms=0)
    assert view_of(unknown, unknown).runs("s") == (unknown, unknown)
    with_id = run(1, "s")
    assert view_of(first, with_id).runs("s") == (first, with_id)


statuses = st.sampled_from(["running", "completed", "failed"])
many_runs = st.lists(
    st.builds(run, st.integers(0, 60), st.sampled_from([f"s{i}" for i in range(50)]), statuses),
    max_size=150,
)


@thoroughly
@given(many_runs)
def test_whatever_is_registered_the_bounds_hold_and_nothing_running_is_lost(
    runs: list[RunRecord],
) -> None:
    view = SessionView()
    newest: dict[tuple[str, str], RunRecord] = {}
    for each in runs:
        view.register(each)
        newest[each.session_id, each.run_id] = each
        sessions = view.sessions()
        ended = [s for s in sessions if not s.running and s.session_id != each.session_id]
        assert len(sessions) <= MAX_SESSIONS or not ended
        assert each in view.runs(each.session_id)
    for session in view.sessions():
        idle = [each for each in session.runs[:-1] if each.tool_status != "running"]
        assert len(session.runs) <= MAX_RUNS or not idle
        assert all(newest[session.session_id, each.run_id] == each for each in session.runs)
    running = {key for key, each in newest.items() if each.status == "running"}
    heard = {(s.session_id, each.run_id) for s in view.sessions() for each in s.runs}
    assert running <= heard


# From a host's session log
