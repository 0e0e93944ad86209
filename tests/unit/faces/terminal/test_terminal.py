"""The terminal at the end: how long its reader is waited for."""

from __future__ import annotations

import itertools
import os
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING

from tests.fakes.pty_command import open_pty

from pi_subagents.faces.terminal import terminal as module
from pi_subagents.faces.terminal.terminal import Terminal

if TYPE_CHECKING:
    import pytest

LAST_WORDS = "x" * 79 + "\n"
MANY = 2000  # several times what the kernel holds for a reader
SLOWLY = 512


def open_own(slave: int) -> Terminal:
    return Terminal(os.open(os.ttyname(slave), os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY))


def test_whoever_reads_slowly_gets_every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()  # every look at the clock takes one: it will be many times five
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))
    heard = bytearray()
    with open_pty() as (master, slave):
        terminal = open_own(slave)
        terminal.enter()

        def listen() -> None:
            while heard.count(b"x") < MANY * 79:
                heard.extend(os.read(master, SLOWLY))

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        terminal.leave(LAST_WORDS * MANY)
        assert not terminal.busy
        listener.join()
        terminal.close()


def test_whoever_reads_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0)
    with open_pty() as (_, slave):
        terminal = open_own(slave)
        terminal.enter()
        terminal.leave(LAST_WORDS * MANY)
        assert terminal.busy
        assert not terminal.entered
        terminal.close()
