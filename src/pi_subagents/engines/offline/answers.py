"""
Word what a tool found, as a sentence about the real result.

In: what was asked and the tool's text.  Out: an answer, or None when the text is not what the
command prints on success.  Pure; every number and name comes from the tool's text.
"""

from __future__ import annotations

import re

from pi_subagents.engines.offline import asks
from pi_subagents.engines.offline.commands import left_out

_NUMBER = re.compile(r"\s*([0-9]{1,18})\s*")
_IN_ALL = re.compile(r"([0-9]{1,18}) in all")
_HEADING = re.compile(r"(?P<file>.*?): (?P<marks>#+) (?P<title>.*)")
# what pi's read tool prints instead of, or after, a file's text
_READ_FAILED = re.compile(
    r"(?:E[A-Z]{3,12}: |Tool \S+ not found|Validation failed|Offset \d+ is beyond"
    r"|\(no tool output\))"
)
_READ_NOTICE = re.compile(
    r"\n*\[(?:\d+ more lines in file|Showing lines \d+-\d+ of \d+)[^\n]*\]\s*\Z"
)
_SHOWN_LINES = 60
_SHOWN_CHARACTERS = 4000


def answer_for(ask: asks.Ask, result: str) -> str | None:
    """Return the answer, or None when the tool failed."""
    match ask:
        case asks.ReadFile():
            return _read(ask, result)
        case asks.AskSomebody(question):
            return f"{question} {result}"
        case asks.CountText(unit, kind, path):
            number = _number(result)
            whose = f"The {kind.many} in {path} have" if kind else f"{path} has"
            return None if number is None else f"{whose} {_plural(number, unit, f'{unit}s')}."
        case asks.FindFiles(kind, path, count_only=True):
            number = _number(result)
            if number is None:
                return None
            there = "There is" if number == 1 else "There are"
            return f"{there} {_plural(number, kind.one, kind.many)} in {path} ({_without(path)})."
        case asks.SearchText(needle, path, count_only=True):
            number = _number(result)
            where = f"is on {_plural(number or 0, 'line')} in {path}."
            return None if number is None else f'"{needle}" {where}'
        case _:
            return _from_lines(ask, result)


def _from_lines(ask: asks.AskForLines, result: str) -> str | None:
    lines = result.rstrip("\n").split("\n")
    found = _IN_ALL.fullmatch(lines[-1])
    if found is None:
        return None
    number, shown = int(found[1]), lines[:-1]
    more = f"\n(the first {len(shown)} of {number})" if number > len(shown) else ""
    bullet = "- "
    match ask:
        case asks.ListFolder(path):
            head = f"{path} holds {_plural(number, 'entry', 'entries')}"
        case asks.FindFiles(kind, path):
            head = f"{_plural(number, kind.one, kind.many)} in {path} ({_without(path)})"
        case asks.SearchText(needle, path):
            bullet = ""
            head = f'"{needle}" is on {_plural(number, "line")} in {path}'
        case asks.Headings(path):
            head = f"{path} has {_plural(number, 'heading')}"
            bullet, shown = "", _outline(shown)
    if not shown:
        return f"{head}.{more}"
    return "\n".join([f"{head}:", *(bullet + line for line in shown)]) + more


def _read(ask: asks.ReadFile, result: str) -> str | None:
    if _READ_FAILED.match(result):
        return None
    notice = _READ_NOTICE.search(result)
    text = result[: notice.start()] if notice else result
    lines = text.removesuffix("\n").split("\n") if text else []
    shown = "\n".join(lines[:_SHOWN_LINES])[:_SHOWN_CHARACTERS]
    read = f"I read {_plural(len(lines), 'line')} of {ask.path}"
    if notice:  # its number of further lines is not repeated: pi counts one too many
        read = f"I read the first {_plural(len(lines), 'line')} of {ask.path} (more follow)"
    cut = "" if shown == "\n".join(lines) else "\n(the rest of what I read is not repeated here)"
    return f"{read}:\n\n{shown}{cut}"


def _number(result: str) -> int | None:
    found = _NUMBER.fullmatch(result)
    return int(found[1]) if found else None


def _outline(lines: list[str]) -> list[str]:
    """Indent headings by level, under their file's name when there are several files."""
    found = [heading for line in lines if (heading := _HEADING.fullmatch(line))]
    several = len({heading["file"] for heading in found}) > 1
    outline: list[str] = []
    file = None
    for heading in found:
        if several and heading["file"] != file:
            file = heading["file"]
            outline.append(f"{file}:")
        depth = len(heading["marks"]) - 1 + several
        outline.append(f"{'  ' * depth}- {heading['title'].strip()}")
    return outline


def _plural(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _without(path: str) -> str:
    # In code marks: Markdown would make a bold word of __pycache__.
    return f"{', '.join(f'`{name}`' for name in left_out(path))} left out"
