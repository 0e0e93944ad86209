"""
Start programs that outlive us: our own command, and what the desktop shows.

In: arguments or a target, and the environment.  Out: a process in a session of its own, which goes
on when we end, or its terminal does.  Our command is the same installation, never a module of the
directory it works in, and its input is not in its command line.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.system.own_thread import start_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MAX_ERROR_BYTES = 16 * 1024


@value
class Ended:
    """How a command of ours ended, and the end of what it wrote to standard error."""

    code: int
    error_output: str


def start_own_command(
    arguments: Sequence[str],
    text: str,
    *,
    cwd: str,
    env: Mapping[str, str],
    on_end: Callable[[Ended], None],
) -> int:
    """Start it and return its process id; OSError where that is impossible."""
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the thread that waits
    try:
        # -P: the working directory may hold anything under the names of our modules.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "pi_subagents", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
    except OSError:
        errors.close()
        raise

    def wait_for_end() -> None:
        with errors:
            with suppress(OSError):  # it may have ended already
                process.communicate(text.encode("utf-8", "replace"))
            code = process.wait()
            size = errors.seek(0, os.SEEK_END)
            errors.seek(max(size - MAX_ERROR_BYTES, 0))
            error_output = errors.read().decode("utf-8", "replace").strip()
        on_end(Ended(code, error_output))

    if not start_thread("own-command", wait_for_end):
        process.kill()  # its input could not be written
        wait_for_end()
    return process.pid


def has_desktop(env: Mapping[str, str]) -> bool:
    """Return whether windows can be shown."""
    return sys.platform == "darwin" or bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def show(target: str, env: Mapping[str, str]) -> bool:
    """Have the desktop open a directory or an address; return whether a program was started."""
    program = "open" if sys.platform == "darwin" else "xdg-open"
    path = shutil.which(program, path=env.get("PATH", os.defpath))
    if path is None or not has_desktop(env):
        return False
    try:
        process = subprocess.Popen(
            [path, target],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            start_new_session=True,  # a Ctrl+C in our terminal is not for it
        )
    except OSError:
        return False
    start_thread("desktop", process.wait)
    return True
