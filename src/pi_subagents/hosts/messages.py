"""What `hosts` says to people: why the configuration of a host is left as it is."""

from __future__ import annotations

# Why the configuration of a host is left as it is.

NO_OBJECT_INSIDE = "it is not a JSON object"
NESTED_TOO_DEEPLY = "it is nested too deeply"
OTHER_FORM = "its entry is written in another form than a table of its own"
EDIT_NOT_PROVED = "the changed text would not be read as it should"
NOT_UTF_8 = "it is not UTF-8 text"
NOT_WRITABLE = "you may not write to it"
HOST_FILE_CHANGED = "it was changed by another program in the meantime; try again"


def unexpected_text(line: int, expected: str) -> str:
    """Return where a text stops being JSON."""
    return f"line {line}: expected {expected}"


def key_is_no_object(key: str) -> str:
    """Return why nothing can be put below a key."""
    return f'"{key}" is not an object'


def key_twice(key: str) -> str:
    """Return why it is not clear which of two entries counts."""
    return f'it has "{key}" twice'
