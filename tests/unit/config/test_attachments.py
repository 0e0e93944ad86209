from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pi_subagents.config import attachments
from pi_subagents.config.attachments import read_files
from pi_subagents.core.task.attachment import FileSpec, format_blocks

if TYPE_CHECKING:
    from pathlib import Path


def with_files(prompt: str, files: tuple[FileSpec, ...], cwd: Path) -> str:
    return format_blocks(read_files(files, cwd), prompt)


def block(path: str, content: str) -> str:
    return f"=== {path} ===\n{content}\n\nGo."


def test_files_are_found_beside_the_task_or_anywhere(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "b.txt").write_text("three")
    (tmp_path / "link").symlink_to(elsewhere / "b.txt")
    files = (FileSpec("a.txt", tail=1), FileSpec(str(elsewhere / "b.txt")), FileSpec("link"))
    assert with_files("Go.", files, tmp_path) == (
        f"=== a.txt ===\ntwo\n\n=== {elsewhere}/b.txt ===\nthree\n\n=== link ===\nthree\n\nGo."
    )


def test_a_missing_file_becomes_a_placeholder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in ("missing", "file/below"):
        expected = block(path, f"[file not found: {path}]")
        assert with_files("Go.", (FileSpec(path),), tmp_path) == expected


@pytest.mark.parametrize("path", ["half \ud83d of a character", "null \0 byte"])
def test_a_path_that_no_file_can_have_becomes_a_placeholder(tmp_path: Path, path: str) -> None:
    (tmp_path / "a").write_text("one")
    expected = f"=== {path} ===\n[could not read file: {path}]\n\n=== a ===\none\n\nGo."
    assert with_files("Go.", (FileSpec(path), FileSpec("a")), tmp_path) == expected


def test_what_is_no_readable_text_becomes_a_placeholder(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(tmp_path / "fifo")  # with no writer: a blocking open would wait for ever
    for path in ("binary", "fifo", ".", "x" * 300):
        expected = block(path, f"[could not read file: {path}]")
        assert with_files("Go.", (FileSpec(path),), tmp_path) == expected


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_becomes_a_placeholder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0)
    expected = block("secret", "[could not read file: secret]")
    assert with_files("Go.", (FileSpec("secret"),), tmp_path) == expected


def test_a_file_over_one_megabyte_becomes_a_placeholder_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "most").write_bytes(b"x" * 1024 * 1024)
    (tmp_path / "more").write_bytes(b"x" * (1500 * 1024 + 1))
    assert with_files("Go.", (FileSpec("most"),), tmp_path) == block("most", "x" * 1024 * 1024)
    # Even for a few of its lines: the limit is the file's.
    expected = block("more", "[file too large: more (1501KB, limit 1024KB)]")
    assert with_files("Go.", (FileSpec("more", head=1),), tmp_path) == expected


def test_files_that_are_too_large_together_become_placeholders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "MAX_FILES_BYTES", 2048)
    for name, size in (("a", 1500), ("b", 1500), ("c", 500)):
        (tmp_path / name).write_text("x" * size)
    assert attachments.read_files(tuple(map(FileSpec, "abc")), tmp_path) == [
        ("a", "x" * 1500),
        ("b", "[file left out: b (the files of a task may have 2KB together)]"),
        ("c", "x" * 500),
    ]
