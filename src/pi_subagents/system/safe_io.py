"""
Write files so that readers see the old content or the new, never half, and only their owner can.

Directories are 0700 and files 0600 from creation.  Reads are bounded, never follow a final
link and never block on a FIFO or device.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.system.calls import FileCalls

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PRIVATE_DIR = 0o700
PARENT_DIR = 0o755
PRIVATE_FILE = 0o600
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAY_HAVE_GROWN = 64 * 1024
_CHUNK = 1024 * 1024
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LINKS_MISSING = (
    errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK,
)  # fmt: skip


def make_private_dir(path: Path) -> None:
    """Create one directory for the owner alone; FileExistsError if it is there."""
    FileCalls.mkdir(path, PRIVATE_DIR)


def make_private_dirs(path: Path) -> None:
    """Make a directory for the owner alone, with parents that only the owner may write to."""
    missing = [parent for parent in path.parents if not os.path.lexists(parent)]
    for parent in reversed(missing):
        with suppress(FileExistsError):  # another process was quicker
            FileCalls.mkdir(parent, PARENT_DIR)
    with suppress(FileExistsError):
        FileCalls.mkdir(path, PRIVATE_DIR)


def open_new(path: Path, *, append: bool = False) -> int:
    """
    Create a private file that must not exist yet, and return its descriptor.

    One that is appended to can be read too: its name may be removed while it is written.
    """
    how = os.O_RDWR | os.O_APPEND if append else os.O_WRONLY
    return FileCalls.open(path, _CREATE | how, PRIVATE_FILE)


def acquire_lock(path: Path) -> int | None:
    """Return the lock of a private file, held until it is closed; None if another has it."""
    lock = FileCalls.open(path, _LOCK, PRIVATE_FILE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return lock


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however often the kernel takes only some."""
    view = memoryview(data)
    while view:
        view = view[FileCalls.write(descriptor, view) :]


def write_new(path: Path, data: bytes) -> None:
    """Create a private file with this content; FileExistsError if it is there."""
    descriptor = open_new(path)
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)


def replace_file(
    path: Path, data: bytes, mode: int = PRIVATE_FILE, *, durable: bool = True
) -> None:
    """Put a file in place of another: old or new, never half; a power cut may undo it or not."""
    temporary = _temporary(path)
    _write_whole(temporary, data, mode, durable=durable)
    _put_in_place(temporary, path)
    if durable:
        sync_dir(path.parent)


def write_once(path: Path, data: bytes) -> bool:
    """Put a file in place durably, unless it is there already; return whether it was ours."""
    temporary = _temporary(path)
    _write_whole(temporary, data)
    try:
        FileCalls.link(temporary, path)  # unlike rename, a link never replaces
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _LINKS_MISSING:
            raise
        try:  # without links: for an instant a reader may see part of it
            _write_whole(path, data)
        except FileExistsError:
            return False
        return True
    finally:
        temporary.unlink(missing_ok=True)
    sync_dir(path.parent)
    return True


def kept_secret(path: Path, size: int) -> bytes:
    """Return what only we know, the same for every process: made once, OSError if there is none."""
    with suppress(FileNotFoundError):
        secret = read_bounded(path, size)
        if len(secret) == size:
            return secret
        path.unlink()  # half a secret, or none: anybody could guess it
    make_private_dirs(path.parent)
    write_once(path, os.urandom(size))  # or another process was quicker: its secret counts
    return read_bounded(path, size)


def copy_file(
    source: Path, path: Path, *, on_chunk: Callable[[bytes], None] = lambda _: None
) -> None:
    """
    Put a private copy of a regular file in place: old or new, never half.

    `on_chunk` sees all that is copied.
    """
    temporary = _temporary(path)
    reader = open_regular(source)
    try:
        writer = open_new(temporary)
        try:
            while chunk := os.read(reader, _CHUNK):
                on_chunk(chunk)
                write_all(writer, chunk)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            os.close(writer)
    finally:
        os.close(reader)
    _put_in_place(temporary, path)


def reserve(path: Path, size: int) -> None:
    """Create a private file that really has its space on disk."""
    descriptor = open_new(path)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
        else:
            write_all(descriptor, bytes(size))
    finally:
        os.close(descriptor)


def use_reserved(reserved: Path, path: Path, data: bytes) -> None:
    """
    Put a reserved file in place with this content.

    Not through the table of calls: this needs no new space, no inode and no link, and so works on a
    full disk.
    """
    descriptor = os.open(reserved, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(reserved, path)  # noqa: PTH105 - see above


def open_regular(path: Path) -> int:
    """Open a regular file for reading, without following a link or waiting; OSError otherwise."""
    descriptor = os.open(path, _READ)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError("not a regular file")


def read_bounded(path: Path, limit: int) -> bytes:
    """Return the content of a regular file of at most `limit` bytes; OSError otherwise."""
    with os.fdopen(open_regular(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise OSError(f"larger than {limit} bytes")
        # `read` reserves as much memory as it may read, and a limit may be very large.
        return all_there_is(file.read(min(limit, size + _MAY_HAVE_GROWN)))


def all_there_is(read: bytes | None) -> bytes:
    """Return what was read; OSError where reading would have to wait (files of /proc)."""
    if read is None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return read


def read_json(path: Path, limit: int) -> object:
    """Return decoded JSON; OSError if it cannot be read, ValueError if it is not JSON."""
    try:
        value: object = json.loads(read_bounded(path, limit))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def to_json_bytes(value: object) -> bytes:
    """Return indented JSON for people, pure ASCII for every reader."""
    return json.dumps(value, indent=2, ensure_ascii=True).encode("ascii") + b"\n"


def sync_dir(path: Path) -> None:
    """Flush a directory's entries."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        FileCalls.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_whole(
    path: Path, data: bytes, mode: int = PRIVATE_FILE, *, durable: bool = True
) -> None:
    """Create a file with this content; one that cannot be written whole is removed."""
    descriptor = open_new(path)
    try:
        write_all(descriptor, data)
        if mode != PRIVATE_FILE:
            os.fchmod(descriptor, mode)
        if durable:
            FileCalls.fsync(descriptor)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _put_in_place(temporary: Path, path: Path) -> None:
    try:
        FileCalls.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
