"""
Recognise that a provider answers no more for now, by its status or by known texts.

In: what a failed message says, and what is known of the response.  Out: a Limited, or None where it
is an error of another kind.  A limit that no time will lift (a bill that is not paid) is an error,
unless a time is said.
"""

from __future__ import annotations

import re
from contextlib import suppress

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run import events as ev

MAX_WORDS = 300
STATUSES = (429, 529)  # too many requests, overloaded
UNAVAILABLE = 503  # a limit only where it says until when
_WORDS = re.compile(
    r"rate.?limit|too many requests|overloaded|resource.?exhausted|at capacity"
    r"|(?:usage|request|session|hourly|daily|weekly|monthly|hour|your|plan)[ _]limit"
    r"|quota (?:was |has been )?(?:exceeded|will reset)|exceeded your current quota"
    r"|(?<![\w.:-])(?:429|529)(?![\w.-])",
    re.IGNORECASE,
)
_FOR_GOOD = re.compile(
    r"insufficient.?quota|billing|(?:credit|available) balance|out of budget|payment",
    re.IGNORECASE,
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_UNIT = r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])"
_AMOUNT = rf"(?:\d+(?:\.\d+)?\s*{_UNIT}[\s,and]*)+"
_RELATIVE = re.compile(
    r"(?:again|retry|wait|resets?|available)\b[^.\n\d]{0,30}?(" + _AMOUNT + ")"
    r"|\"retry_?delay\"\s*:\s*\"(" + _AMOUNT + ")",
    re.IGNORECASE,
)
_ONE = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smhd])", re.IGNORECASE)
_SECONDS = re.compile(
    r"\"?(?:resets?_in_seconds|retry[-_ ]after)\"?\s*[:=]?\s*(\d+(?:\.\d+)?)(?![\w-])",
    re.IGNORECASE,
)
_EPOCH = re.compile(
    r"(?:reached\||resets?_?at\"?\s*[:=]?\s*)(1\d{9}(?:\d{3})?)(?!\d)", re.IGNORECASE
)
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?\s*(Z|UTC|[+-]\d\d:\d\d)",
    re.IGNORECASE,
)
_SECONDS_AS_MS = 10**12


def limit_in(
    text: str, *, provider: str = "", status: int = 0, after_s: float = 0, until_ms: int = 0
) -> ev.Limited | None:
    """Return the limit that a failed message is about, if it is about one."""
    if status and status not in (*STATUSES, UNAVAILABLE):
        return None
    after_s = after_s or (0 if until_ms else _after(text))
    until_ms = until_ms or (0 if after_s else _until(text))
    has_time = 0 < after_s <= ev.LONGEST_LIMIT_S or until_ms > 0
    is_limit = status in STATUSES or _WORDS.search(text) or (status == UNAVAILABLE and has_time)
    if not is_limit or (_FOR_GOOD.search(text) and not has_time):
        return None
    said = one_line(text, MAX_WORDS)
    return ev.Limited(provider, after_s if after_s <= ev.LONGEST_LIMIT_S else 0, until_ms, said)


def _after(text: str) -> float:
    if found := _SECONDS.search(text):
        return float(found[1])
    if found := _RELATIVE.search(text):
        parts = _ONE.findall(found[1] or found[2])
        return sum(float(number) * _UNITS[unit.lower()] for number, unit in parts)
    return 0


def _until(text: str) -> int:
    if found := _EPOCH.search(text):
        number = int(found[1])
        return number if number >= _SECONDS_AS_MS else number * 1000
    if found := _ISO.search(text):
        from calendar import timegm  # slow to load, and seldom needed

        *when, zone = found.groups(default="0")
        offset_s = 0
        if zone[0] in "+-":
            offset_s = int(f"{zone[0]}1") * (int(zone[1:3]) * 3600 + int(zone[4:6]) * 60)
        with suppress(ValueError, OverflowError):  # no such day
            return (timegm(tuple(map(int, when))) - offset_s) * 1000
    return 0
