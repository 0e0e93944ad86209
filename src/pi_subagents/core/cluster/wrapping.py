"""
Put JSON into the one form in which a database of JSON values can keep all of it.

In: JSON as ASCII bytes.  Out: an object with that text, and back.  What a child says may hold
characters that the database has no place for; inside of a text they are escapes.
"""

from __future__ import annotations


def wrapped(content: bytes) -> dict[str, object]:
    """Return an object for the database; ValueError where it is not ASCII."""
    return {"json": content.decode("ascii")}


def unwrapped(found: object) -> bytes:
    """Return what was put in; ValueError where that is not what it is."""
    match found:
        case {"json": str(text), **others} if not others:
            return text.encode("ascii")
    raise ValueError("not an object of ours")
