"""
What comes back from a worker: pieces of the files of a run's directory, in the order of numbers.

In: pieces as the database has them.  Out: checked ones; a worker that sends anything else harms
nothing at the caller but its own run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run import files
from pi_subagents.core.run.spec import MAX_RUN_BYTES
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

QUESTIONS = "questions.json"  # on a desk: what a run waits for
# Files that only grow, and what follows another attempt goes behind its own.
GROWING = (files.EVENTS, files.STDOUT, files.STDERR, files.TRANSCRIPT)
# Files that are made once; a piece at their beginning makes them anew.
WHOLE = (files.CHANGES, files.CHANGES_PATCH, files.CHILD_SESSION)
FILES = (*GROWING, *WHOLE, QUESTIONS)
MAX_PIECE_BYTES = 1024 * 1024
MAX_QUESTION_BYTES = 8 * 1024 * 1024  # these come in one piece


@value
class FilePiece:
    """Bytes at a place in one file; `number` counts the pieces of an attempt from 1 on."""

    number: int
    file: str
    place: int
    data: bytes


def is_sound(piece: FilePiece, limit: int = MAX_RUN_BYTES) -> bool:
    """Return whether a piece may be written: into one of the files, and not too far."""
    most = MAX_QUESTION_BYTES if piece.file == QUESTIONS else MAX_PIECE_BYTES
    return (
        piece.file in FILES
        and piece.number > 0
        and len(piece.data) <= most
        and 0 <= piece.place <= limit - len(piece.data)
        and (piece.file != QUESTIONS or not piece.place)
    )


def follow_on(pieces: Iterable[FilePiece], last: int) -> list[FilePiece]:
    """Return the pieces that come directly after that number, in their order."""
    found: list[FilePiece] = []
    for piece in sorted(pieces, key=lambda each: each.number):
        if piece.number == last + 1:
            found.append(piece)
            last += 1
    return found
