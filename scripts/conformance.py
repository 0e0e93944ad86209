#!/usr/bin/env python3
"""
Write docs/conformance.md: what was specified, fact by fact, and the tests that prove it.

    python scripts/conformance.py            write the page and print it

In: tests/conformance/*.toml, and the tests they name, found by their source without running them.
Out: the page; or exit 1 with every fact that nothing proves and every test that does not exist.
Needs the standard library and nothing else.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
FACTS = ROOT / "tests" / "conformance"
PAGE = ROOT / "docs" / "conformance.md"
HEAD = """\
# Conformance

What was specified, fact by fact, and the tests that prove it. Written by `make conformance` from
`tests/conformance/*.toml`; do not edit it by hand.
"""
# Why something is not as it was specified; each fact that differs names one of them.
REASONS = {
    "rpc": "children are spoken to in pi's RPC mode and may serve several tasks, one after the "
    "other ([026](decisions/026-rpc-children.md), [027](decisions/027-reused-children.md)); "
    '`child_mode: "json"` and `reuse_children: false` give what was specified',
    "session": "every run keeps the child's own session, and one that is resumed goes on in a copy "
    "([043](decisions/043-a-run-goes-on-in-a-copy-of-the-childs-session.md)); "
    '`resume: "replay"` gives what was specified',
    "fault": "what is specified is a fault of the reference: it loses an answer, a stop or a count",
    "disk": "runs are kept on disk and found by their ids from anywhere: only views are forgotten",
    "pi": "pi does it otherwise by now, or there is no pi above us that could be asked",
    "private": "prompts and keys reach a child by private files, standard input or variables, "
    "never by its command line ([002](decisions/002-prompts-are-data.md))",
    "trust": "a project that the user does not trust decides nothing ([security](security.md))",
    "bounded": "what a host or a model is told is bounded, however much there is to tell",
    "design": "the design decided it otherwise, later",
    "more": "more than was specified, or what it left open",
    "python": "it is a Python package",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One fact, the tests that prove it, and where it is not as specified, why."""

    fact: str
    tests: tuple[str, ...] = ()
    differs: str = ""
    why: str = ""
    later: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """The facts of one place of a specification."""

    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """One file of facts."""

    title: str
    sections: tuple[Section, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        """All facts, in order."""
        return tuple(item for section in self.sections for item in section.items)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def load(directory: Path = FACTS) -> tuple[Source, ...]:
    """Return the sources of facts, in the order of their names."""
    return tuple(
        read_source(tomllib.loads(path.read_text("utf-8")))
        for path in sorted(directory.glob("*.toml"))
    )


def read_source(content: Mapping[str, object]) -> Source:
    """Return one decoded file as values; TypeError or KeyError where it has another shape."""
    sections = content["section"]
    assert isinstance(sections, list)
    return Source(
        str(content["title"]),
        tuple(
            Section(
                section["title"],
                tuple(
                    Item(**{**item, "tests": tuple(item.get("tests", ()))})
                    for item in section["item"]
                ),
            )
            for section in sections
        ),
    )


def problems(sources: Sequence[Source], root: Path = ROOT) -> list[str]:
    """Return every fact without a proof, and every test that is not there."""
    return [
        f"{section.title}: {item.fact}: {problem}"
        for source in sources
        for section in source.sections
        for item in section.items
        for problem in _problems_of(item, root)
    ]


def page(sources: Sequence[Source]) -> str:
    """Return docs/conformance.md as it should be."""
    parts = [HEAD, _holds(sources), _differs(sources), _counts(sources)]
    for source in sources:
        parts.append(f"## {source.title}\n")
        for section in source.sections:
            rows = [f"| {_cell(item.fact)} | {_proof(item)} |" for item in section.items]
            parts.append("\n".join([f"### {section.title}\n", *_table("fact", "proof"), *rows, ""]))
    return "\n".join(parts)


def main() -> int:
    """Write the page and print it, unless something is not proven."""
    sources = load()
    if found := problems(sources):
        sys.stderr.write("\n".join(["Not proven:", *found, ""]))
        return 1
    text = page(sources)
    PAGE.write_text(text, "utf-8")
    sys.stdout.write(text)
    return 0


def _problems_of(item: Item, root: Path) -> Iterator[str]:
    if not item.fact.strip():
        yield "says nothing"
    if not item.tests and not item.later:
        yield "no test proves it"
    if bool(item.differs) != (item.why in REASONS):
        yield "differs without one of the reasons, or has one and does not differ"
    if len(set(item.tests)) < len(item.tests):
        yield "names a test twice"
    for test in item.tests:
        file, _, name = test.partition("[")[0].partition("::")
        if name not in _tests_of(root / file):
            yield f"no such test: {test}"


@cache
def _tests_of(path: Path) -> frozenset[str]:
    """Return the names of the tests in a file, those of classes as `Class::test`."""
    if not path.is_file():
        return frozenset()
    return frozenset(_names(ast.parse(path.read_text("utf-8")).body))


def _names(body: Sequence[ast.stmt], prefix: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _names(node.body, f"{prefix}{node.name}::")
        elif isinstance(node, _FUNCTIONS) and node.name.startswith("test"):
            yield prefix + node.name


def _holds(sources: Sequence[Source]) -> str:
    items = [item for source in sources for item in source.items]
    facts, proven, differing, later = _count(items)
    coming = "; ".join(item.later for item in items if item.later)
    return (
        f"**What holds.** {proven} of {facts} facts are proven by tests, {proven - differing} of "
        f"them as they were specified. Left for later: {later}{f' ({coming})' if later else ''}.\n"
    )


def _differs(sources: Sequence[Source]) -> str:
    counted = Counter(item.why for source in sources for item in source.items if item.differs)
    rows = [f"| {REASONS[why]} | {number} |" for why, number in counted.most_common()]
    said = "**What differs, and why.** Each says below how it is met, and a test proves that."
    return "\n".join([said, "", *_table("because", "facts"), *rows, ""])


def _counts(sources: Sequence[Source]) -> str:
    rows = [
        f"| {source.title} | {' | '.join(map(str, _count(source.items)))} |" for source in sources
    ]
    total = _count([item for source in sources for item in source.items])
    rows.append(f"| **all** | {' | '.join(f'**{number}**' for number in total)} |")
    return "\n".join([*_table("", "facts", "proven", "of these differ", "later"), *rows, ""])


def _count(items: Sequence[Item]) -> tuple[int, int, int, int]:
    """Return how many facts there are, are proven, are proven otherwise, and are to come."""
    proven = [item for item in items if item.tests and not item.later]
    differing = [item for item in proven if item.differs]
    return len(items), len(proven), len(differing), len(items) - len(proven)


def _proof(item: Item) -> str:
    said = [f"*differs:* {_cell(item.differs)}"] * bool(item.differs)
    said += [f"*later:* {_cell(item.later)}"] * bool(item.later)
    return "<br>".join([*said, *map(_link, item.tests)])


def _link(test: str) -> str:
    file, _, name = test.partition("::")
    return f"[{_cell(name)}](../{file})"


def _table(*columns: str) -> tuple[str, str]:
    return f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
