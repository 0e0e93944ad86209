"""What is said about orders for the workers of a cluster, and about runs there."""

from __future__ import annotations

MAX_NAME = 200
WRONG_DESTINATION = (
    "must be here, cluster, or cluster:TAG with a tag of small letters, digits, `.`, `_` and `-`"
)

# What is wrong with a member of an order, after its place.

NEEDS_OBJECT = "is no object"
NEEDS_TEXT = "is no text"
NEEDS_UNICODE = "has characters that cannot be stored"
NEEDS_FLAG = "is neither true nor false"
NEEDS_NUMBER = "is no number"
NEEDS_WHOLE = "is no whole number"
IS_MISSING = "is missing"
HAS_WRONG_FORM = "does not have the form it must have"
NOT_JSON = "is no JSON text"
OF_OTHER_FORMAT = "is of another version of pi-subagents"
LEADS_ELSEWHERE = "is no path below its directory"
NEEDS_ABSOLUTE = "is no absolute path"
UNKNOWN_WORD = "is none of the words it may be"
CONTRADICTS = "does not fit the kind of workspace"
NEEDS_FOUR = "needs four amounts: input, output, cache reads, cache writes"
TWICE = "has one name twice"
CONTRADICTS_OFFLINE = "is there for a model that is not the offline one"


def unknown_member(name: str) -> str:
    """Return that a member is not known."""
    return f"has an unknown field, {name!r}"


def too_long(size: int, most: int) -> str:
    """Return that something is larger than it may be."""
    return f"is too large: {size:,}, of at most {most:,}"


def out_of_range(most: float) -> str:
    """Return which numbers are allowed."""
    return f"is not between 0 and {most:g}"


def wrong_packs(why: str) -> str:
    """Return why bundles do not belong together."""
    return f"cannot be opened ({why})"


def needs_list(most: int) -> str:
    """Return that something is no list of that size."""
    return f"is no list of at most {most}"


def needs_table(most: int) -> str:
    """Return that something is no object of that size."""
    return f"is no object of at most {most} members"
