"""Which editor is used, and what becomes of the text."""

from __future__ import annotations

import stat
import sys
from typing import TYPE_CHECKING

import pytest

from pi_subagents.core.profile.questions import CANCEL
from pi_subagents.faces.profile_wizard.editor import any_editor, chosen_editor, written_in

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def programs(tmp_path: Path) -> str:
    for name in ("mine", "other", "nano"):
        path = tmp_path / name
        path.touch(0o755)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("env", "chosen", "used"),
    [
        ({"EDITOR": "mine -w", "VISUAL": "other"}, ["mine", "-w"], ["mine", "-w"]),
        ({"EDITOR": "absent", "VISUAL": "other"}, ["other"], ["other"]),
        ({"EDITOR": "'open", "VISUAL": ""}, [], ["nano"]),
        ({}, [], ["nano"]),
    ],
)
def test_the_named_editor_comes_first(
    programs: str, env: dict[str, str], chosen: list[str], used: list[str]
) -> None:
    assert chosen_editor({"PATH": programs, **env}) == chosen
    assert any_editor({"PATH": programs, **env}) == used


def test_vi_comes_before_nano_and_there_may_be_no_editor(programs: str, tmp_path: Path) -> None:
    (tmp_path / "vi").touch(0o755)
    assert any_editor({"PATH": programs}) == ["vi"]
    assert any_editor({"PATH": str(tmp_path / "empty")}) == []


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\n\n", "é\nb", "a\r\nb\rc\n"])
def test_an_editor_that_changes_nothing_changes_nothing(text: str) -> None:
    assert written_in(["true"], text) == text


def test_what_cannot_be_written_to_a_file_survives_an_editor_that_changes_nothing() -> None:
    same = written_in(["true"], "a\ud800") == "a\ud800"
    assert same, "half a character"


def test_the_text_is_what_the_editor_saved_without_a_line_end_of_its_own() -> None:
    append = "import sys; open(sys.argv[1], 'a').write('more\\n')"
    assert written_in([sys.executable, "-c", append], "some") == "some\nmore"


def test_the_text_is_private_while_it_is_edited_and_gone_afterwards(tmp_path: Path) -> None:
    heard = tmp_path / "told"
    look = (
        "import os, sys; p = sys.argv[1]; d = os.path.dirname(p)\n"
        f"open({str(heard)!r}, 'w').write(f'{{p}} {{os.stat(p).st_mode}} {{os.stat(d).st_mode}}')"
    )
    written_in([sys.executable, "-c", look], "secret")
    path, file_mode, dir_mode = heard.read_text().split()
    assert [stat.S_IMODE(int(mode)) for mode in (file_mode, dir_mode)] == [0o600, 0o700]
    assert not (tmp_path / path).parent.exists()


@pytest.mark.parametrize("argv", [["false"], ["/no/such/editor"]])
def test_an_editor_that_does_not_end_well_cancels(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert written_in(argv, "text") is CANCEL
    assert capsys.readouterr().err == f"{argv[0]} did not end well.\n"
