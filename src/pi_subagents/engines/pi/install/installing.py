"""
What every installation needs: one at a time, in a staging directory, reported, undone on failure.

Contract: whatever happens (a failing installer, Ctrl+C, kill -9), the place an installation is
published to is either absent or whole.  Everything is written below the data directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.engine_values import SetupProgress
from pi_subagents.core.plain_text import printable
from pi_subagents.errors import InstallFailed
from pi_subagents.system import safe_io, tethered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pi_subagents.core.engine_values import Report

LOCK_NAME = "setup.lock"
STAGING_PREFIX = ".staging-"
SCRATCH_NAME = ".scratch"  # temporary files and caches of the installers, inside the staging
LOG_NAME = ".install.log"
POLL_S = 0.5
LIMIT_S = 1800.0  # an installer that hangs must not hang an unattended machine for ever
END_GRACE_S = 2.0
TAIL_LINES = 12
TAIL_BYTES = 8192
# Empty lines, and where npm was when it failed: what failed stands above that.
_MEANS_NOTHING = re.compile(r"(npm error)?(\s+at \S|\s*$)")


@contextlib.contextmanager
def setup_lock(data_dir: Path, report: Report) -> Iterator[int]:
    """Hold the machine-wide set-up lock; yield its descriptor, for installers to inherit."""
    descriptor = _locked(data_dir / LOCK_NAME, report)
    try:
        yield descriptor
    finally:
        os.close(descriptor)  # releases the lock once no installer holds a copy


@contextlib.contextmanager
def staging(parent: Path) -> Iterator[Path]:
    """Yield a new private directory beside the target; it is gone afterwards unless published."""
    safe_io.make_private_dirs(parent)
    directory = Path(tempfile.mkdtemp(prefix=f"{STAGING_PREFIX}{os.getpid()}-", dir=parent))
    try:
        (directory / SCRATCH_NAME).mkdir()
        yield directory
    finally:
        discard(directory)


def publish(directory: Path, target: Path) -> None:
    """Put a finished staging directory in the target's place, durably."""
    discard(directory / SCRATCH_NAME)
    (directory / LOG_NAME).unlink(missing_ok=True)
    safe_io.sync_dir(directory)
    if os.path.lexists(target):
        # Renamed first: a crash while deleting must not leave half a target under its name.
        target.rename(target.with_name(f"{directory.name}-replaced"))
    directory.rename(target)
    safe_io.sync_dir(target.parent)
    clear_orphans(target.parent)


def clear_orphans(parent: Path) -> None:
    """Remove staging directories: their processes are dead, as the caller holds the lock."""
    for orphan in parent.glob(f"{STAGING_PREFIX}*"):
        discard(orphan)


def discard(path: Path) -> bool:
    """Remove whatever is there, a link only as a link; return whether anything was."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
        return True
    existed = os.path.lexists(path)
    path.unlink(missing_ok=True)
    return existed


def installer_env(env: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Return the environment in which npm, pip, uv and pi write nothing outside the staging."""
    scratch = str(directory / SCRATCH_NAME)
    return {
        **env,
        "TMPDIR": scratch,
        "NODE_DISABLE_COMPILE_CACHE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_USER": "0",  # contradicts --target
        "PIP_REQUIRE_VIRTUALENV": "0",  # does not concern --target
        # pip asks `rustc --version` for its user agent, and rustup then creates ~/.rustup.
        "RUSTUP_HOME": scratch,
    }


def run_installer(
    command: Sequence[str],
    step: str,
    directory: Path,
    *,
    env: Mapping[str, str],
    lock: int,
    report: Report,
    cache: Path | None = None,
) -> None:
    """
    Run an installer in the staging directory to its end, reporting as that and its cache grow.

    Raises InstallFailed.  On any other exception, Ctrl+C included, its process group is ended.
    """
    log = directory / LOG_NAME
    report(SetupProgress(step, "", done=False))
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", tethered.__file__, str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=dict(env),
            start_new_session=True,
            pass_fds=(lock,),
        )
    try:
        code = _exit_code(process, step, [directory, *([cache] if cache else [])], report)
    except BaseException:
        end_group(process)
        raise
    if code != 0:
        raise InstallFailed(step, code, last_lines(log))


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process we started as the leader of its own group, politely first."""
    for number, grace_s in ((signal.SIGTERM, END_GRACE_S), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)


def tree_bytes(directory: Path | str) -> int:
    """Return the size of all files below a directory that may be changing meanwhile."""
    total = 0
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                total += tree_bytes(entry.path)
            else:
                with contextlib.suppress(FileNotFoundError):
                    total += entry.stat(follow_symlinks=False).st_size
    return total


def last_lines(log: Path) -> tuple[str, ...]:
    """Return the end of a log, bounded in bytes and lines, without lines that mean nothing."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - TAIL_BYTES))
        text = printable(stream.read().decode(errors="replace"))
    telling = [line.rstrip() for line in text.splitlines() if not _MEANS_NOTHING.match(line)]
    return tuple(telling[-TAIL_LINES:])


def _exit_code(
    process: subprocess.Popen[bytes], step: str, growing: Sequence[Path], report: Report
) -> int:
    started = time.monotonic()
    while time.monotonic() - started < LIMIT_S:
        try:
            return process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            megabytes = sum(map(tree_bytes, growing)) / 1e6
            report(SetupProgress(step, f"{megabytes:.0f} MB so far", done=False))
    raise InstallFailed(step, None, (f"gave up after {LIMIT_S:.0f} s",))


def _locked(path: Path, report: Report) -> int:
    while True:
        safe_io.make_private_dirs(path.parent)  # again: `setup --remove` deletes it with the file
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                report(SetupProgress("waiting", "another set-up is running, waiting", done=False))
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                report(SetupProgress("waiting", "the other set-up has ended", done=True))
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(descriptor)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # `setup --remove` deleted the file we waited on
