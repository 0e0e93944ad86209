from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.faces.terminal.terminal import Key, KeyReader


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        (b"\x0f", ["expand"]),
        (b"\x1b[A\x1bOA", ["up", "up"]),
        (b"\x1b[B\x1bOB", ["down", "down"]),
        (b"\x1b[5~\x1b[6~", ["page up", "page down"]),
        (b"\x1b[H\x1bOH\x1b[1~\x1b[7~", ["home"] * 4),
        (b"\x1b[F\x1bOF\x1b[4~\x1b[8~", ["end"] * 4),
        (b"kj gG", ["up", "down", "page down", "home", "end"]),
        (b"xbc\r\n\xff\x00", []),
        (b"a", ["answer"]),
        (b"\x1b[1;5A\x1b[Z\x1b[200~", []),
        (b"\x1bx\x0f", ["expand"]),  # Alt+X, then Ctrl+O
        (b"\x1b\x1b[A", ["up"]),
    ],
)
def test_keys_are_known_by_what_terminals_send(typed: bytes, keys: list[Key]) -> None:
    assert KeyReader().feed(typed) == keys


def test_a_key_that_arrives_in_pieces_is_one_key() -> None:
    reader = KeyReader()
    assert [reader.feed(piece) for piece in (b"\x1b", b"[", b"5", b"~\x0f")] == [
        [], [], [], ["page up", "expand"],
    ]  # fmt: skip


def test_a_sequence_that_never_ends_is_given_up() -> None:
    reader = KeyReader()
    assert reader.feed(b"\x1b[" + b"1" * 50) == []
    assert reader.feed(b"\x0f") == ["expand"]


@thoroughly
@given(st.lists(st.binary(max_size=40) | st.sampled_from([b"\x1b", b"[", b"O", b"A", b"5", b"~"])))
def test_any_bytes_give_keys_and_never_an_exception(pieces: list[bytes]) -> None:
    reader = KeyReader()
    empty = len(pickle.dumps(reader))
    for piece in pieces:
        reader.feed(piece)
    assert len(pickle.dumps(reader)) < empty + 32


@thoroughly
@given(
    st.lists(st.sampled_from([b"\x0f", b"\x1b[A", b"\x1bOB", b"x", b"\x1b[5~", b"\x1b[3~"])),
    st.data(),
)
def test_it_does_not_matter_where_the_input_is_cut(
    strokes: list[bytes], data: st.DataObject
) -> None:
    typed = b"".join(strokes)
    cut = data.draw(st.integers(0, len(typed)))
    reader = KeyReader()
    assert reader.feed(typed[:cut]) + reader.feed(typed[cut:]) == KeyReader().feed(typed)
