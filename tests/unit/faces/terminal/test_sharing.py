from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.faces.terminal.painting import Claim, share

RUNNING, ERROR, DONE, QUEUED = (
    Claim("running", 5), Claim("error", 5), Claim("completed", 5), Claim("queued", 0),
)  # fmt: skip


@pytest.mark.parametrize(
    ("claims", "room", "rows", "left_out"),
    [
        ([RUNNING, DONE], 100, (5, 5), 0),
        ([RUNNING, DONE], 12, (5, 5), 0),
        ([RUNNING, DONE], 11, (5, 4), 0),
        ([DONE, RUNNING], 7, (0, 5), 0),
        ([RUNNING, RUNNING], 7, (3, 2), 0),
        ([DONE, ERROR, RUNNING], 9, (0, 1, 5), 0),
        ([DONE, ERROR, RUNNING], 3, (0, 0, 0), 0),
        ([DONE, QUEUED, ERROR, RUNNING], 3, (None, None, 0, 0), 2),
        ([ERROR, RUNNING, DONE], 2, (None, 0, None), 2),
        ([QUEUED, DONE, ERROR], 2, (None, None, 0), 2),
        ([QUEUED, DONE, QUEUED], 2, (None, 0, None), 2),
        ([DONE, RUNNING], 1, (None, None), 2),
        ([DONE, RUNNING], 0, (None, None), 2),
        ([], 5, (), 0),
    ],
)
def test_those_at_work_come_first_then_errors_then_the_rest(
    claims: list[Claim], room: int, rows: tuple[int | None, ...], left_out: int
) -> None:
    assert share(claims, room) == rows
    assert rows.count(None) == left_out


CLAIMS = st.lists(
    st.builds(
        Claim, st.sampled_from(["queued", "running", "completed", "error"]), st.integers(0, 20)
    ),
    min_size=1,
    max_size=16,
)


@thoroughly
@given(CLAIMS, st.integers(1, 60))
def test_no_row_is_given_twice_and_none_is_left_that_somebody_wants(
    claims: list[Claim], room: int
) -> None:
    shares = share(claims, room)
    given_rows = [rows for rows in shares if rows is not None]
    used = len(given_rows) + sum(given_rows) + (None in shares)
    assert used <= room
    assert all(
        rows is None or rows <= claim.rows for rows, claim in zip(shares, claims, strict=True)
    )
    assert len(claims) == len(given_rows) + shares.count(None)
    wanted = len(claims) + sum(claim.rows for claim in claims)
    assert used == min(room, wanted)
