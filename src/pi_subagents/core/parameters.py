"""
Read the parameters of a call, for any tool.

In: the name of a parameter and its decoded value.  Out: the checked value, or InvalidRequest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pi_subagents.core import messages
from pi_subagents.errors import CwdHasParentSegments, CwdNotAbsolute, InvalidRequest


def given_parameters(parameters: object, known: Sequence[str]) -> Mapping[str, object]:
    """Return what a call gives, all of it known; models write null for what they leave out."""
    if not isinstance(parameters, Mapping):
        raise InvalidRequest("parameters", messages.NEEDS_OBJECT)
    refuse_unknown("parameters", parameters, known)
    return {key: value for key, value in parameters.items() if value is not None}


def refuse_unknown(where: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    """Refuse a field that nobody would read."""
    for key in given:
        if key not in known:
            problem = messages.unknown_field(key, tuple(known))
            raise InvalidRequest(where, problem if known else messages.TAKES_NO_PARAMETERS)


def required_text(where: str, value: object) -> str:
    """Return a text that must be given."""
    if not isinstance(value, str) or not value:
        raise InvalidRequest(where, messages.NEEDS_STRING)
    return value


def text_within(where: str, text: str, most: int) -> str:
    """Return a text, which must be neither empty nor of more bytes than that."""
    if not text.strip():
        raise InvalidRequest(where, messages.MUST_NOT_BE_EMPTY)
    size = len(text.encode("utf-8", "replace"))
    if size > most:
        raise InvalidRequest(where, messages.steer_too_large(size, most))
    return text


def optional_text(where: str, value: object) -> str | None:
    """Return a text, or None where there is none."""
    if value is not None and not isinstance(value, str):
        raise InvalidRequest(where, messages.MUST_BE_STRING)
    return value


def optional_flag(where: str, value: object) -> bool:
    """Return a yes or no; the default is no."""
    if value is not None and not isinstance(value, bool):
        raise InvalidRequest(where, messages.MUST_BE_FLAG)
    return bool(value)


def whole(value: object) -> object:
    """Return `5.0` as the whole number that it is in JSON, and anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


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
    """Refuse a path that is relative or climbs; a directory named `a..b` is fine."""
    if "\0" in cwd:
        raise InvalidRequest(where, messages.MUST_NOT_HAVE_NULL)
    if not cwd.startswith("/"):
        raise CwdNotAbsolute(cwd)
    if ".." in cwd.split("/"):
        raise CwdHasParentSegments(cwd)
