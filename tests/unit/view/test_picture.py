from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import texts, thoroughly

from pi_subagents.view.picture import (
    BLANK,
    OVERHEAD,
    Layout,
    Part,
    Row,
    Span,
    latest_rows,
    layout_to_json,
    part_to_json,
    row_bytes,
    rows_to_json,
)

spans = st.builds(Span, texts, st.sampled_from(["plain", "bold", "toolDiffAdded"]))
rows = st.lists(spans, max_size=4).map(tuple)


def test_a_part_says_how_its_rows_are_shown_and_plain_texts_stand_alone() -> None:
    row: Row = (Span("→ ", "muted"), Span("read"), Span("+1", "toolDiffAdded"))
    assert part_to_json(Part((BLANK, row), Layout("unfold", indent=2, latest=15))) == {
        "fit": "unfold",
        "indent": 2,
        "latest": 15,
        "rows": [[], [["→ ", "muted"], "read", ["+1", "toolDiffAdded"]]],
    }


def test_what_does_not_apply_is_not_said() -> None:
    assert layout_to_json(Layout()) == {"fit": "cut", "indent": 0}
    assert layout_to_json(Layout("wrap", first=3, more=("one", "many"))) == {
        "fit": "wrap", "indent": 0, "first": 3, "more": ["one", "many"],
    }  # fmt: skip


def test_the_latest_rows_that_have_room_are_kept() -> None:
    row: Row = (Span("ü" * 10, "dim"),)
    assert row_bytes(row) == 20 + len("dim") + 2 * OVERHEAD
    assert list(latest_rows([BLANK, row, row], 2 * row_bytes(row))) == [row, row]
    assert list(latest_rows([BLANK, row, row], 2 * row_bytes(row) + OVERHEAD)) == [BLANK, row, row]
    assert list(latest_rows([row], row_bytes(row) - 1)) == []


@thoroughly
@given(rows)
def test_what_a_row_takes_is_not_less_than_its_json(row: Row) -> None:
    heard = json.dumps(rows_to_json([row])[0], ensure_ascii=False, separators=(",", ":"))
    escaped = sum(heard.count(each) for each in ("\\", '"'))
    assert len(heard.encode("utf-8", "replace")) <= row_bytes(row) + 6 * escaped


@thoroughly
@given(st.lists(rows, max_size=9), st.integers(0, 400))
def test_rows_are_kept_from_the_end_and_within_the_bound(given_rows: list[Row], room: int) -> None:
    kept = list(latest_rows(given_rows, room))
    assert kept == given_rows[len(given_rows) - len(kept) :]
    assert sum(map(row_bytes, kept)) <= room
    if len(kept) < len(given_rows):
        assert sum(map(row_bytes, given_rows[len(given_rows) - len(kept) - 1 :])) > room
