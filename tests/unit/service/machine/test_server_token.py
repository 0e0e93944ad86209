"""The token of a server: made once, private, and refused where others could know it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from pi_subagents.errors import TokenFileUnusable
from pi_subagents.service import messages
from pi_subagents.service.machine.server_token import access_token

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "a-token-that-is-long-enough"


def private(path: Path, content: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(TokenFileUnusable) as refused:
        access_token(path)
    assert str(path) in str(refused.value)
    return refused.value.reason


def test_it_is_made_on_first_use_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "data" / "deep" / "token"
    token = access_token(path)
    assert len(token) >= 40
    assert access_token(path) == token
    assert path.read_text() == f"{token}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert access_token(tmp_path / "another") != token


def test_one_of_your_own_is_used(tmp_path: Path) -> None:
    assert access_token(private(tmp_path / "token", f" {GOOD}\n".encode())) == GOOD


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606, 0o620, 0o601])
def test_one_that_others_can_touch_is_refused(tmp_path: Path, mode: int) -> None:
    path = private(tmp_path / "token", GOOD.encode(), mode)
    assert refusal(path) == messages.NOT_A_PRIVATE_FILE


def test_a_link_a_directory_or_a_pipe_is_refused(tmp_path: Path) -> None:
    link, nowhere, pipe = tmp_path / "link", tmp_path / "nowhere", tmp_path / "pipe"
    link.symlink_to(private(tmp_path / "token", GOOD.encode()))
    nowhere.symlink_to(tmp_path / "missing")
    os.mkfifo(pipe, 0o600)
    for path in (link, nowhere, pipe, tmp_path):
        assert refusal(path) == messages.NOT_A_PRIVATE_FILE
    assert not (tmp_path / "missing").exists()


def test_somebody_elses_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = private(tmp_path / "token", GOOD.encode())
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert refusal(path) == messages.NOT_A_PRIVATE_FILE


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"short", b"two words that are long", b"tab\there-and-more-of-it"]
)
def test_one_that_is_no_token_is_refused(tmp_path: Path, content: bytes) -> None:
    assert refusal(private(tmp_path / "token", content)) == messages.token_too_short(16)


@pytest.mark.parametrize("content", [b"\xff" * 30, b"x" * 2000])
def test_one_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes) -> None:
    assert refusal(private(tmp_path / "token", content))


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    blocker = private(tmp_path / "file", b"")
    assert refusal(blocker / "token")
