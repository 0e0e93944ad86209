"""
Publish what a run writes on a worker, in pieces: its caller's directory becomes what this one is.

In: the directory of a run, told when there is news.  Out: numbered pieces, in the order in which
the files grew, at most 256 KB and 50 ms apart.  What a child writes faster than it can be sent
waits in its files, not in memory.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.cluster.worker import add_records
from pi_subagents.core.cluster.record import (
    GROWING,
    MAX_QUESTION_BYTES,
    QUESTIONS,
    WHOLE,
    FilePiece,
)
from pi_subagents.store.desk import QUESTIONS as ON_DESK
from pi_subagents.system.safe_io import open_regular, read_bounded

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.cluster.link import Link
    from pi_subagents.cluster.worker import ClaimedRun
    from pi_subagents.store.run_dir import RunDir

BATCH_BYTES = 256 * 1024
TOGETHER_S = 0.05  # news that come so close to one another go together
LOOK_EVERY_S = 1.0  # at what a child writes without there being news


class Publisher:
    """What was published of one run, and what there is by now."""

    def __init__(self, link: Link, own: ClaimedRun, run_dir: RunDir) -> None:
        self._link, self._own, self._run_dir = link, own, run_dir
        self._number = 0
        self._places = dict.fromkeys((*GROWING, *WHOLE), 0)
        self._questions = b""
        self._news, self._ended = asyncio.Event(), asyncio.Event()

    def tell(self) -> None:
        """Take note that there is news."""
        self._news.set()

    async def run(self) -> None:
        """Publish until `finish` ends that; AttemptOver once this attempt counts no more."""
        while not self._ended.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._news.wait()
            self._news.clear()
            await self._publish(GROWING)
            with suppress(TimeoutError):
                async with asyncio.timeout(TOGETHER_S):
                    await self._ended.wait()
        await self._publish((*GROWING, *WHOLE))

    def finish(self) -> None:
        """Publish all that there is, the run having ended, and end."""
        self._ended.set()
        self._news.set()

    async def _publish(self, names: tuple[str, ...]) -> None:
        directory = self._run_dir.now().path
        while batch := self._batch(directory, names):
            pieces = [
                FilePiece(self._number + index, name, place, data)
                for index, (name, place, data) in enumerate(batch, start=1)
            ]
            await add_records(self._link, self._own, pieces)
            # Only now: whoever was cancelled meanwhile sends the same once more.
            self._number += len(batch)
            for name, place, data in batch:
                if name == QUESTIONS:
                    self._questions = data
                else:
                    self._places[name] = place + len(data)

    def _batch(self, directory: Path, names: tuple[str, ...]) -> list[tuple[str, int, bytes]]:
        """Return what is new, as much as goes at once."""
        found, left = [], BATCH_BYTES
        questions = self._questions_now()
        if questions != self._questions:
            found.append((QUESTIONS, 0, questions))
        for name in names:
            place = self._places[name]
            data = _read(directory / name, place, left)
            if data:
                found.append((name, place, data))
                left -= len(data)
            if not left:
                break
        return found

    def _questions_now(self) -> bytes:
        with suppress(OSError):
            return read_bounded(self._run_dir.desk.path / ON_DESK, MAX_QUESTION_BYTES)
        return b""


def _read(path: Path, place: int, most: int) -> bytes:
    """Return what a file has from there on; nothing where it cannot be read."""
    try:
        file = open_regular(path)
    except OSError:
        return b""
    try:
        return os.pread(file, most, place)
    except OSError:
        return b""
    finally:
        os.close(file)
