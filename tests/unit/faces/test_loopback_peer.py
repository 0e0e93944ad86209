from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.faces import loopback_peer as peer
from pi_subagents.faces.loopback_peer import is_own_peer, owner

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
HERE = "0100007F" if sys.byteorder == "little" else "7F000001"


def line(local: str, remote: str, state: str = "01", uid: object = 1000) -> str:
    return (
        f"   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000  {uid}  0 123 1\n"
    )


@pytest.mark.parametrize(
    ("table", "found"),
    [
        (line(f"{HERE}:1F90", f"{HERE}:22B8"), 1000),
        (line(f"0000000000000000FFFF0000{HERE}:1F90", f"0000000000000000FFFF0000{HERE}:22B8"), 1000),
        (line(f"{HERE}:1F91", f"{HERE}:22B8"), None),
        (line(f"{HERE}:1F90", f"{HERE}:22B9"), None),
        (line("0200007F:1F90", f"{HERE}:22B8"), None),
        (line(f"{HERE}:1F90", f"{HERE}:22B8", state="06", uid=0), None),
        (line(f"{HERE}:1F90", f"{HERE}:22B8", uid="x"), None),
        (line(f"{HERE}:22B8", f"{HERE}:1F90"), None),
        ("", None),
    ],
)  # fmt: skip
def test_a_socket_is_found_by_both_its_ends(table: str, found: int | None) -> None:
    assert owner(HEAD + line("00000000:0016", "00000000:0000", "0A", 0) + table, "127.0.0.1", 8080, 8888) == found  # fmt: skip


@given(st.text(max_size=200))
@thoroughly
def test_any_text_is_a_table(table: str) -> None:
    owner(table, "127.0.0.1", 1, 2)


@pytest.mark.skipif(sys.platform != "linux", reason="it is Linux that tells")
def test_the_kernel_tells_whose_connection_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", ours)) as client:
            address, port = client.getsockname()
            assert is_own_peer(address, port, ours)
            monkeypatch.setattr(os, "geteuid", lambda: 54321)
            assert not is_own_peer(address, port, ours)
    assert not is_own_peer(address, port, ours)


def test_where_nobody_tells_the_token_has_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "TABLES", (Path("none"),))
    assert is_own_peer("127.0.0.1", 1, 2)
