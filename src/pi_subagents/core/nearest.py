"""The known word that an unknown one was probably meant to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_WORD = 200  # what is longer was not mistyped
LIKENESS = 0.7  # of two words, where 1 is the same


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is spelt most like it, whatever the case; nothing if none is."""
    import difflib  # nearly nothing is mistyped

    spellings = {each.lower(): each for each in known}
    close = difflib.get_close_matches(word[:MAX_WORD].lower(), spellings, n=1, cutoff=LIKENESS)
    return spellings[close[0]] if close else ""
