"""The pictures of the documents: what a terminal shows, drawn in an SVG; a terminal that is watched."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts import screenshots
from scripts.screenshot_svg import drawn
from scripts.screenshot_tmux import NeverShown, screen_of_our_own
from tests.fakes.private_tmux import needs_tmux

from pi_subagents._version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.screenshot_tmux import Screen

PLAIN, GREEN = "fill: #c5c8c6", "fill: #98a84b"
BOLD = f"{PLAIN};font-weight: bold"
SVG = "{http://www.w3.org/2000/svg}"
ALL_BUT_CONTROLS = st.characters(codec="utf-8", exclude_categories=["C"])


def styled(svg: str) -> list[tuple[str, str]]:
    """Return the texts of a picture, each with its style."""
    classes = dict(re.findall(r"^\.(\S+-r\d+) { (.*) }$", svg, re.MULTILINE))
    texts = ET.fromstring(svg).iter(f"{SVG}text")
    return [
        ((text.text or "").replace("\xa0", " "), classes.get(text.get("class", ""), "title"))
        for text in texts
    ]


def size(svg: str) -> str:
    return ET.fromstring(svg).get("viewBox", "")


def test_texts_keep_their_styles_also_into_the_next_row():
    svg = drawn("\x1b[1mSub\x1b[0m-agents\n\x1b[32m+1\nalso\x1b[0m\n", 20, 3, name="p", title="~/x")

    assert styled(svg) == [
        ("~/x", "title"),
        ("Sub", BOLD),
        ("-agents", PLAIN),
        ("+1", GREEN),
        ("also", GREEN),
    ]


def test_a_cursor_is_a_block():
    svg = drawn("> a\x1b[7m \x1b[0m\n", 20, 1, name="p", title="t")

    blocks = list(ET.fromstring(svg).iter(f"{SVG}rect"))[1:]
    assert [(rect.get("x"), rect.get("fill")) for rect in blocks] == [("36", "#c5c8c6")]


@pytest.mark.parametrize("shown", ["", "a\n", "a\nb", "\n\n\n", "x" * 20])
def test_the_size_depends_on_columns_and_rows_alone(shown: str):
    assert size(drawn(shown, 20, 5, name="p", title="t")) == "0 0 258 172"
    assert size(drawn(shown, 40, 5, name="p", title="t")) == "0 0 498 172"


@given(st.lists(st.text(ALL_BUT_CONTROLS, max_size=30), max_size=5))
def test_whatever_is_shown_the_picture_is_whole_and_of_that_size(rows: list[str]):
    svg = drawn("".join(f"{row}\n" for row in rows), 20, 5, name="p", title="t")

    assert size(svg) == "0 0 258 172"


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PS1": r"\w $ ", "LC_ALL": "C.UTF-8"}
    # A test's own directory is too long for a socket.
    with (
        tempfile.TemporaryDirectory(prefix="pictures-") as place,
        screen_of_our_own(Path(place), cwd=tmp_path, env=env, columns=30, rows=6) as screen,
    ):
        yield screen


@needs_tmux
def test_a_screen_is_typed_on_waited_for_and_captured(screen: Screen) -> None:
    screen.see("~ $\n")
    screen.type(r"clear; printf '\e[1mone\n\e[0mtwo '; read -r a b; echo said $a $b")
    screen.see("one\ntwo\n")
    screen.press("th", "ree", "Space", "4", "Enter")
    screen.see("said three 4", "~ $\n")

    assert styled(drawn(screen.captured(), 30, 6, name="p", title="t"))[1:] == [
        ("one", BOLD),
        ("two three 4", PLAIN),
        ("said three 4", PLAIN),
        ("~ $ ", PLAIN),
    ]


@needs_tmux
def test_what_is_never_shown_is_told_with_what_is(screen: Screen) -> None:
    screen.see("~ $\n")

    with pytest.raises(NeverShown, match=r"^never shown: gone\. The screen:\n~ \$\n"):
        screen.see("~ $", "gone", patience_s=0)


def test_without_tmux_one_line_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert screenshots.main([]) == 1
    assert capsys.readouterr() == ("", screenshots.NO_TMUX)


@needs_tmux
def test_a_picture_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert screenshots.main(["demo", "other"]) == 1
    assert capsys.readouterr().err.startswith("no such picture: other; there are run-windows, ")


@needs_tmux
@pytest.mark.pi
def test_a_picture_is_taken_of_the_real_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = screenshots.Picture(
        "version",
        "subagents --version; pwd",
        (screenshots.see("subagents, ", "~/project $\n"),),
        rows=4,
    )
    monkeypatch.setattr(screenshots, "PICTURES", (picture,))
    monkeypatch.setattr(screenshots, "OUT", tmp_path / "pictures")

    assert screenshots.main([]) == 0
    assert capsys.readouterr().out == "docs/pictures/version.svg\n"
    texts = [text for text, _ in styled((tmp_path / "pictures" / "version.svg").read_text())]
    assert texts[:2] == ["~/project", "~/project $ subagents --version; pwd"]
    assert texts[2:4] == [f"subagents, version {__version__}", "~/project"]
