from __future__ import annotations

import pytest

from pi_subagents.core.cluster.record import FilePiece, follow_on, is_sound
from pi_subagents.core.value import replace

PIECE = FilePiece(1, "events.jsonl", 0, b"x")


@pytest.mark.parametrize(
    ("changes", "sound"),
    [
        ({}, True),
        ({"file": "changes.patch", "place": 99}, True),
        ({"file": "questions.json", "data": b""}, True),
        ({"file": "result.json"}, False),
        ({"file": "../events.jsonl"}, False),
        ({"file": "questions.json", "place": 1}, False),
        ({"number": 0}, False),
        ({"place": -1}, False),
        ({"place": 256 * 1024 * 1024}, False),
        ({"data": b"x" * (1024 * 1024 + 1)}, False),
    ],
)
def test_a_piece_goes_into_a_file_of_a_run_and_not_too_far(
    changes: dict[str, object], *, sound: bool
) -> None:
    assert is_sound(replace(PIECE, **changes)) is sound


def test_pieces_are_taken_in_their_order_up_to_the_first_that_is_missing() -> None:
    pieces = [replace(PIECE, number=number) for number in (4, 2, 3, 6, 1)]
    assert [piece.number for piece in follow_on(pieces, 1)] == [2, 3, 4]
