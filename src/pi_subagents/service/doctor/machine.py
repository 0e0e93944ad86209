"""Check the machine: Python, platform, whether we may delegate at all, disk space, tmux."""

from __future__ import annotations

import platform
import shutil
import sys
from typing import TYPE_CHECKING

from pi_subagents.core.check import Check, Subject
from pi_subagents.core.run.files import CHILD_VARIABLE
from pi_subagents.errors import PlatformNotSupported
from pi_subagents.system.identity import handles_are_offered
from pi_subagents.system.programs import search_program

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pi_subagents.system.home import CheckedPlace

OLDEST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 200 * 1000 * 1000
GB = 1000**3

PYTHON = Subject("python", "Python")
PLATFORM = Subject("platform", "Platform")
NESTING = Subject("nesting", "Delegation")
DISK = Subject("disk-space", "Disk space")
TMUX = Subject("tmux", "tmux")


def check_python() -> Check:
    """Check which Python runs us."""
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return PYTHON.fatal(version, f"Install pi-subagents with Python {oldest} or newer.")
    return PYTHON.ok(f"{version} ({sys.executable})", public=version)


def check_platform(system: str = sys.platform) -> Check:
    """Check how well children can be supervised here."""
    if system == "win32":
        return PLATFORM.fatal("Windows", str(PlatformNotSupported("Windows")))
    if system != "linux":
        name = "macOS" if system == "darwin" else system
        return PLATFORM.note(
            f"{name}: best effort. Runs are stopped by process group; a process that leaves its "
            "group may survive",
            "Use Linux where every process of a sub-agent must be ended.",
        )
    release = platform.release()
    if not handles_are_offered():
        return PLATFORM.problem(
            f"Linux {release} without process handles: processes are still ended, but are "
            "recognised by their number and start time alone before they are signalled",
            "Use a kernel of 5.3 or newer, and a sandbox that allows pidfd_open and "
            "pidfd_send_signal.",
        )
    return PLATFORM.ok(f"Linux {release}")


def check_nesting(place: CheckedPlace) -> Check:
    """Check whether this process is a sub-agent itself."""
    if place.env.get(CHILD_VARIABLE) == "1":
        return NESTING.fatal(
            f"refused: this process is itself a sub-agent ({CHILD_VARIABLE}=1)",
            "Do the work here, or hand it back to the main agent. In a shell that only inherited "
            f"the variable: unset {CHILD_VARIABLE}",
        )
    return NESTING.ok("allowed: this process is not a sub-agent")


def check_tmux(place: CheckedPlace) -> Check:
    """Check whether tmux is there; nothing needs it."""
    found = search_program("tmux", place.env, place.cwd).found
    if found is None:
        return TMUX.note("not found; it is optional")
    return TMUX.ok(f"{found} (optional)", public="found (optional)")


def check_disk(directories: Iterable[Path]) -> Check:
    """Check how much room there is where we write; the smallest counts."""
    free, where = min((shutil.disk_usage(existing(path)).free, path) for path in directories)
    if free < LEAST_FREE_BYTES:
        return DISK.problem(
            f"{free / 1e6:.0f} MB free for {where}",
            f"Free at least {LEAST_FREE_BYTES / 1e6:.0f} MB there; `subagents prune` shows which "
            "old runs could go.",
        )
    return DISK.ok(f"{free / GB:.1f} GB free")


def existing(path: Path) -> Path:
    """Return the path, or the nearest directory above it that exists."""
    return next(each for each in (path, *path.parents) if each.exists())
