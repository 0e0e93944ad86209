from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.bounded_details import (
    MAX_ALL_BYTES,
    MAX_LISTED_OUTPUT,
    MAX_OUTPUT,
    MAX_WINDOW_BYTES,
    bounded_windows,
    with_short_rows,
    with_windows,
)
from pi_subagents.core.window import MAX_LINE, Window, WindowLine, WindowTitle
from pi_subagents.core.window_view import lines_to_json

TITLE = WindowTitle("t")
characters = st.sampled_from(["x", "ü", "😀"])
shapes = st.lists(
    st.tuples(characters, st.integers(1, MAX_LINE), st.integers(0, 500), st.integers(1, 500)),
    min_size=1,
    max_size=16,
)


def window(character: str, length: int, count: int, shown: int) -> Window:
    lines = tuple(WindowLine(f"{n} {character * length}"[:MAX_LINE], "text") for n in range(count))
    return Window(TITLE, "completed", history=lines, lines=lines[-shown:], line_count=count)


def size(told: Any) -> int:
    return sum(len(line["text"].encode()) for line in (*told["lines"], *told["history"]))


@thoroughly
@given(shapes)
def test_windows_keep_their_latest_lines_within_every_bound(
    given_shapes: list[tuple[str, int, int, int]],
) -> None:
    windows = [window(*shape) for shape in given_shapes]
    told = bounded_windows(windows)
    assert sum(map(size, told)) <= MAX_ALL_BYTES
    for one, was in zip(told, windows, strict=True):
        assert size(one) <= MAX_WINDOW_BYTES
        history, lines = one["history"], one["lines"]
        assert isinstance(history, list)
        assert isinstance(lines, list)
        assert history == lines_to_json(was.history)[len(was.history) - len(history) :]
        assert lines == history[len(history) - len(lines) :]
        assert len(lines) == min(len(was.lines), len(history))


def test_what_is_small_is_whole_and_leaves_its_room_to_the_large() -> None:
    small, large = window("x", 10, 20, 15), window("x", 1000, 500, 15)
    told = bounded_windows([large, small, large, small, large])
    assert [told[n]["history"] for n in (1, 3)] == [lines_to_json(small.history)] * 2
    for n in (0, 2, 4):
        assert size(told[n]) > MAX_WINDOW_BYTES * 0.9
    many = bounded_windows([large] * 16)
    assert all(size(each) > MAX_ALL_BYTES / 16 * 0.8 for each in many)


def test_an_answer_keeps_its_text_and_shortens_what_is_only_kept() -> None:
    answer = {
        "content": [{"type": "text", "text": "all of it"}],
        "details": {"mode": "single", "results": [{"output": "y" * 5000}, {"output": "short"}]},
        "isError": False,
    }
    told = with_windows(answer, [Window(TITLE)], 9)
    assert told == {
        **answer,
        "details": {
            "mode": "single",
            "status": "done",
            "maxLines": 9,
            "windows": bounded_windows([Window(TITLE)]),
            "results": [
                {"output": "y" * MAX_OUTPUT, "outputTruncated": True},
                {"output": "short"},
            ],
        },
    }


def test_of_many_runs_less_is_kept_than_of_one() -> None:
    long, short = {"output": "y" * 5000}, {"output": "short"}

    def kept(*rows: dict[str, str]) -> Any:
        return with_short_rows({"details": {"counts": 1, "runs": list(rows)}, "isError": False})

    assert kept(long) == {
        "details": {"counts": 1, "runs": [{"output": "y" * MAX_OUTPUT, "outputTruncated": True}]},
        "isError": False,
    }
    cut = {"output": "y" * MAX_LISTED_OUTPUT, "outputTruncated": True}
    assert kept(long, short)["details"]["runs"] == [cut, short]
