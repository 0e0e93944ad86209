from __future__ import annotations

import errno
import json
import os
import stat
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pi_subagents.system import safe_io
from pi_subagents.system.calls import FileCalls

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=["umask 000", "umask 022", "umask 077"])
def any_umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def test_whatever_is_made_is_for_its_owner_alone(tmp_path: Path, any_umask: int) -> None:
    safe_io.make_private_dir(tmp_path / "dir")
    safe_io.write_new(tmp_path / "new", b"x")
    safe_io.replace_file(tmp_path / "replaced", b"x")
    safe_io.write_once(tmp_path / "once", b"x")
    os.close(safe_io.open_new(tmp_path / "opened", append=True))
    modes = {name: mode(tmp_path / name) for name in names(tmp_path)}
    assert modes == {
        "dir": 0o700, "new": 0o600, "once": 0o600, "opened": 0o600, "replaced": 0o600,
    }  # fmt: skip


def test_replacing_a_public_file_makes_it_private(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o644)
    safe_io.replace_file(path, b"new")
    assert (path.read_bytes(), mode(path), names(tmp_path)) == (b"new", 0o600, ["file"])


def test_what_exists_is_never_taken_for_new(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link"):
        with pytest.raises(FileExistsError):
            safe_io.write_new(tmp_path / name, b"new")
    with pytest.raises(FileExistsError):
        safe_io.make_private_dir(tmp_path)
    assert ((tmp_path / "file").read_text(), names(tmp_path)) == ("old", ["file", "link"])


def test_write_once_never_replaces(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    assert safe_io.write_once(path, b"first") is True
    assert safe_io.write_once(path, b"second") is False
    assert (path.read_bytes(), names(tmp_path)) == (b"first", ["result.json"])


def test_write_once_takes_a_dangling_link_for_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "result.json").symlink_to(tmp_path / "elsewhere")
    assert safe_io.write_once(tmp_path / "result.json", b"x") is False
    assert names(tmp_path) == ["result.json"]


def test_replacing_a_link_leaves_its_target_alone(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("untouched")
    link.symlink_to(target)
    safe_io.replace_file(link, b"new")
    assert (target.read_text(), link.is_symlink(), link.read_bytes()) == (
        "untouched",
        False,
        b"new",
    )


def test_a_failed_replacement_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "meta.json"
    path.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(FileCalls, "fsync", staticmethod(full))
        with pytest.raises(OSError, match="No space left"):
            safe_io.replace_file(path, b"new")
    assert (path.read_text(), names(tmp_path)) == ("old", ["meta.json"])


def test_a_replacement_that_cannot_be_put_in_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "dir" / "inside").mkdir(parents=True)
    with pytest.raises(OSError):
        safe_io.replace_file(tmp_path / "dir", b"new")
    assert names(tmp_path) == ["dir"]


def test_a_failed_write_once_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: object, target: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(FileCalls, "link", staticmethod(refuse))
        with pytest.raises(OSError, match="Input/output error"):
            safe_io.write_once(tmp_path / "key", b"x")
    assert names(tmp_path) == []


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS])
def test_where_there_are_no_links_the_first_still_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """As on vfat, and on some network and user-space file systems."""

    def refuse(source: object, target: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(FileCalls, "link", staticmethod(refuse))
    path = tmp_path / "key"
    assert safe_io.write_once(path, b"first") is True
    assert safe_io.write_once(path, b"second") is False
    assert (names(tmp_path), path.read_bytes()) == (["key"], b"first")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_every_byte_is_written_however_few_the_kernel_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[bytes] = []

    def write(descriptor: int, data: memoryview) -> int:
        taken.append(bytes(data[:3]))
        return len(taken[-1])

    with monkeypatch.context() as patch:
        patch.setattr(FileCalls, "write", staticmethod(write))
        safe_io.write_all(9, b"0123456789")
    assert taken == [b"012", b"345", b"678", b"9"]


def test_a_regular_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert safe_io.read_bounded(path, 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        safe_io.read_bounded(path, 4)


def test_a_small_file_is_read_with_little_memory_whatever_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    tracemalloc.start()
    try:
        assert safe_io.read_bounded(path, 1 << 30) == b"12345"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_fifo_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="not a regular file"):
        safe_io.read_bounded(tmp_path / "fifo", 100)


def test_a_file_that_would_make_us_wait_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As /proc/kmsg does, which says that it is a regular file."""
    read_end, write_end = os.pipe2(os.O_NONBLOCK)
    monkeypatch.setattr(safe_io, "open_regular", lambda _: read_end)
    with pytest.raises(BlockingIOError):
        safe_io.read_bounded(tmp_path, 100)
    os.close(write_end)


def test_links_directories_and_devices_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    for path in (tmp_path / "link", tmp_path, Path("/dev/null")):
        with pytest.raises(OSError):
            safe_io.read_bounded(path, 100)


def test_reading_leaves_no_descriptor_open(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    os.mkfifo(tmp_path / "fifo")
    before = len(os.listdir("/dev/fd"))
    safe_io.read_bounded(tmp_path / "file", 5)
    for name, limit in (("file", 1), ("fifo", 9)):
        with pytest.raises(OSError):
            safe_io.read_bounded(tmp_path / name, limit)
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b"[" * 100_000], ids=["empty", "half", "bytes", "deep"]
)
def test_what_is_no_json_is_a_value_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError):
        safe_io.read_json(tmp_path / "file", 1 << 20)


def test_json_is_written_for_people_and_pure_ascii(tmp_path: Path) -> None:
    value = {"name": "ü \u2028 \ud800", "list": [1, None]}
    data = safe_io.to_json_bytes(value)
    assert data.isascii()
    assert data.startswith(b'{\n  "name": "')
    assert data.endswith(b"}\n")
    safe_io.write_new(tmp_path / "file", data)
    assert safe_io.read_json(tmp_path / "file", 1000) == json.loads(data) == value
