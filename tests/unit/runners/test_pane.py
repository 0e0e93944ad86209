from __future__ import annotations

import socket
import struct
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.runners import pane

items = st.lists(st.binary(max_size=50).map(lambda data: data.replace(b"\0", b"")), max_size=8)


@given(items, items, st.binary(max_size=100))
def test_what_is_packed_arrives_and_what_follows_stays(
    first: list[bytes], second: list[bytes], rest: bytes
) -> None:
    here, there = socket.socketpair()
    with here, there:
        here.sendall(pane.pack(first) + pane.pack(second) + rest)
        here.shutdown(socket.SHUT_WR)
        assert (pane.unpack(there), pane.unpack(there)) == (first, second)
        assert there.makefile("rb").read() == rest


def test_a_block_larger_than_any_buffer_arrives_whole() -> None:
    block = [b"x" * 3_000_000, b"", b"y"]
    here, there = socket.socketpair()
    with here, there:
        sending = threading.Thread(target=here.sendall, args=(pane.pack(block),))
        sending.start()
        assert pane.unpack(there) == block
        sending.join()


def test_an_item_with_a_null_byte_is_refused() -> None:
    with pytest.raises(ValueError, match="embedded null byte"):
        pane.pack([b"A=1", b"B=2\0C=3"])


@pytest.mark.parametrize("size", [0, 7, 9])
def test_a_block_that_ends_early_is_none(size: int) -> None:
    here, there = socket.socketpair()
    with here, there:
        here.sendall(pane.pack([b"abc"])[:size])
        here.close()
        with pytest.raises(EOFError):
            pane.unpack(there)


@given(st.binary(max_size=64))
def test_any_bytes_are_items_or_refused(data: bytes) -> None:
    here, there = socket.socketpair()
    with here, there:
        here.sendall(data)
        here.close()
        try:
            found = pane.unpack(there)
        except (EOFError, ValueError):
            return
        (size,) = struct.unpack("!Q", data[:8])
        assert found == data[8 : 8 + size].split(b"\0")[:-1]
