from __future__ import annotations

import pickle
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly, thoroughly

from pi_subagents.core.framing import Frame, Line, LineFramer, LineSieve, Skipped

# Line ends and their look-alikes far more often than chance would have them.
pieces = st.sampled_from(
    [b"\n", b"\r", b"\r\n", b"\n\n", "\u2028".encode(), "\u2029".encode(), "\u0085".encode(),
     b"\x0b", b"\x0c", b"\x1c", "é".encode(), b"\xff", b"{}", b"a" * 9]
)  # fmt: skip
streams = st.lists(pieces | st.binary(max_size=6), max_size=30).map(b"".join)


def frame_all(chunks: list[bytes], limit: int = 1 << 20) -> list[Frame]:
    framer = LineFramer(limit)
    frames = [frame for chunk in chunks for frame in framer.feed(chunk)]
    return [*frames, *framer.end()]


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[a:b] for a, b in pairwise(edges)]


def expected(stream: bytes, limit: int) -> list[Frame]:
    """Return the same by the plainest means: one split on LF."""
    *whole, rest = stream.split(b"\n")
    frames: list[Frame] = [
        Skipped(len(line)) if len(line) > limit else Line(line.removesuffix(b"\r"))
        for line in whole
    ]
    if len(rest) > limit:
        frames.append(Skipped(len(rest)))
    elif rest:
        frames.append(Line(rest.removesuffix(b"\r"), terminated=False))
    return frames


@pytest.mark.sample
@thoroughly
@given(streams, st.lists(st.integers(min_value=0), max_size=8), st.sampled_from([0, 1, 7, 99]))
def test_any_chunking_gives_the_lines_of_one_split_on_lf(
    stream: bytes, places: list[int], limit: int
) -> None:
    assert frame_all(cut(stream, places), limit) == expected(stream, limit)


@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        (b"", []),
        (b"\n", [Line(b"")]),
        (b"a\nb\n", [Line(b"a"), Line(b"b")]),
        (b"a\r\nb\n", [Line(b"a"), Line(b"b")]),
        (b"a\rb\n", [Line(b"a\rb")]),
        (b"a\r\r\n", [Line(b"a\r")]),
        (b"\ra\n", [Line(b"\ra")]),
        (b"a\nhalf", [Line(b"a"), Line(b"half", terminated=False)]),
    ],
)
def test_lines_end_at_lf_and_lose_one_cr_before_it(stream: bytes, frames: list[Frame]) -> None:
    assert frame_all([stream]) == frames


@pytest.mark.parametrize(
    "separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"]
)
def test_other_line_separators_of_unicode_are_ordinary_text(separator: str) -> None:
    line = f"before{separator}after".encode()
    assert frame_all([line + b"\n"]) == [Line(line)]


def test_a_character_cut_between_two_chunks_stays_whole() -> None:
    encoded = "naïve 🎈".encode()
    assert frame_all([*(bytes([byte]) for byte in encoded), b"\n"]) == [Line(encoded)]


def test_a_line_of_exactly_the_limit_is_kept_and_one_byte_more_is_skipped() -> None:
    assert frame_all([b"x" * 8 + b"\n" + b"y" * 9 + b"\n"], 8) == [Line(b"x" * 8), Skipped(9)]


def test_the_line_after_a_skipped_one_is_intact() -> None:
    framer = LineFramer(4)
    assert framer.feed(b"123") == []
    assert framer.feed(b"45678") == []
    assert framer.feed(b"9\nnext\n") == [Skipped(9), Line(b"next")]
    assert framer.end() == []


def test_a_stream_that_ends_inside_a_skipped_line_says_so() -> None:
    assert frame_all([b"1234", b"5"], 4) == [Skipped(5)]


@briefly
@given(st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")), max_size=20))
def test_never_more_than_the_limit_is_held(chunks: list[bytes]) -> None:
    framer = LineFramer(16)
    empty = len(pickle.dumps(framer))
    for chunk in chunks:
        framer.feed(chunk)
        assert len(pickle.dumps(framer)) <= empty + 16 + 8  # and how many bytes were fed


@thoroughly
@given(streams, st.lists(st.integers(min_value=0), max_size=8), st.sampled_from([0, 7, 99]))
def test_a_framer_is_empty_exactly_at_the_start_of_a_line(
    stream: bytes, places: list[int], limit: int
) -> None:
    framer, fed = LineFramer(limit), b""
    assert framer.empty
    for chunk in cut(stream, places):
        framer.feed(chunk)
        fed += chunk
        assert framer.empty is (not fed or fed.endswith(b"\n"))
    framer.end()
    assert framer.empty


def test_an_endless_line_costs_no_memory() -> None:
    framer, chunk = LineFramer(1024), b"x" * 65536
    tracemalloc.start()
    try:
        for _ in range(64):
            framer.feed(chunk)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(chunk)
    assert framer.feed(b"\n") == [Skipped(64 * len(chunk))]


def test_a_line_that_drips_in_costs_what_its_bytes_cost() -> None:
    framer, limit = LineFramer(1 << 17), 1 << 17
    drops = [bytes([65 + i % 26, 97 + i % 26, 48]) for i in range(limit // 3)]
    tracemalloc.start()
    try:
        for drop in drops:
            framer.feed(bytes(bytearray(drop)))  # a fresh object each time, as from a pipe
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 3 * limit


def sieved(chunks: list[bytes], *beginnings: bytes) -> bytes:
    sieve = LineSieve(*beginnings)
    return b"".join([sieve.feed(chunk) for chunk in chunks]) + sieve.end()


@thoroughly
@given(st.lists(st.sampled_from([b"ab", b"abc", b"ax", b"\n", b"b", b"\r\n", b""]), max_size=20))
def test_any_chunking_leaves_out_the_same_lines(chunks: list[bytes]) -> None:
    lines = b"".join(chunks).split(b"\n")
    kept = [line for line in lines if not line.startswith(b"abc")]
    whole = [line + b"\n" for line in lines[:-1] if not line.startswith(b"abc")]
    last = b"" if lines[-1].startswith(b"abc") else lines[-1]
    assert sieved(chunks, b"abc") == b"".join(whole) + last
    assert sieved(chunks) == b"".join(chunks), kept


def test_a_sieve_holds_back_no_more_than_a_beginning() -> None:
    sieve = LineSieve(b"abc")
    assert [sieve.feed(each) for each in (b"a", b"b", b"x", b"abc\na")] == [
        b"",
        b"",
        b"abx",
        b"abc\n",
    ]
    assert sieve.feed(b"bc" + b"y" * 1000) == b"", "a line that is left out is not kept either"
    assert sieve.end() == b""
