from __future__ import annotations

import io
import sys

import pytest

from pi_subagents.faces.cli.given import text_or_stdin


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (b"from \xc3\xa9diteur\r\n", "from éditeur\r\n"),
        (b"\xef\xbb\xbf{}", "{}"),  # as some editors begin a file
        (b"a\xff", "a\ufffd"),
        (b"", ""),
    ],
)
def test_a_dash_is_all_of_standard_input(
    monkeypatch: pytest.MonkeyPatch, given: bytes, text: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    assert text_or_stdin("-") == text


def test_anything_else_is_the_text_itself() -> None:
    assert text_or_stdin("--") == "--"
