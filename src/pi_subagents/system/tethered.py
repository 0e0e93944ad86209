"""
Become another program that is killed when the process that started it dies.

Run as a script: `python tethered.py PARENT_PID [--as=UID:GID] PROGRAM ARGUMENT...`; imports only
the standard library.  Linux has the means; elsewhere the program simply runs, and the set-up lock,
which it inherits, keeps the next set-up waiting until it is gone.
"""

from __future__ import annotations

import os
import signal
import sys

PR_SET_PDEATHSIG = 1
AS = "--as="  # another user, where root starts what root may not be


def main(arguments: list[str]) -> None:
    """Tie this process to its parent, then replace it by the program."""
    parent, program = int(arguments[0]), arguments[1:]
    if program[0].startswith(AS):  # first of all: the tie is lost with the rights
        user, group = map(int, program.pop(0).removeprefix(AS).split(":"))
        os.setgroups([])
        os.setgid(group)
        os.setuid(user)
    try:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass
    if os.getppid() != parent:  # it died before that took effect
        sys.exit(1)
    os.execv(program[0], program)  # noqa: S606 - a list, no shell; the program is our caller's


if __name__ == "__main__":
    main(sys.argv[1:])
