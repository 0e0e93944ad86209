"""
Show something on the user's desktop, where there is one.

In: a path or an address, and the environment.  Out: whether a program was started to show it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from pi_subagents.system.own_thread import start_thread

if TYPE_CHECKING:
    from collections.abc import Mapping


def has_desktop(env: Mapping[str, str]) -> bool:
    """Return whether windows can be shown."""
    return sys.platform == "darwin" or bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def show(target: str, env: Mapping[str, str]) -> bool:
    """Have the desktop open a directory or an address."""
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
