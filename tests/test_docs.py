"""The documents say what is true: generated parts are current, and links lead somewhere."""

import inspect
import json
import re
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from scripts import errors_page, screenshots, update_docs
from scripts.errors_advice import ADVICE
from scripts.errors_page import message_modules, messages_of

from pi_subagents import __version__, errors

ROOT = update_docs.ROOT
HIDDEN_OR_MADE = {"node_modules", "dist", "build"}
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
PICTURES = ROOT / "docs" / "pictures"
# What makes whoever looks at an SVG fetch something: a reference that is not to the picture itself.
FETCHED = re.compile(r"@import|href=|src=|url\((?!#)|https?:(?!//www\.w3\.org/2000/svg\")")
SOURCES = (ROOT, ROOT / "src" / "pi_subagents", ROOT / "tests")
# A file of ours, or a folder; `core/run/events` is one too, `faults/test_*.py` are several.
NAMED = re.compile(
    r"`((?:[\w*-]+/)*[\w*-]+(?:\.(?:py|ts|mjs|html)|/)|(?:core|engines|tests)/[\w/*-]+)`"
)
NOT_OF_THE_SOURCE = {"runs/"}  # a folder of what is kept
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


def at(name: str) -> list[Path]:
    """Return what a name in a document means: below the checkout, the package or the tests."""
    return [path for base in SOURCES for end in ("", ".py") for path in base.glob(f"{name}{end}")]


def stale_names(text: str) -> list[str]:
    """Return the files and folders that text names and nobody has; one line may shorten a path."""
    stale = []
    for line in text.splitlines():
        folders: set[Path] = set()
        for name in NAMED.findall(line):
            found = at(name) or [path for folder in folders for path in folder.glob(name)]
            if not found and not folders and "/" not in name:
                found = at(f"**/{name}")
            if not found and name not in NOT_OF_THE_SOURCE:
                stale.append(name)
            folders.update(path if path.is_dir() else path.parent for path in found)
    return stale


def test_there_are_documents_to_look_at():
    names = {path.relative_to(ROOT).as_posix() for path in documents()}

    assert {"README.md", "docs/architecture.md", "docs/cli.md", "docs/errors.md"} <= names
    assert "examples/README.md" in names


def test_generated_pages_are_up_to_date():
    made = update_docs.pages()
    stale = [path.name for path, wanted in made.items() if path.read_text("utf-8") != wanted]

    assert stale == [], "run: python scripts/update_docs.py"


def test_commands_below_a_verb_are_on_the_page_of_the_command_line():
    sections = re.split(r"^#+ (subagents.*)\n", update_docs.cli_page(), flags=re.MULTILINE)
    helps = dict(zip(sections[1::2], sections[2::2], strict=True))

    for command, option in (
        ("subagents profile create", "--extra-args"),
        ("subagents preset lint", "--strict"),
        ("subagents background wait", "--timeout"),
    ):
        assert f"Usage: {command} " in helps[command]
        assert option in helps[command]


EXCEPTIONS = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, Exception)
}
WORDS = {
    message.name: getattr(module, message.name)
    for module in message_modules(update_docs.PACKAGE)
    for message in messages_of(module)
}
CONSTANTS = {name: value for name, value in WORDS.items() if name.isupper()}
FUNCTIONS = {name: value for name, value in WORDS.items() if inspect.isfunction(value)}
MAKERS: dict[str, Callable[..., object]] = {**EXCEPTIONS, **FUNCTIONS}


def test_every_exception_is_explained_on_the_page_of_errors():
    page = update_docs.ERRORS.read_text("utf-8")
    bases = {base.__name__ for error in EXCEPTIONS.values() for base in error.__bases__}
    named = re.findall(r"^### (\w+)\n\n```text\n", page, re.MULTILINE)

    assert sorted(named) == sorted(EXCEPTIONS.keys() - bases)
    for name in named:
        assert (EXCEPTIONS[name].__doc__ or "").strip() in page


def test_every_message_is_explained_on_the_page_of_errors():
    page = update_docs.ERRORS.read_text("utf-8")

    for text in CONSTANTS.values():
        assert re.search(rf"^- `+ ?{re.escape(text)} ?`+(  )?$", page, re.MULTILINE), text
    for name, function in FUNCTIONS.items():
        meaning = (function.__doc__ or "").removeprefix("Return ")
        assert re.search(
            rf"^- `.+`  \n  {re.escape(meaning)}", page, re.MULTILINE | re.IGNORECASE
        ), name


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("timed_out", ["Timed out after {timeout_s}s. Consider resuming with a longer timeout."]),
        ("file_too_large", ["[file too large: {path} ({size}KB, limit {limit}KB)]"]),
        ("unknown_field", ['unknown field "{key}"; known: {known}']),
        (
            "note_exit_after_answer",
            [
                "The process ended with exit code {exit_code} after it had answered.",
                "The process ended with {signal_name} after it had answered.",
            ],
        ),
    ],
)
def test_what_differs_from_case_to_case_is_a_placeholder(name: str, texts: list[str]):
    assert list(errors_page.texts_of(name, FUNCTIONS[name])) == texts


def test_messages_stand_under_the_heading_above_them(tmp_path: Path):
    source = tmp_path / "some_messages.py"
    source.write_text(
        '"""Some messages."""\n\nimport re\n\n# First: things.\n\nA = "a"\n# why B\nB = "b"\n\n\n'
        '# Second\n\n\ndef c(x: str) -> str:\n    """Return a C."""\n    # a step\n\n    return f"c {x}"\n\n\n'
        'NOTE_D = "d"\nE = "e"\n'
    )
    spec = spec_from_file_location("some_messages", source)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)

    assert errors_page.messages_of(module) == [
        errors_page.Message("A", ("a",), "", ("First: things",)),
        errors_page.Message("B", ("b",), "", ("First: things",)),
        errors_page.Message("c", ("c {x}",), "A C.", ("Second",)),
        errors_page.Message("NOTE_D", ("d",), "", ("Notes",)),
        errors_page.Message("E", ("e",), "", ("Second",)),
    ]


def test_advice_and_other_arguments_are_for_messages_that_exist():
    known = EXCEPTIONS.keys() | CONSTANTS.keys() | FUNCTIONS.keys()

    assert ADVICE.keys() - known == set()
    assert errors_page.OTHER_ARGUMENTS.keys() - known == set()


def test_a_text_is_shown_once_for_each_way_it_can_read():
    for name in errors_page.OTHER_ARGUMENTS:
        texts = errors_page.texts_of(name, MAKERS[name])
        assert len(texts) == len(set(texts)), name


def test_the_documents_tell_of_presets_and_background_runs_all_that_was_specified():
    heard = {
        "presets.md": (
            "`~/.pi/agent/subagents`", "the nearest `.pi/subagents`", "description:",
            "## What `tools` limits",
        ),
        "background.md": (
            "never a tmux window", "`background_agent_status`", "A notice never begins a turn",
            "Counts are of all background runs", "`bg: 2 running / 5 total`",
        ),
        "tools.md": ("## background_agent", "## background_agent_status", "## subagent"),
    }  # fmt: skip
    missing = [
        (name, phrase)
        for name, phrases in heard.items()
        for phrase in phrases
        if phrase not in (ROOT / "docs" / name).read_text("utf-8")
    ]
    assert missing == []


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path):
    assert broken_links(path) == []


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_path_of_one_machine_is_named(path: Path):
    assert OF_ONE_MACHINE.findall(path.read_text("utf-8")) == []


def shown_pictures() -> dict[Path, str]:
    """Return every picture that a document shows, with the words for who cannot see it."""
    return {
        (path.parent / place).resolve(): words
        for path in documents()
        for words, place in PICTURE.findall(prose(path))
    }


def test_every_picture_is_shown_and_there_and_has_words_for_who_cannot_see_it():
    shown = shown_pictures()

    assert set(shown) == set(PICTURES.iterdir())
    assert set(shown) == {PICTURES / each.file for each in screenshots.PICTURES}
    assert all(len(words.split()) > 2 for words in shown.values())


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_a_picture_is_whole_fetches_nothing_and_shows_no_path_of_one_machine(path: Path):
    svg = path.read_text("utf-8")

    assert ET.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert FETCHED.findall(svg) == []
    assert OF_ONE_MACHINE.findall(svg) == []


@pytest.mark.parametrize(
    "svg",
    [
        '<style>@import "x.css";</style>',
        '<image href="x.png"/>',
        '<script src="x.js"/>',
        "fill: url(x.svg#a)",
        'url("https://x.y/font.woff2")',
        'xmlns="http://www.w3.org/2000/svg" data-of="http://x.y"',
    ],
)
def test_what_a_picture_would_fetch_is_found(svg: str):
    assert FETCHED.search(svg)
    assert not FETCHED.search('xmlns="http://www.w3.org/2000/svg" clip-path="url(#a)"')


@pytest.mark.parametrize(("name", "most"), [("README.md", 150), ("AGENTS.md", 60)])
def test_the_pages_read_first_are_short(name: str, most: int):
    assert len((ROOT / name).read_text("utf-8").splitlines()) <= most


def test_every_decision_is_listed():
    folder = ROOT / "docs" / "decisions"
    listed = set(LINK.findall((folder / "README.md").read_text("utf-8")))

    assert listed == {path.name for path in folder.glob("[0-9]*.md")}


def test_every_room_is_in_the_table_of_rooms():
    folders = {path.parent.name for path in update_docs.PACKAGE.glob("*/__init__.py")}
    assert {*update_docs.ROOMS} == {"", "api", *folders}


def test_the_number_of_a_decision_is_that_of_the_page_it_leads_to():
    numbered = re.compile(r"\[(?:decision )?(\d{3})\]\((?:[\w./]*/)?(\d{3})-")
    wrong = {
        path.name: [said for said, number in numbered.findall(prose(path)) if said != number]
        for path in documents()
    }

    assert {name: numbers for name, numbers in wrong.items() if numbers} == {}


def test_pi_is_shown_what_was_released_and_nothing_else():
    whole = (
        "# Changelog\n\nAbout it.\n\n## [Unreleased]: 0.3.0\n\n- Not yet.\n\n"
        "## [0.2.0] - 2027-01-01\n\n### Added\n\n- A [page](docs/x.md), a [site](https://x.y).\n\n"
        "## 0.1.0\n\n- All.\n"
    )
    assert update_docs.pi_changelog(whole) == (
        f"{update_docs.PI_CHANGELOG_HEAD}\n## [0.2.0] - 2027-01-01\n\n"
        "### Added\n\n- A page, a [site](https://x.y).\n\n## 0.1.0\n\n- All.\n"
    )
    assert update_docs.pi_changelog("# Changelog\n") == update_docs.PI_CHANGELOG_HEAD


def test_the_package_for_pi_has_our_version():
    package = json.loads(update_docs.PI_PACKAGE.read_text("utf-8"))
    assert package["version"] == __version__


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


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_of_the_source_that_are_named_exist(path: Path):
    assert stale_names(prose(path)) == []


def test_a_name_that_nobody_has_is_found():
    line = "`core/value.py` `usage.py` `cells.py` `disk/` `unit/core/test_v*.py` `core/run/gone`"
    assert stale_names(line) == ["cells.py", "disk/", "core/run/gone"]
    assert stale_names("`messages.py`, `no_such_file.py`\n`e2e/`, `runs/`, `a b.py`") == [
        "no_such_file.py"
    ]
