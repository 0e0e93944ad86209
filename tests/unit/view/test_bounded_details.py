from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.window_lines import tool_line
from tests.unit.core.given_values import thoroughly

from pi_subagents.view.answers import MAX_LISTED_OUTPUT, MAX_OUTPUT, with_short_rows
from pi_subagents.view.picture import rows_to_json
from pi_subagents.view.window import MAX_LINE, Window, WindowLine, WindowTitle
from pi_subagents.view.window_delta import (
    MAX_ALL_BYTES,
    MAX_WINDOW_BYTES,
    bounded_picture,
    with_windows,
)
from pi_subagents.view.window_picture import line_row, place_of_lines
from pi_subagents.view.window_view import state_to_json

TITLE = WindowTitle("t")
characters = st.sampled_from(["x", "ü", "😀"])
shapes = st.lists(
    st.tuples(characters, st.integers(1, MAX_LINE), st.integers(0, 500)),
    min_size=1,
    max_size=16,
)


def window(character: str, length: int, count: int) -> Window:
    lines = tuple(WindowLine.said(f"{n} {character * length}"[:MAX_LINE]) for n in range(count))
    return Window(TITLE, "completed", history=lines, line_count=count)


def lines_of(picture: list[dict[str, object]], index: int) -> list[Any]:
    rows = picture[place_of_lines(index)]["rows"]
    assert isinstance(rows, list)
    return rows


def size(rows: list[Any]) -> int:
    return len(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode())


def all_lines(window: Window) -> list[list[object]]:
    return rows_to_json([line_row(line) for line in window.history])


@thoroughly
@given(shapes)
def test_windows_keep_their_latest_lines_within_every_bound(
    given_shapes: list[tuple[str, int, int]],
) -> None:
    windows = [window(*shape) for shape in given_shapes]
    picture = bounded_picture(windows, 9)
    kept = [lines_of(picture, index) for index in range(len(windows))]
    assert sum(map(size, kept)) <= MAX_ALL_BYTES
    for rows, was in zip(kept, windows, strict=True):
        assert size(rows) <= MAX_WINDOW_BYTES
        assert rows == all_lines(was)[len(was.history) - len(rows) :]


def test_what_is_small_is_whole_and_leaves_its_room_to_the_large() -> None:
    small, large = window("x", 10, 20), window("x", 1000, 500)
    picture = bounded_picture([large, small, large, small, large], 9)
    assert [lines_of(picture, n) for n in (1, 3)] == [all_lines(small)] * 2
    for n in (0, 2, 4):
        assert size(lines_of(picture, n)) > MAX_WINDOW_BYTES * 0.9
    many = bounded_picture([large] * 16, 9)
    assert all(size(lines_of(many, n)) > MAX_ALL_BYTES / 16 * 0.8 for n in range(16))


def test_a_picture_is_small_whatever_the_windows_are_called() -> None:
    title = WindowTitle("ü" * 9000, "ü" * 9000, "ü" * 9000, "ü" * 9000, "ü" * 9000)
    lines = tuple(tool_line("ü" * MAX_LINE) for _ in range(500))
    windows = [Window(title, "error", history=lines, error_message="ü" * MAX_LINE)] * 16
    assert size(bounded_picture(windows, 9)) < 2 * MAX_ALL_BYTES


def test_an_answer_keeps_its_text_and_shortens_what_is_only_kept() -> None:
    answer = {
        "content": [{"type": "text", "text": "all of it"}],
        "details": {"mode": "single", "results": [{"output": "y" * 5000}, {"output": "short"}]},
        "isError": False,
    }
    heard = with_windows(answer, [Window(TITLE)], 9)
    assert heard == {
        **answer,
        "details": {
            "mode": "single",
            "status": "done",
            "maxLines": 9,
            "windows": [state_to_json(Window(TITLE))],
            "picture": bounded_picture([Window(TITLE)], 9),
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
