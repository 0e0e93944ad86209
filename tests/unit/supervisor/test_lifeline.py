from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING

import pytest
from tests.fakes.specs import make_order, make_spec

from pi_subagents.core.framing import Frame, Line, Skipped
from pi_subagents.store.local_order import LocalOrder, altered, order_to_json
from pi_subagents.supervisor import listener as module
from pi_subagents.supervisor.listener import Lifeline, Listener

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIRST = make_order(make_spec("r1", "s", "name", ("pi",), "/project"), "/runs/r1")
NEXT = make_order(make_spec("r2", "s", "name", ("pi",), "/project"), "/runs/r2")


def line(order: LocalOrder) -> bytes:
    return json.dumps(order_to_json(order)).encode() + b"\n"


class Holder:
    """Whoever holds a lifeline, at its other end, and what the supervisor hears of him."""

    def __init__(self, ours: int, theirs: int | socket.socket) -> None:
        self.ours = ours
        self.theirs = theirs
        self.lifeline = Lifeline(ours)
        self.listener = Listener()
        self.heard: list[Frame | str] = []
        self.lifeline.on_frames = self.heard.extend
        self.lifeline.on_end = lambda: self.heard.append("end")

    def says(self, data: bytes) -> None:
        if isinstance(self.theirs, socket.socket):
            self.theirs.sendall(data)
        else:
            os.write(self.theirs, data)

    def lets_go(self) -> None:
        if isinstance(self.theirs, socket.socket):
            self.theirs.close()
        else:
            os.close(self.theirs)

    def hears(self) -> list[Frame | str]:
        """Serve what has come by now."""
        self.listener.serve(0)
        heard, self.heard[:] = list(self.heard), []
        return heard


@pytest.fixture(params=["pipe", "socket"])
def holder(request: pytest.FixtureRequest) -> Iterator[Holder]:
    if request.param == "pipe":
        ours, theirs = os.pipe()
        made = Holder(ours, theirs)
    else:
        near, far = socket.socketpair()
        ours = near.detach()
        made = Holder(ours, far)
    yield made
    made.listener.selector.close()
    os.close(ours)
    if isinstance(made.theirs, socket.socket):
        made.theirs.close()


@pytest.fixture
def sockets() -> Iterator[Holder]:
    near, far = socket.socketpair()
    ours = near.detach()
    made = Holder(ours, far)
    made.lifeline.listen(made.listener)
    yield made
    made.listener.selector.close()
    os.close(ours)
    far.close()


def test_the_first_line_is_the_specification_and_what_came_with_it_is_not_lost(
    holder: Holder,
) -> None:
    holder.says(line(FIRST) + b"stop\nkill\nhal")
    assert holder.lifeline.first_order() == (FIRST, [Line(b"stop"), Line(b"kill")])
    holder.lifeline.listen(holder.listener)
    holder.says(b"f\n")
    assert holder.hears() == [Line(b"half")]
    holder.lets_go()


def test_a_specification_may_come_in_pieces(holder: Holder) -> None:
    whole = line(FIRST)
    holder.says(whole[:20])
    holder.says(whole[20:])
    assert holder.lifeline.first_order() == (FIRST, [])
    holder.lets_go()


@pytest.mark.parametrize("said", [b"", b'{"schemaVersion": 1'])
def test_a_lifeline_that_ends_before_its_specification_is_an_error(
    holder: Holder, said: bytes
) -> None:
    if said:
        holder.says(said)
    holder.lets_go()
    with pytest.raises(ValueError, match="ended before the specification"):
        holder.lifeline.first_order()


def test_the_end_is_told_once_and_then_nobody_listens(holder: Holder) -> None:
    holder.lifeline.listen(holder.listener)
    holder.says(b"stop\nunfinished")
    assert (holder.hears(), holder.lifeline.lost) == ([Line(b"stop")], False)
    holder.lets_go()
    assert (holder.hears(), holder.lifeline.lost) == (["end"], True)
    assert holder.hears() == []
    assert not holder.listener.selector.get_map()


def test_nothing_said_is_nothing_heard(holder: Holder) -> None:
    holder.lifeline.listen(holder.listener)
    holder.listener.selector.get_key(holder.ours).data()  # woken for nothing
    assert (holder.hears(), holder.lifeline.lost) == ([], False)
    holder.lets_go()


def test_the_lock_of_a_run_comes_beside_its_specification(sockets: Holder, tmp_path: Path) -> None:
    assert isinstance(sockets.theirs, socket.socket)
    locks = [os.open(tmp_path / name, os.O_CREAT | os.O_RDWR) for name in ("one", "two")]
    got = []
    for sent, lock in zip((FIRST, NEXT), locks, strict=True):
        socket.send_fds(sockets.theirs, [line(sent)], [lock])
        (frame,) = sockets.hears()
        assert isinstance(frame, Line)
        order = sockets.lifeline.order(frame)
        assert order.place.lock_fd is not None
        assert order == altered(sent, lock_fd=order.place.lock_fd)
        assert os.path.samestat(os.fstat(order.place.lock_fd), os.fstat(lock))
        got.append(order.place.lock_fd)
    assert not sockets.lifeline.locks
    for each in (*got, *locks):
        os.close(each)


def test_the_first_run_has_its_lock_beside_it_too(sockets: Holder, tmp_path: Path) -> None:
    assert isinstance(sockets.theirs, socket.socket)
    lock = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    socket.send_fds(sockets.theirs, [line(FIRST)], [lock])
    order, early = sockets.lifeline.first_order()
    assert order.place.lock_fd is not None
    assert (altered(order, lock_fd=None), early) == (FIRST, [])
    assert os.path.samestat(os.fstat(order.place.lock_fd), os.fstat(lock))
    for each in (order.place.lock_fd, lock):
        os.close(each)


def test_an_order_that_comes_before_anybody_listens_is_not_lost_nor_is_its_lock(
    tmp_path: Path,
) -> None:
    """A child that was prewarmed may be wanted before its supervisor has read a word."""
    near, far = socket.socketpair()
    lock = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    prewarmed = altered(FIRST, prewarm=True)
    with near, far:
        far.sendall(line(prewarmed))
        socket.send_fds(far, [line(NEXT)], [lock])
        lifeline = Lifeline(near.fileno())
        first, early = lifeline.first_order()
        if not early:  # the kernel may hand them out one by one
            near.setblocking(False)
            listener = Listener()
            lifeline.on_frames = early.extend
            lifeline.listen(listener)
            listener.serve(5)
            listener.selector.close()
        (order,) = map(lifeline.order, early)
        got = order.place.lock_fd
        assert got is not None
        assert (first, altered(order, lock_fd=None)) == (prewarmed, NEXT)
    assert os.path.samestat(os.fstat(got), os.fstat(lock))
    for each in (got, lock):
        os.close(each)


def test_a_holder_who_dies_with_something_unread_has_let_go() -> None:
    """A socket then reports a reset connection, which is no other end than an end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        far = socket.create_connection(server.getsockname())
        near, _ = server.accept()
        near.send(b"never read")
        far.recv(1, socket.MSG_PEEK)
        holder = Holder(near.fileno(), far)
        holder.lifeline.listen(holder.listener)
        holder.lets_go()
        holder.listener.serve(5)
        assert (holder.heard, holder.lifeline.lost) == (["end"], True)
        holder.listener.selector.close()
        near.close()


@pytest.mark.parametrize(
    "frame",
    [Line(b""), Line(b"stop"), Line(b"[]"), Line(b"{}"), Line(b"\xff"), Skipped(99), Line(b"{")],
)
def test_what_is_no_specification_is_a_value_error(sockets: Holder, frame: Frame) -> None:
    with pytest.raises(ValueError):
        sockets.lifeline.order(frame)


def test_a_specification_without_end_is_not_held(
    holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_SPEC_BYTES", 100)
    endless = Lifeline(holder.ours)
    holder.says(b"{" + b" " * 200 + b"}\n")
    with pytest.raises(ValueError):
        endless.first_order()
    holder.lets_go()
