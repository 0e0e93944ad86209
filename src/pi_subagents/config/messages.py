"""What `config` says to people."""

from __future__ import annotations

# What can be wrong with a parameter, a setting or a file: limits, names and reasons.


def larger_than(limit: int) -> str:
    """Return why a file was not read."""
    return f"is larger than {limit // 1024} KiB"


# Placeholders: what stands in a prompt where a file could not be had.


def file_not_found(path: str) -> str:
    """Return the placeholder for a file that is not there."""
    return f"[file not found: {path}]"


def file_unreadable(path: str) -> str:
    """Return the placeholder for a file that is there and cannot be read as text."""
    return f"[could not read file: {path}]"


def file_too_large(path: str, size: int, limit: int) -> str:
    """Return the placeholder for a file over the limit; sizes are rounded up to whole KB."""
    return f"[file too large: {path} ({-(-size // 1024)}KB, limit {limit // 1024}KB)]"


def file_over_total(path: str, limit: int) -> str:
    """Return the placeholder for a file that would make a task's files too large together."""
    return f"[file left out: {path} (the files of a task may have {limit // 1024}KB together)]"


# What can be wrong with a profile or preset: a field, a file, fields against each other.


NOT_UTF8 = "is not UTF-8 text"
NOT_READ_BACK = "it would not be read back as it is; check its name, its values and their size"
NOT_A_PROFILE_FILE = "it is not a file of a profiles directory"


def name_taken(kind: str, name: str, winner: str) -> str:
    """Return why a file is not used beside another with the same name in it."""
    return f'"{name}" is the name of the {kind} in {winner}; this file is not used'


def wanted_file_name(name: str) -> str:
    """Return how a file should be called."""
    return f'the file should be called {name}.md, after its "name"'


def key_readable_by_others(path: str) -> str:
    """Return the warning about a key that is not private, and its cure."""
    return f"holds an API key, and other users may read it: chmod 600 {path}"


def too_many_files(kind: str, most: int) -> str:
    """Return the limit of a directory."""
    return f"holds more than {most} {kind}s; the rest is not loaded"


# What is said of the profile a task names.


CHANGED_MEANWHILE = "the file was changed by someone else meanwhile"


def is_a_link(target: str) -> str:
    """Return why a file is not written through a link."""
    return f"its file is a link. Edit what it leads to: {target}"
