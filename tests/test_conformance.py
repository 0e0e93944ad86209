"""What was specified is proven: no fact is empty, every named test exists, the page is current."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from scripts import conformance
from scripts.conformance import Item, Section, Source

if TYPE_CHECKING:
    from pathlib import Path

SOURCES = conformance.load()
SEEDS, FAULTS = SOURCES[:-1], SOURCES[-1]
# The second seed has headings and no numbers.
PARTS_OF_002 = {
    "Goals and non-goals", "`subagent`", "`background_agent`", "`background_agent_status`",
    "Presets: where", "Presets: file", "Presets: meaning", "Foreground runs, step by step",
    "Background runs, step by step", "Registry", "Persistence and reload", "Completion", "Polling",
    "Artifacts", "Metadata", "The child", "Registration", "Prompts and documents", "New coverage",
    "Preserved coverage", "Risks",
}  # fmt: skip


def test_every_fact_is_proven_by_tests_that_exist() -> None:
    assert conformance.problems(SOURCES) == []


def test_the_page_is_up_to_date() -> None:
    assert conformance.PAGE.read_text("utf-8") == conformance.page(SOURCES), "run: make conformance"


def test_the_five_seeds_and_the_faults_are_there() -> None:
    assert [path.stem for path in sorted(conformance.FACTS.iterdir())] == [
        "000", "001", "002", "003", "004", "reference-faults",
    ]  # fmt: skip
    assert all(len(source.items) > 30 for source in SOURCES)


def test_every_section_of_the_seeds_has_facts() -> None:
    titles = [section.title for source in SEEDS for section in source.sections]
    numbered = [re.match(r"(\d{3}) §(\d+)", title) for title in titles]
    chapters = {found.groups() for found in numbered if found}
    assert chapters == {
        *(("000", str(number)) for number in range(1, 9)),
        *(("001", str(number)) for number in range(1, 7)),
        *(("003", str(number)) for number in range(1, 6)),
        *(("004", str(number)) for number in range(1, 9)),
    }
    parts = [title.partition(" ") for title in titles]
    assert {part for number, _, part in parts if number == "002"} == PARTS_OF_002
    assert "003 First failing tests" in titles
    assert len(set(titles)) == len(titles)
    assert all(section.items for source in SOURCES for section in source.sections)


def test_each_of_the_31_faults_is_proven_gone() -> None:
    faults = FAULTS.items
    assert [item.fact.partition(".")[0] for item in faults] == [str(n) for n in range(1, 32)]
    assert all(item.tests for item in faults)


def test_what_differs_is_proven_and_what_is_left_for_later_names_its_part() -> None:
    items = [item for source in SOURCES for item in source.items]
    assert [item.fact for item in items if item.differs and not item.tests] == []
    parts = ("the pi extension", "the profile wizard", "the terminal display")
    later = [item for source in SEEDS for item in source.items if item.later]
    named = [item for item in later if any(part in item.later for part in parts)]
    assert [item.fact for item in later if item not in named] == []


TESTS = """
def test_plain(): ...
async def test_waiting(): ...
def helper(): ...
class TestGroup:
    def test_inside(self): ...
"""


def found(root: Path, *items: Item) -> list[str]:
    return conformance.problems([Source("Source", (Section("Here", items),))], root)


def test_what_is_not_proven_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(TESTS)
    assert found(
        tmp_path,
        Item("a", ("test_a.py::test_plain", "test_a.py::test_waiting[x-1]")),
        Item("b", ("test_a.py::TestGroup::test_inside",)),
        Item("c", later="another day"),
        Item("d"),
        Item("e", differs="otherwise", why="more"),
        Item("f", ("test_a.py::helper", "test_a.py::test_inside")),
        Item("g", ("test_b.py::test_plain", "test_a.py")),
        Item(" ", ("test_a.py::test_plain", "test_a.py::test_plain")),
        Item("h", ("test_a.py::test_gone",), later="another day"),
        Item("i", ("test_a.py::test_plain",), differs="otherwise", why="whim"),
        Item("j", ("test_a.py::test_plain",), why="more"),
    ) == [
        "Here: d: no test proves it",
        "Here: e: no test proves it",
        "Here: f: no such test: test_a.py::helper",
        "Here: f: no such test: test_a.py::test_inside",
        "Here: g: no such test: test_b.py::test_plain",
        "Here: g: no such test: test_a.py",
        "Here:  : says nothing",
        "Here:  : names a test twice",
        "Here: h: no such test: test_a.py::test_gone",
        "Here: i: differs without one of the reasons, or has one and does not differ",
        "Here: j: differs without one of the reasons, or has one and does not differ",
    ]


def test_a_page_tells_facts_proofs_and_counts() -> None:
    section = Section(
        "000 §1 Start",
        (
            Item("`a || b`", ("tests/test_a.py::test_x", "tests/test_a.py::test_y[a|b]")),
            Item("b", ("tests/test_a.py::test_x",), differs="so | so", why="more"),
            Item("c", later="the wizard"),
            Item("d", ("tests/test_a.py::test_x",), later="the rest", differs="so", why="more"),
        ),
    )
    text = conformance.page([Source("Seed 000", (section,)), Source("Faults", ())])
    assert text == (
        f"{conformance.HEAD}\n"
        "**What holds.** 2 of 4 facts are proven by tests, 1 of them as they were specified. "
        "Left for later: 2 (the wizard; the rest).\n"
        "\n"
        "**What differs, and why.** Each says below how it is met, and a test proves that.\n"
        "\n"
        "| because | facts |\n"
        "|---|---|\n"
        f"| {conformance.REASONS['more']} | 2 |\n"
        "\n"
        "|  | facts | proven | of these differ | later |\n"
        "|---|---|---|---|---|\n"
        "| Seed 000 | 4 | 2 | 1 | 2 |\n"
        "| Faults | 0 | 0 | 0 | 0 |\n"
        "| **all** | **4** | **2** | **1** | **2** |\n"
        "\n"
        "## Seed 000\n"
        "\n"
        "### 000 §1 Start\n"
        "\n"
        "| fact | proof |\n"
        "|---|---|\n"
        "| `a \\|\\| b` | [test_x](../tests/test_a.py)<br>[test_y[a\\|b]](../tests/test_a.py) |\n"
        "| b | *differs:* so \\| so<br>[test_x](../tests/test_a.py) |\n"
        "| c | *later:* the wizard |\n"
        "| d | *differs:* so<br>*later:* the rest<br>[test_x](../tests/test_a.py) |\n"
        "\n"
        "## Faults\n"
    )


def test_facts_are_read_as_they_are_written() -> None:
    item = {"fact": "a", "tests": ["x::y"], "later": "l", "differs": "d"}
    content = {"title": "T", "section": [{"title": "S", "item": [item, {"fact": "b"}]}]}
    section = Section("S", (Item("a", ("x::y",), differs="d", later="l"), Item("b")))
    assert conformance.read_source(content) == Source("T", (section,))
    with pytest.raises(TypeError):
        conformance.read_source(
            {"title": "T", "section": [{"title": "S", "item": [{"fact": "a", "test": "x"}]}]}
        )
