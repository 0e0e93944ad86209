"""
Cut a user message into clauses, and read the operands of a clause.

In: text of any size and content.  Out: clauses with their quotations set aside, and paths,
kinds of files and search texts as plain values.  Pure, never raises, bounded work.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.engines.offline.asks import AskKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LOOK_AT = 20_000  # characters at the end of a message
_MAX_CLAUSE = 400
_MAX_PARAGRAPHS = 40

_VERBS = (
    r"(?:list|ls|count|how many|find|locate|search|grep|read|show|print|display|open|cat|outline"
    r"|summari[sz]e|what is in|which files|what files|(?:tell me\s+)(?:how many|what|which))\b"
)
_SPLIT = re.compile(
    rf"(?:\s*;|[.!?]|,?\s+and\s+then|,?\s+then|,?\s+and|,)\s+(?:also\s+|then\s+)?(?={_VERBS})",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_POLITE = re.compile(
    r"(?:(?:[-*]|\d{1,3}[.)]|please|kindly|now|first|next|finally|also|then"
    r"|(?:can|could|would|will) you|tell me|i (?:want|need) you to"
    r"|your task(?: is to)?:?|task:),?\s+)+",
    re.IGNORECASE,
)
# what to do with the answer is no request of its own
_REPORT = re.compile(
    r"(?:,|,?\s+and)\s+(?:then\s+)?(?:tell|report|say|answer|return|reply|give|please)\b"
    r"(?!\s+me\s+(?:how many|what|which)).*|\s+(?:please|for me)$",
    re.IGNORECASE,
)
_RESUMED = re.compile(r"^Instructions:[ \t]*\r?$", re.MULTILINE)
_FILE_BLOCK = re.compile(r"^=== .+ ===[ \t]*\r?$", re.MULTILINE)

_QUOTATION = re.compile(
    r'"([^"\n]{1,300})"|`([^`\n]{1,300})`|“([^”\n]{1,300})”|(?<!\w)\'([^\'\n]{1,300})\'(?!\w)'
)
_MARK = re.compile("\x00(\\d+)\x00")

_BEFORE_PATH = re.compile(
    r"(?:(?:the|my|our|your|all|each|every|files?|folder|directory|dir|path|lines|text|contents?"
    r"|of|in)\s+)+",
    re.IGNORECASE,
)
_AFTER_PATH = re.compile(r"\s+(?:folder|directory|dir|file|package|module|tree)$", re.IGNORECASE)
_HERE = re.compile(
    r"(?:(?:this|the|my|our|current|working|whole|entire|all|root|project's|repo's)\s+)*"
    r"(?:here|this|it|directory|folder|project|repository|repo|checkout|code ?base|tree|workspace"
    r"|root|files)",
    re.IGNORECASE,
)
_BEFORE_NEEDLE = re.compile(
    r"(?:(?:the|all|any|every)\s+)*(?:(?:text|word|string|phrase|occurrences? of|mentions? of|lines"
    r" (?:with|containing))\s+)+",
    re.IGNORECASE,
)
_SUFFIXES = {
    "c": ("*.c", "*.h"), "config": ("*.toml", "*.ini", "*.cfg"), "css": ("*.css",),
    "csv": ("*.csv",), "go": ("*.go",), "html": ("*.html",), "java": ("*.java",),
    "javascript": ("*.js", "*.mjs", "*.cjs"), "json": ("*.json",), "markdown": ("*.md",),
    "python": ("*.py",), "rust": ("*.rs",), "shell": ("*.sh",),
    "test": ("test_*", "*_test.*", "*.test.*"), "text": ("*.txt",), "toml": ("*.toml",),
    "typescript": ("*.ts", "*.tsx"), "yaml": ("*.yaml", "*.yml"),
}  # fmt: skip
_SPELLING = {
    "c": "C", "css": "CSS", "csv": "CSV", "html": "HTML", "json": "JSON", "toml": "TOML",
    "yaml": "YAML", "javascript": "JavaScript", "typescript": "TypeScript", "test": "test",
    "text": "text", "shell": "shell", "config": "config",
}  # fmt: skip


@value
class Quoted:
    """The quotations of a line, which stand in its clauses as numbered marks."""

    texts: tuple[str, ...] = ()

    def restored(self, text: str) -> str:
        """Put the quotations back, without their quotes."""
        return _MARK.sub(lambda mark: self._text(int(mark[1])), text)

    def _text(self, number: int) -> str:
        return self.texts[number] if number < len(self.texts) else ""


def paragraphs_of(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the lines of each paragraph that may hold the request, the last one first."""
    # prepended files have no end mark: only the last paragraph is surely the user's own
    most = 1 if _FILE_BLOCK.search(text) else _MAX_PARAGRAPHS
    resumed = list(_RESUMED.finditer(text))
    if resumed:  # what was said before a resume is history, not a request
        text, most = text[resumed[-1].end() :], _MAX_PARAGRAPHS
    text = text[-_LOOK_AT:].replace("\x00", "").replace("\r\n", "\n")
    paragraphs = [
        lines
        for block in re.split(r"\n[ \t]*\n", text)
        if (lines := tuple(line.strip() for line in block.split("\n") if line.strip()))
    ]
    yield from paragraphs[::-1][:most]


def clauses_of(lines: Iterable[str]) -> Iterator[tuple[str, Quoted]]:
    """Yield the clauses of some lines, each with the quotations it refers to."""
    for line in lines:
        texts: list[str] = []

        def set_aside(found: re.Match[str], texts: list[str] = texts) -> str:
            texts.append(next(group for group in found.groups() if group is not None))
            return f"\x00{len(texts) - 1}\x00"

        # one space between words: the patterns below are quadratic in runs of blanks
        masked = " ".join(_QUOTATION.sub(set_aside, line).split())
        for sentence in _SENTENCE.split(masked):
            for clause in _SPLIT.split(sentence):
                bare = _bare(clause)
                if bare:
                    yield bare, Quoted(tuple(texts))


def as_path(text: str, quoted: Quoted) -> str | None:
    """Return the one path a phrase names ("." for "this project"), or None."""
    text = text.strip().rstrip(",;:!?").strip()
    if _HERE.fullmatch(text):
        return "."
    text = _AFTER_PATH.sub("", text)
    before = _BEFORE_PATH.match(text)
    text = text[before.end() :] if before else text
    if _HERE.fullmatch(text):
        return "."
    if not text or any(character.isspace() for character in text):
        return None
    return quoted.restored(text) or None


def as_needle(text: str, quoted: Quoted) -> str | None:
    """Return the text to search for, or None."""
    before = _BEFORE_NEEDLE.match(text)
    needle = quoted.restored((text[before.end() :] if before else text).strip())
    return needle if needle and "\n" not in needle else None


def as_kind(text: str, quoted: Quoted, *, folders: bool = False) -> AskKind | None:
    """Return the kind of files an adjective names ("Python", "*.md", ".toml", ""), or None."""
    word = quoted.restored(text.strip())
    if word.lower() in {"", "all", "all the", "the", "different", "regular"}:
        noun = ("folder", "folders") if folders else ("file", "files")
        return AskKind(*noun, (), folders)
    if folders:
        return None
    patterns = _SUFFIXES.get(word.lower())
    if patterns:
        label = _SPELLING.get(word.lower(), word.capitalize())
        return AskKind(f"{label} file", f"{label} files", patterns)
    if re.fullmatch(r"\*?\.\w{1,20}", word):
        suffix = word.lstrip("*")
        return AskKind(f"{suffix} file", f"{suffix} files", (f"*{suffix}",))
    return None


def as_name(text: str, quoted: Quoted) -> AskKind | None:
    """Return the files that a name or glob stands for; a bare word may be part of the name."""
    name = quoted.restored(text.strip().rstrip(",;:!?"))
    if not name or "/" in name:
        return None
    pattern = name if re.search(r"[.*?]", name) else f"*{name}*"
    return AskKind(f"file named {pattern}", f"files named {pattern}", (pattern,))


def _bare(clause: str) -> str:
    """Strip courtesy, list marks and the full stop; what is too long for a request is empty."""
    if len(clause) > _MAX_CLAUSE:
        return ""
    clause = clause.strip()
    polite = _POLITE.match(clause)
    clause = clause[polite.end() :] if polite else clause
    clause = _REPORT.sub("", clause).strip().rstrip("!?;:,")
    if clause.endswith(".") and not re.search(r"(?:^|[\s/.])\.$", clause):
        clause = clause[:-1]  # a full stop, not the path "." or ".."
    return " ".join(clause.split())
