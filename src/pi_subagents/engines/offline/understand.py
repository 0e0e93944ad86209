"""
Understand a handful of plain English requests.

In: the text of a user message, of any size and content.  Out: what was asked, as values, and
the clauses that were not understood.  Pure, never raises, looks only at the end of long texts.
"""

from __future__ import annotations

import re

from pi_subagents.core.value import value
from pi_subagents.engines.offline import asks
from pi_subagents.engines.offline.ask_words import (
    Quoted,
    as_kind,
    as_name,
    as_needle,
    as_path,
    clauses_of,
    paragraphs_of,
)


@value
class Understanding:
    """What of a message was understood, and which clauses were not."""

    asks: tuple[asks.Ask, ...] = ()
    unknown: tuple[str, ...] = ()


MAX_ASKS = 8
_MAX_FIRST_LINES = 2000

_IN = r"(?:in|of|under|inside|within|from|below|across)"
_THERE = r"(?:\s+(?:are|is))?(?:\s+(?:there|here))?"
_HEADINGS = re.compile(
    r"(?:summari[sz]e|list|show|give|outline|extract|print|what are)\s+(?:me\s+)?(?:all\s+)?"
    r"(?:the\s+)?(?:section\s+|markdown\s+)?(?:headings|headers|sections|outline)"
    rf"\s+(?:{_IN}|for)\s+(?P<path>.+)",
    re.IGNORECASE,
)
_SUMMARISE_FILE = re.compile(
    r"(?:summari[sz]e|outline)\s+(?P<path>.+\.(?:md|markdown))", re.IGNORECASE
)
_COUNT = re.compile(
    r"(?:count|how many|(?:what is\s+)?(?:the\s+)?number of)\s+(?:up\s+)?(?:all\s+)?(?:the\s+)?"
    r"(?:number of\s+)?(?:the\s+)?(?P<rest>.+)",
    re.IGNORECASE,
)
_COUNT_TEXT = re.compile(
    rf"(?P<unit>line|word|character)s?(?:\s+of\s+(?P<kind>\w+)(?:\s+code)?)?{_THERE}"
    rf"\s+(?:{_IN}|does|do)\s+(?:(?:all\s+)?(?:the\s+)?(?P<files>\S+)\s+files\s+{_IN}\s+)?"
    r"(?P<path>.+?)(?:\s+(?:has|have|contains?))?",
    re.IGNORECASE,
)
_COUNT_MATCHES = re.compile(
    r"(?:occurrences?|mentions?|matches|lines (?:with|containing))\s+(?:of\s+)?(?P<needle>.+?)"
    rf"{_THERE}\s+{_IN}\s+(?P<path>.+)",
    re.IGNORECASE,
)
_FILES = re.compile(
    r"(?P<kind>.*?)\b(?P<noun>files?|director(?:y|ies)|folders?)"
    r"(?:\s+(?:named|called|matching|with the name|whose name is)\s+(?P<name>\S+))?"
    rf"{_THERE}(?:\s+(?:{_IN}|does|do)\s+(?P<path>.+?))?(?:\s+(?:has|have|contains?))?",
    re.IGNORECASE,
)
# lazy first: "foo in src"; then greedy: "foo in bar in src" searches for "foo in bar"
_PLACED_SEARCHES = (
    rf"(?:search|grep|look)\s+for\s+%s\s+{_IN}\s+(?P<path>.+)",
    rf"grep\s+%s\s+{_IN}\s+(?P<path>.+)",
    r"(?:search|grep|look)\s+(?:in\s+|through\s+)?(?P<path>.+?)\s+for\s+%s",
)
_SEARCHES = (
    *(re.compile(place % "(?P<needle>.+?)", re.IGNORECASE) for place in _PLACED_SEARCHES),
    *(re.compile(place % "(?P<needle>.+)", re.IGNORECASE) for place in _PLACED_SEARCHES),
    re.compile(r"(?:search|grep)\s+for\s+(?P<needle>.+)(?P<path>)", re.IGNORECASE),
)
_KIND_OF_FILES = re.compile(
    rf"(?:all\s+)?(?:the\s+)?(?P<kind>\S+)\s+files(?:\s+{_IN}\s+(?P<path>.+))?", re.IGNORECASE
)
_LIST = re.compile(
    r"(?:list|ls|show|what is|what's|what|which|name)\s+(?:me\s+)?(?:all\s+)?(?:the\s+)?"
    r"(?P<rest>.+)",
    re.IGNORECASE,
)
_CONTENTS = re.compile(
    rf"(?:(?:contents?|entries|everything){_THERE}\s+)?{_IN}\s+(?P<path>.+)", re.IGNORECASE
)
_LIST_PATH = re.compile(r"(?:list|ls)\s+(?P<path>.+)", re.IGNORECASE)
_FIND = re.compile(
    r"(?:find|locate|look for)\s+(?:me\s+)?(?:all\s+)?(?:the\s+)?(?:files?\s+)?(?P<name>\S+)"
    rf"(?:\s+{_IN}\s+(?P<path>.+))?",
    re.IGNORECASE,
)
_FIND_FILES = re.compile(
    r"(?:find|locate|look for)\s+(?:me\s+)?(?:all\s+)?(?:the\s+)?(?P<rest>.+)", re.IGNORECASE
)
_READ = re.compile(
    r"(?:read|show|print|display|open|cat)\s+(?:me\s+)?(?:(?:the\s+)?first\s+(?P<lines>\d{1,4})\s+lines\s+"
    rf"{_IN}\s+)?(?:the\s+(?:contents?\s+of\s+)?)?(?P<path>.+?)"
    r"(?:,?\s+(?:the\s+|only\s+)*first\s+(?P<after>\d{1,4})\s+lines)?",
    re.IGNORECASE,
)


_QUESTION = re.compile(
    r"ask\s+(?:(?:me|us|somebody|someone)\s+)?(?P<asked>(?:which|what|whether|who|where|when|how)\s.+)",
    re.IGNORECASE,
)


def understand(text: str) -> Understanding:
    """Return what the last paragraph that asks for something asks for."""
    for paragraph in paragraphs_of(text):
        # line by line first; a sentence that was wrapped is whole only when joined again
        for lines in (paragraph, (" ".join(paragraph),)):
            understood: list[asks.Ask] = []
            unknown: list[str] = []
            for clause, quoted in clauses_of(lines):
                ask = parse_ask(clause, quoted)
                if ask is None:
                    unknown.append(quoted.restored(clause))
                else:
                    understood.append(ask)
            if understood:
                return Understanding(tuple(understood[:MAX_ASKS]), tuple(unknown))
    return Understanding()


def parse_ask(clause: str, quoted: Quoted) -> asks.Ask | None:
    """Return what one clause asks for, or None."""
    parsed = (parse(clause, quoted) for parse in _PARSERS)
    return next((ask for ask in parsed if ask is not None), None)


def _parse_question(clause: str, quoted: Quoted) -> asks.AskSomebody | None:
    found = _QUESTION.fullmatch(clause)
    if found is None:
        return None
    asked = quoted.restored(found["asked"])
    return asks.AskSomebody(f"{asked[:1].upper()}{asked[1:]}?")


def _parse_headings(clause: str, quoted: Quoted) -> asks.Ask | None:
    found = _HEADINGS.fullmatch(clause) or _SUMMARISE_FILE.fullmatch(clause)
    path = as_path(found["path"], quoted) if found else None
    return None if path is None else asks.Headings(path)


def _parse_count(clause: str, quoted: Quoted) -> asks.Ask | None:
    counted = _COUNT.fullmatch(clause)
    if counted is None:
        return None
    rest = counted["rest"]
    if found := _COUNT_MATCHES.fullmatch(rest):
        return _search(found["needle"], found["path"], quoted, count_only=True)
    if found := _COUNT_TEXT.fullmatch(rest):
        what = found["files"] or found["kind"]
        kind = as_kind(what, quoted) if what else None
        path = as_path(found["path"], quoted)
        if path is None or (what and kind is None):
            return None
        return asks.CountText(found["unit"].lower(), kind, path)
    return _files(rest, quoted, count_only=True)


def _parse_search(clause: str, quoted: Quoted) -> asks.Ask | None:
    for pattern in _SEARCHES:
        found = pattern.fullmatch(clause)
        ask = _search(found["needle"], found["path"], quoted, count_only=False) if found else None
        if ask is not None:
            return ask
    return None


def _parse_list(clause: str, quoted: Quoted) -> asks.Ask | None:
    listed = _LIST.fullmatch(clause)
    if listed is None:
        return None
    if found := _CONTENTS.fullmatch(listed["rest"]):
        path = as_path(found["path"], quoted)
        if path is None:
            return None
        return asks.ReadFile(path) if _looks_like_file(path) else asks.ListFolder(path)
    ask = _files(listed["rest"], quoted, count_only=False)
    if ask is not None:
        # "list the files in docs" means the folder; a kind of files means all below it
        every = not ask.kind.patterns and not ask.kind.folders
        return asks.ListFolder(ask.path) if every else ask
    found = _LIST_PATH.fullmatch(clause)
    path = as_path(found["path"], quoted) if found else None
    return None if path is None else asks.ListFolder(path)


def _parse_find(clause: str, quoted: Quoted) -> asks.Ask | None:
    found = _FIND_FILES.fullmatch(clause)
    ask = _files(found["rest"], quoted, count_only=False) if found else None
    if ask is not None:
        return ask
    found = _FIND.fullmatch(clause)
    if found is None:
        return None
    path = as_path(found["path"], quoted) if found["path"] else "."
    kind = as_name(found["name"], quoted)
    return asks.FindFiles(kind, path) if path and kind else None


def _parse_read(clause: str, quoted: Quoted) -> asks.Ask | None:
    found = _READ.fullmatch(clause)
    path = as_path(found["path"], quoted) if found else None
    if found is None or path is None or path == ".":
        return None
    lines = found["lines"] or found["after"]
    return asks.ReadFile(path, max(1, min(int(lines), _MAX_FIRST_LINES)) if lines else None)


_PARSERS = (_parse_question,
    _parse_headings, _parse_count, _parse_search, _parse_list, _parse_find, _parse_read,
)  # fmt: skip


def _files(text: str, quoted: Quoted, *, count_only: bool) -> asks.FindFiles | None:
    found = _FILES.fullmatch(text)
    if found is None:
        return None
    folders = not found["noun"].lower().startswith("file")
    if found["name"]:
        kind = as_name(found["name"], quoted)
    else:
        kind = as_kind(found["kind"], quoted, folders=folders)
    path = as_path(found["path"], quoted) if found["path"] else "."
    return asks.FindFiles(kind, path, count_only) if path and kind else None


def _search(needle: str, where: str, quoted: Quoted, *, count_only: bool) -> asks.SearchText | None:
    text = as_needle(needle, quoted)
    found = _KIND_OF_FILES.fullmatch(where)
    kind = as_kind(found["kind"], quoted) if found else None
    if found and kind and kind.patterns:
        where = found["path"] or ""
    else:
        kind = None
    path = as_path(where, quoted) if where else "."
    return asks.SearchText(text, path, kind, count_only) if path and text else None


def _looks_like_file(path: str) -> bool:
    """Return whether a path is a file's, by its name alone: "LICENSE" and "a.md" are files."""
    name = path.rstrip("/").rpartition("/")[2]
    return not path.endswith("/") and ("." in name.lstrip(".") or name.isupper())
