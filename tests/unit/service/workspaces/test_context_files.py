"""What is above a checkout, and not above its worktrees, is found above these as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.service.workspaces.context_files import lay_context_files

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("FIRST.md", "SECOND.md")


def test_each_directory_above_says_what_counts_first_there(tmp_path: Path) -> None:
    top, home = tmp_path / "a" / "b" / "c" / "top", tmp_path / "home"
    top.mkdir(parents=True)
    home.mkdir()
    (tmp_path / "FIRST.md").write_text("a child finds this by itself")
    (tmp_path / "a" / "FIRST.md").write_text("outer\n")
    (tmp_path / "a" / "SECOND.md").write_text("does not count")
    (tmp_path / "a" / "b" / "FIRST.md").mkdir()
    (tmp_path / "elsewhere.md").write_text("inner")
    (tmp_path / "a" / "b" / "SECOND.md").symlink_to(tmp_path / "elsewhere.md")
    (tmp_path / "a" / "b" / "c" / "SECOND.md").write_bytes(bytes(1024 * 1024 + 1))
    (top / "FIRST.md").write_text("is in the worktree")
    lay_context_files(home, str(top), NAMES)
    assert {path.name: path.read_text() for path in home.iterdir()} == {
        "FIRST.md": f"# {tmp_path}/a/FIRST.md\n\nouter\n\n# {tmp_path}/a/b/SECOND.md\n\ninner\n"
    }


def test_what_is_gone_above_is_gone(tmp_path: Path) -> None:
    top, home = tmp_path / "a" / "top", tmp_path / "home"
    home.mkdir()
    top.mkdir(parents=True)
    (tmp_path / "a" / "FIRST.md").write_text("here")
    lay_context_files(home, str(top), NAMES)
    (tmp_path / "a" / "FIRST.md").unlink()
    lay_context_files(home, str(top), ())  # of an engine whose children read nothing there
    assert [path.name for path in home.iterdir()] == ["FIRST.md"]
    lay_context_files(home, str(top), NAMES)
    assert list(home.iterdir()) == []
