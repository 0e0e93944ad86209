from __future__ import annotations

import os
import shutil
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.run_places import run_at
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import JournalEntry, encode_entry
from pi_subagents.store.rescue import rescue
from pi_subagents.store.tails import JournalTail

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

ENTRIES = [JournalEntry(n, n, ev.Note(f"{n}\u2028")) for n in range(4)]
LINES = [encode_entry(entry) for entry in ENTRIES]


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    directory = run_at(tmp_path / "project" / ("a" * 32))
    directory.path.mkdir(parents=True)
    directory.desk.path.mkdir(parents=True)
    return directory


@pytest.fixture
def path(run: RunDir) -> Path:
    return run.events


@pytest.fixture
def tail(run: RunDir) -> Iterator[JournalTail]:
    tail = JournalTail(run)
    yield tail
    tail.close()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_a_file_that_does_not_exist_yet_is_an_empty_one(path: Path, tail: JournalTail) -> None:
    assert list(tail.new_entries()) == []
    append(path, LINES[0])
    assert list(tail.new_entries()) == [ENTRIES[0]]


def test_entries_come_in_order_and_once(path: Path, tail: JournalTail) -> None:
    append(path, LINES[0] + LINES[1])
    assert list(tail.new_entries()) == ENTRIES[:2]
    assert list(tail.new_entries()) == []
    append(path, LINES[2])
    assert list(tail.new_entries()) == [ENTRIES[2]]


def test_an_unfinished_line_waits_for_its_end(path: Path, tail: JournalTail) -> None:
    append(path, LINES[0] + LINES[1][:10])
    assert list(tail.new_entries()) == [ENTRIES[0]]
    append(path, LINES[1][10:-1])
    assert list(tail.new_entries()) == []
    append(path, b"\n" + LINES[2])
    assert list(tail.new_entries()) == ENTRIES[1:3]


@pytest.mark.parametrize("damage", [b"\n", b"{\n", b"\xff\n", b'{"v":2}\n', LINES[1][5:]])
def test_a_damaged_line_is_passed_over(path: Path, tail: JournalTail, damage: bytes) -> None:
    append(path, LINES[0] + damage + LINES[2])
    assert list(tail.new_entries()) == [ENTRIES[0], ENTRIES[2]]


def test_a_link_is_not_followed(path: Path, tail: JournalTail, tmp_path: Path) -> None:
    append(tmp_path / "elsewhere", LINES[0])
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        list(tail.new_entries())


def test_a_fifo_does_not_block(path: Path, tail: JournalTail) -> None:
    os.mkfifo(path)
    assert list(tail.new_entries()) == []


def test_closing_twice_is_harmless(path: Path, tail: JournalTail) -> None:
    append(path, LINES[0])
    list(tail.new_entries())
    tail.close()
    tail.close()


# Where the name of the journal is taken away


def test_a_journal_whose_name_is_gone_is_read_on_by_its_handle(
    path: Path, tail: JournalTail
) -> None:
    with path.open("ab", buffering=0) as writer:
        writer.write(LINES[0])
        assert list(tail.new_entries()) == [ENTRIES[0]]
        path.unlink()
        writer.write(LINES[1] + LINES[2][:7])
        assert list(tail.new_entries()) == [ENTRIES[1]]
        writer.write(LINES[2][7:])
        assert list(tail.new_entries()) == [ENTRIES[2]]


@pytest.mark.parametrize("read_before", [True, False])
def test_a_run_that_goes_on_elsewhere_is_read_on_there(
    run: RunDir, tail: JournalTail, read_before: bool
) -> None:
    """Even if half a line was read here: what is there begins with what was here."""
    append(run.events, LINES[0] + LINES[1][:10])
    found = list(tail.new_entries()) if read_before else []
    there = rescue(run)
    shutil.rmtree(run.path)
    found += list(tail.new_entries())  # nothing is there yet
    append(there.events, LINES[0])  # it is being copied
    found += list(tail.new_entries())
    append(there.events, LINES[1] + LINES[2])
    assert found + list(tail.new_entries()) == ENTRIES[:3]


@thoroughly
@given(st.lists(st.integers(0, sum(map(len, LINES))), max_size=6))
def test_however_the_writer_writes_everything_is_read_once(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    data = b"".join(LINES)
    edges = [0, *sorted(cuts), len(data)]
    run = run_at(tmp_path_factory.getbasetemp() / "tails" / ("a" * 32))
    run.path.mkdir(parents=True, exist_ok=True)
    path = run.events
    path.write_bytes(b"")
    tail, found = JournalTail(run), []
    for start, end in pairwise(edges):
        append(path, data[start:end])
        found += list(tail.new_entries())
    tail.close()
    assert found == ENTRIES
