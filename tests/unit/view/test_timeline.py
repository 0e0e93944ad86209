"""A timeline tells when a run did what, whatever its journal says, and is drawn in any width."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.records import record

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import JournalEntry
from pi_subagents.core.run.record import RunMeta, RunRecord
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.value import replace
from pi_subagents.view.states import shown_state
from pi_subagents.view.timeline import (
    MAX_LANES,
    MAX_SEGMENTS,
    Bar,
    Segment,
    Timeline,
    bar_of,
    condensed,
    timeline_to_json,
    timelines,
)
from pi_subagents.view.timeline_bars import ASCII_MARKS, MARKS, draw, legend

CALL = ev.ToolCall("1", "read", {"path": "/p/a.py"})
DONE = ev.ToolFinished("1", "read", "text", failed=False)


def run_of(*, ends: int | None = 10_000, begins: int = 1000, **meta: object) -> RunRecord:
    """Return a run that was planned at 0 and began at 1 s."""
    made = RunMeta(session_id="s", name="look", cwd="/p", started_at_ms=begins, **meta)  # type: ignore[arg-type]
    result = (
        None
        if ends is None
        else RunResult("r1", "s", "look", "completed", started_at_ms=begins, finished_at_ms=ends)
    )
    return RunRecord("r1", made, result=result)


def entries(*events: tuple[int, ev.Event]) -> list[JournalEntry]:
    return [JournalEntry(number, time_ms, what) for number, (time_ms, what) in enumerate(events)]


def segments(*events: tuple[int, ev.Event], ends: int | None = 10_000) -> tuple[Segment, ...]:
    return bar_of(run_of(ends=ends, begins=0), entries(*events), 20_000).segments


def test_a_bar_has_the_wait_before_it_began_and_each_tool_call() -> None:
    told = entries((2000, ev.ToolStarted(CALL)), (2500, DONE))
    assert bar_of(run_of(call_id="c"), told, 0) == Bar(
        "r1",
        "s",
        "c",
        "look",
        shown_state("completed"),
        0,
        10_000,
        active=False,
        segments=(
            Segment("start", 0, 1000),
            Segment("tool", 2000, 2500, "read", "read → a.py"),
        ),
    )


def test_calls_side_by_side_are_on_lanes_of_their_own_and_one_that_failed_says_so() -> None:
    other = ev.ToolCall("2", "bash", None)
    assert segments(
        (1000, ev.ToolStarted(CALL)),
        (1500, ev.ToolStarted(other)),
        (3000, ev.ToolFinished("2", "bash", "no", failed=True)),
        (3500, ev.ToolStarted(other)),
        (4000, DONE),
    ) == (
        Segment("tool", 1000, 4000, "read", "read → a.py"),
        Segment("tool", 1500, 3000, "bash", "bash", failed=True, reason="no", lane=1),
        Segment("tool", 3500, 10_000, "bash", "bash", lane=1),
    )


def test_a_call_whose_beginning_is_unknown_is_as_long_as_its_child_says() -> None:
    done = replace(DONE, duration_ms=400)
    assert segments((2000, done)) == (Segment("tool", 1600, 2000, "read"),)


def test_a_clock_that_was_set_back_lets_nothing_end_before_it_began() -> None:
    assert segments((3000, ev.ToolStarted(CALL)), (1000, DONE), (2000, ev.Asked("1", "?"))) == (
        Segment("tool", 3000, 3000, "read", "read → a.py"),
        Segment("question", 3000, 10_000, detail="?"),
    )


def test_what_a_script_calls_is_part_of_the_script() -> None:
    inner = replace(CALL, call_id="2", parent_id="1")
    done = replace(DONE, call_id="2", parent_id="1")
    assert segments(
        (1000, ev.ToolStarted(CALL)), (1100, ev.ToolStarted(inner)), (1200, done), (2000, DONE)
    ) == (Segment("tool", 1000, 2000, "read", "read → a.py"),)


def test_a_limit_lasts_until_it_is_said_to_end_or_the_model_works_again() -> None:
    limit = ev.Limited("acme", after_s=2, text="slow down")
    answer = ev.AssistantMessage("hi", duration_ms=500)
    assert segments((1000, limit), (6000, answer)) == (
        Segment("limit", 1000, 3000, "acme", "slow down"),
    )
    for_unknown = replace(limit, after_s=0)
    assert segments((1000, for_unknown), (6000, answer)) == (
        Segment("limit", 1000, 5500, "acme", "slow down"),
    )


def test_a_thousand_calls_side_by_side_have_twelve_lanes() -> None:
    calls = [(1, ev.ToolStarted(ev.ToolCall(str(i), "read", None))) for i in range(1000)]
    bar = bar_of(run_of(begins=0), entries(*calls), 0)
    assert (bar.lanes, len(bar.segments)) == (12, 1000)


def test_a_retry_and_a_question_are_waits_and_one_refused_answer_changes_nothing() -> None:
    assert segments(
        (1000, ev.Retrying(1, 3, 2000, "overloaded")),
        (2500, ev.ToolStarted(CALL)),
        (2600, DONE),
        (3000, ev.Asked("1", "Which?")),
        (3500, ev.Replied("1", ev.REFUSED)),
        (4000, ev.Replied("1", ev.GIVEN)),
        (5000, ev.Asked("2", "And now?")),
    ) == (
        Segment("retry", 1000, 2500, "", "overloaded"),
        Segment("tool", 2500, 2600, "read", "read → a.py"),
        Segment("question", 3000, 4000, detail="Which?"),
        Segment("question", 5000, 10_000, detail="And now?"),
    )


def test_a_run_at_work_reaches_to_now_and_one_that_is_lost_as_far_as_its_journal() -> None:
    told = entries((3000, ev.StateChanged("running")))
    assert bar_of(run_of(ends=None), told, 20_000).end_ms == 20_000
    assert bar_of(replace(run_of(ends=None), lost=True), told, 20_000).end_ms == 3000
    waiting = bar_of(run_of(ends=None, begins=0), [], 500)
    assert waiting.segments == (Segment("start", 0, 500),)


times = st.integers(-5000, 30_000)
texts = st.text(max_size=5)
ids = st.sampled_from("123")
anything = st.one_of(
    st.builds(
        ev.ToolStarted,
        st.builds(ev.ToolCall, ids, texts, st.none(), st.sampled_from(["", "1"])),
    ),
    st.builds(
        ev.ToolFinished, ids, texts, texts, st.booleans(), st.just(""), st.integers(-9, 9000)
    ),
    st.builds(ev.Limited, texts, st.floats(0, 1e9), st.integers(-9, 1 << 60), texts),
    st.builds(ev.Retrying, st.just(1), st.just(2), st.integers(-9, 1 << 60), texts),
    st.builds(ev.Asked, ids, texts),
    st.builds(ev.Replied, ids, st.sampled_from([ev.GIVEN, ev.REFUSED, ev.UNANSWERED])),
    st.builds(ev.AssistantMessage, texts, duration_ms=st.integers(-9, 1 << 40)),
    st.builds(ev.StateChanged, texts),
)


@given(st.lists(st.tuples(times, anything), max_size=30), times, st.booleans(), st.integers(1, 90))
def test_whatever_a_journal_says_segments_are_in_their_bar_and_lanes_in_order(
    told: list[tuple[int, ev.Event]], ends: int, over: bool, width: int
) -> None:
    bar = bar_of(run_of(ends=ends if over else None), entries(*told), 12_000)
    assert bar.begin_ms <= bar.end_ms
    free = dict.fromkeys(range(bar.lanes), bar.begin_ms)
    for each in bar.segments:
        assert bar.begin_ms <= each.begin_ms <= each.end_ms <= bar.end_ms
        assert free[each.lane] <= each.begin_ms or each.lane == MAX_LANES - 1
        free[each.lane] = each.end_ms
    finished = sum(isinstance(what, ev.ToolFinished) for _, what in told)
    assert sum(each.kind == "tool" for each in bar.segments) >= finished
    (line,) = timelines([bar])
    drawn = draw(bar, line, width, MARKS)
    assert sum(len(text) for text, _ in drawn) == width
    assert timeline_to_json(line)["end"] == bar.end_ms


def test_runs_of_one_call_are_together_and_one_without_a_call_is_alone() -> None:
    def bar(run_id: str, call: str, begin: int) -> Bar:
        whole = record(run_id=run_id)
        return replace(bar_of(whole, [], 0), call_id=call, begin_ms=begin, end_ms=begin + 5)

    b, a, old = bar("b", "c", 20), bar("a", "c", 10), bar("old", "", 1)
    assert timelines([b, old, a]) == [
        Timeline("c", 10, 25, (a, b)),
        Timeline("", 1, 6, (old,)),
    ]


def drawn(width: int, *parts: Segment, ends: int = 100) -> str:
    bar = Bar("r", "s", "", "t", shown_state("completed"), 0, ends, False, parts)
    line = Timeline("", 0, 100, (bar,))
    return "".join(text for text, _ in draw(bar, line, width, ASCII_MARKS))


def test_a_bar_is_drawn_in_proportion_and_nothing_is_too_short_to_be_seen() -> None:
    parts = (
        Segment("start", 0, 20),
        Segment("tool", 30, 30),
        Segment("limit", 50, 70),
        Segment("tool", 80, 95, failed=True),
    )
    assert drawn(10, *parts) == "..-#-~~-xx"
    assert drawn(10, ends=50) == "-----     "
    assert drawn(1, *parts) == "x"
    assert legend(ASCII_MARKS) == "- model   # tool   x tool failed   . waits   ~ limit"


def test_a_call_that_begins_without_its_arguments_says_what_it_was_asked_for() -> None:
    """As pi's do: it names them with the message that asks for the call."""
    asked = ev.AssistantMessage("", (CALL,))
    begun = ev.ToolStarted(ev.ToolCall("1", "read", None))
    assert segments((1000, asked), (2000, begun), (2500, DONE)) == (
        Segment("tool", 2000, 2500, "read", "read → a.py"),
    )


def test_thousands_of_segments_become_few_that_span_the_same_time() -> None:
    told: list[tuple[int, ev.Event]] = []
    for number in range(MAX_SEGMENTS + 10):
        call = ev.ToolCall(f"{number}", "bash", {})
        told.append((2 * number, ev.ToolStarted(call)))
        told.append((2 * number + 1, ev.ToolFinished(f"{number}", "bash", "", failed=False)))
    found = segments(*told, ends=2 * MAX_SEGMENTS + 20)
    assert len(found) <= MAX_SEGMENTS
    assert (found[0].begin_ms, max(each.end_ms for each in found)) == (0, 2 * MAX_SEGMENTS + 19)
    assert condensed(list(found), 10) == condensed(condensed(list(found), 10), 10)
