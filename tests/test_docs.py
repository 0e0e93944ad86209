"""The documents say what is true: generated parts are current, and links lead somewhere."""

import re
from pathlib import Path

import pytest
from scripts import update_docs

ROOT = update_docs.ROOT
HIDDEN_OR_MADE = {"node_modules", "dist", "build"}
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
OF_ONE_MACHINE = re.compile(r"(?<![\w.~])/(?:home|root|tmp|Users|work|private)/")


def documents() -> list[Path]:
    found = [
        path
        for path in ROOT.rglob("*.md")
        if not any(
            part.startswith(".") or part in HIDDEN_OR_MADE for part in path.relative_to(ROOT).parts
        )
    ]
    return sorted(found)


def prose(path: Path) -> str:
    return FENCE.sub("", path.read_text("utf-8"))


def anchors(path: Path) -> set[str]:
    titles = HEADING.findall(prose(path))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(path: Path) -> list[str]:
    broken = []
    for link in LINK.findall(prose(path)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


def test_there_are_documents_to_look_at():
    names = {path.relative_to(ROOT).as_posix() for path in documents()}

    assert {"README.md", "docs/architecture.md", "docs/cli.md", "examples/README.md"} <= names


@pytest.mark.parametrize(
    "path", [update_docs.CLI, update_docs.ARCHITECTURE], ids=lambda path: path.name
)
def test_generated_pages_are_up_to_date(path: Path):
    assert path.read_text("utf-8") == update_docs.pages()[path], (
        "run: python scripts/update_docs.py"
    )


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path):
    assert broken_links(path) == []


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_path_of_one_machine_is_named(path: Path):
    assert OF_ONE_MACHINE.findall(path.read_text("utf-8")) == []


@pytest.mark.parametrize(("name", "most"), [("README.md", 150), ("AGENTS.md", 60)])
def test_the_pages_read_first_are_short(name: str, most: int):
    assert len((ROOT / name).read_text("utf-8").splitlines()) <= most


def test_every_decision_is_listed():
    folder = ROOT / "docs" / "decisions"
    listed = set(LINK.findall((folder / "README.md").read_text("utf-8")))

    assert listed == {path.name for path in folder.glob("[0-9]*.md")}


def test_a_link_to_nowhere_is_found(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\n[a](#title) [b](#other) [c](page.md) [d](gone.md) [e](https://x.y)\n"
    )

    assert broken_links(page) == ["#other", "gone.md"]


@pytest.mark.parametrize(
    ("docstring", "sentence"),
    [
        ("One thing.", "One thing."),
        ("\nTwo lines\nof it.\n\nMore.\n", "Two lines of it."),
        ("Read `events.jsonl` back.  Then more.", "Read `events.jsonl` back."),
        ("No full stop", "No full stop"),
    ],
)
def test_the_first_sentence_ends_at_its_full_stop(docstring: str, sentence: str):
    assert update_docs.first_sentence(docstring) == sentence
