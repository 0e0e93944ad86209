"""
Read single parameters of a call, for whichever tool.

In: where a value stands and the decoded value.  Out: it, checked; InvalidRequest otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pi_subagents.core import messages
from pi_subagents.errors import CwdHasParentSegments, CwdNotAbsolute, InvalidRequest


def refuse_unknown(where: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    """Refuse a field that nobody would read."""
    for key in given:
        if key not in known:
            problem = messages.unknown_field(key, tuple(known))
            raise InvalidRequest(where, problem if known else messages.TAKES_NO_PARAMETERS)


def required_text(where: str, value: object) -> str:
    """Return a text that must be there."""
    if not isinstance(value, str) or not value:
        raise InvalidRequest(where, messages.NEEDS_STRING)
    return value


def optional_text(where: str, value: object) -> str | None:
    """Return a text, or None where there is none."""
    if value is not None and not isinstance(value, str):
        raise InvalidRequest(where, messages.MUST_BE_STRING)
    return value


def optional_flag(where: str, value: object) -> bool:
    """Return a yes or no, which is no where nothing is said."""
    if value is not None and not isinstance(value, bool):
        raise InvalidRequest(where, messages.MUST_BE_FLAG)
    return bool(value)


def seconds(where: str, value: object, least: float, most: float) -> float:
    """Return a number of seconds within limits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRequest(where, messages.MUST_BE_SECONDS)
    if not least <= value <= most:  # NaN is in no range
        raise InvalidRequest(where, messages.wrong_timeout(least, most))
    return value


def objects(where: str, value: object, problem: str) -> list[Mapping[str, object]]:
    """Return a list of objects."""
    if not isinstance(value, list):
        raise InvalidRequest(where, problem)
    for index, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise InvalidRequest(f"{where}[{index}]", messages.NEEDS_OBJECT)
    return value


def check_cwd(where: str, cwd: str) -> None:
    """Judge the path as it was given: a directory named `a..b` is fine, a climb is not."""
    if "\0" in cwd:
        raise InvalidRequest(where, messages.MUST_NOT_HAVE_NULL)
    if not cwd.startswith("/"):
        raise CwdNotAbsolute(cwd)
    if ".." in cwd.split("/"):
        raise CwdHasParentSegments(cwd)
