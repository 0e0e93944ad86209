from __future__ import annotations

import os
import struct
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.driver import PATIENCE_S
from tests.unit.core.given_values import thoroughly

from pi_subagents.disk import file_news
from pi_subagents.disk.file_news import Change, FileNews, News, Record, parse_records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

needs_inotify = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


@pytest.fixture
def news() -> Iterator[FileNews]:
    ears = FileNews()
    yield ears
    ears.close()


def none_left(*_: object) -> None:
    raise OSError(28, "No space left on device")


@needs_inotify
def test_a_change_is_heard_of_with_its_name_and_kind(news: FileNews, tmp_path: Path) -> None:
    news.watch(tmp_path)
    (tmp_path / "a").write_text("x")
    assert news.wait(PATIENCE_S) == News(
        frozenset(Change(tmp_path, "a", kind) for kind in ("entry", "written", "closed"))
    )
    with (tmp_path / "a").open("a") as file:
        file.write("more")
        file.flush()
        assert news.wait(PATIENCE_S) == News(frozenset({Change(tmp_path, "a", "written")}))
    assert news.wait(PATIENCE_S) == News(frozenset({Change(tmp_path, "a", "closed")}))
    (tmp_path / "a").rename(tmp_path / "b")
    assert news.wait(PATIENCE_S) == News(
        frozenset({Change(tmp_path, "a", "entry"), Change(tmp_path, "b", "entry")})
    )
    (tmp_path / "b").unlink()
    assert news.wait(PATIENCE_S) == News(frozenset({Change(tmp_path, "b", "entry")}))


@needs_inotify
def test_what_only_reads_is_no_news(news: FileNews, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    news.watch(tmp_path)
    (tmp_path / "a").read_text()
    os.listdir(tmp_path)
    assert news.wait(0) == News()


@needs_inotify
def test_a_directory_that_goes_is_told_and_forgotten(news: FileNews, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    news.watch(gone)
    gone.rmdir()
    assert news.wait(PATIENCE_S) == News(frozenset({Change(gone, "", "entry")}))
    assert news._inotify is not None
    assert (news._inotify._watches, news._inotify._numbers) == ({}, {})
    gone.mkdir()
    news.watch(gone)  # as if it had never been watched
    (gone / "a").touch()
    assert Change(gone, "a", "entry") in news.wait(PATIENCE_S).changes


@needs_inotify
def test_a_forgotten_directory_is_not_heard_of(news: FileNews, tmp_path: Path) -> None:
    news.watch(tmp_path)
    news.forget(tmp_path)
    news.forget(tmp_path)
    (tmp_path / "a").touch()
    assert news.wait(0) == News()


@pytest.mark.parametrize("poll", [False, True])
def test_a_directory_that_is_not_there_keeps_nobody_waiting(tmp_path: Path, poll: bool) -> None:
    ears = FileNews(poll=poll)
    ears.watch(tmp_path / "none")
    (tmp_path / "file").touch()
    assert ears.wait(0) == News()
    ears.forget(tmp_path / "none")
    ears.close()


@needs_inotify
def test_a_link_is_not_followed(news: FileNews, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    news.watch(tmp_path / "link")
    (real / "a").touch()
    assert news.wait(0) == News()


@needs_inotify
def test_where_no_watch_is_left_every_while_counts_as_news(
    news: FileNews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert news._inotify is not None
    monkeypatch.setattr(news._inotify, "add", none_left)
    monkeypatch.setattr(file_news, "POLL_S", 0.01)
    news.watch(tmp_path)
    assert news.wait() == News(everything=True)
    news.forget(tmp_path)
    assert news.wait(0) == News()


def test_without_inotify_every_while_counts_as_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_news, "POLL_S", 0.01)
    ears = FileNews(poll=True)
    assert ears.wait(0) == News()
    ears.watch(tmp_path)
    monkeypatch.setattr(file_news, "POLL_S", 3600.0)
    assert ears.wait() == News(everything=True)
    assert ears.wait(0) == News()  # asked for less patience than that
    ears.close()


@needs_inotify
def test_whatever_is_heard_of_others_a_directory_without_a_watch_has_its_turn(
    news: FileNews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, deaf = tmp_path / "busy", tmp_path / "deaf"
    busy.mkdir()
    news.watch(busy)
    monkeypatch.setattr(file_news, "POLL_S", 0.0)  # it is due now
    assert news._inotify is not None
    with monkeypatch.context() as patch:
        patch.setattr(news._inotify, "add", none_left)
        news.watch(deaf)
    monkeypatch.setattr(file_news, "POLL_S", 3600.0)
    (busy / "a").mkdir()
    assert news.wait() == News(frozenset({Change(busy, "a", "entry")}), everything=True)
    (busy / "b").mkdir()
    assert news.wait() == News(frozenset({Change(busy, "b", "entry")}))


@pytest.mark.parametrize("poll", [False, True])
def test_whoever_waits_can_be_woken(tmp_path: Path, poll: bool) -> None:
    ears = FileNews(poll=poll)
    heard: list[News] = []
    waiting = threading.Thread(target=lambda: heard.append(ears.wait()))
    waiting.start()
    ears.wake()
    waiting.join(PATIENCE_S)
    assert heard == [News()]
    ears.close()
    ears.close()
    ears.wake()
    assert ears.wait() == News()


@needs_inotify
def test_an_overflow_means_that_anything_may_have_changed(
    news: FileNews, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    news.watch(tmp_path)
    (tmp_path / "a").touch()
    pieces = [struct.pack("iIII", -1, 0x4000, 0, 0)]

    def read(descriptor: int, size: int) -> bytes:
        if pieces:
            return pieces.pop()
        raise BlockingIOError

    monkeypatch.setattr(os, "read", read)
    assert news.wait(PATIENCE_S) == News(everything=True)


names = st.binary(max_size=20).map(lambda name: name.replace(b"\0", b""))
records = st.tuples(st.integers(-1, 2**31 - 1), st.integers(0, 2**32 - 1), names, st.integers(0, 9))


@given(st.lists(records, max_size=5), st.integers(0, 40))
@thoroughly
def test_whole_records_are_read_and_a_torn_one_is_not(
    given_records: list[tuple[int, int, bytes, int]], cut: int
) -> None:
    pieces = [
        struct.pack("iIII", watch, mask, 0, len(name) + padding) + name + bytes(padding)
        for watch, mask, name, padding in given_records
    ]
    wanted = [Record(watch, mask, os.fsdecode(name)) for watch, mask, name, _ in given_records]
    data = b"".join(pieces)
    assert parse_records(data) == wanted
    torn = parse_records(data[: max(len(data) - cut, 0)])
    assert torn == wanted[: len(torn)]


@given(st.binary(max_size=200))
@thoroughly
def test_any_bytes_are_records_or_nothing(data: bytes) -> None:
    parse_records(data)
