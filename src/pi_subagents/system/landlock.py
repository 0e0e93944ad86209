"""
Confine a process and all it starts: it can write in some directories, and nowhere else.

In: the directories, opened before the fork.  Out: a function for the new child to call before it
executes; there is no way back from it.  The kernel enforces it (Landlock, Linux 5.13), also without
root.  Reading is free, and so is what does not write: sockets, signals, a file's mode and times.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1  # a flag: say which version of the interface there is
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
_WRITE_FILE, _REFER, _TRUNCATE, _IOCTL_DEV = 1 << 1, 1 << 13, 1 << 14, 1 << 15
_DIRECTORY_WRITES = sum(1 << bit for bit in range(4, 13))  # remove and make, of every kind
_FILE_WRITES = _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
TRUNCATE_SINCE = 3
NOTE_TRUNCATING = (
    "This kernel (before 6.2) cannot keep confined sub-agents from emptying files elsewhere."
)
# What every program writes to; none of them is a place to keep something.
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts")


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled_access_fs", ctypes.c_uint64),)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def version() -> int:
    """Return the version of the kernel's interface, or 0 where it cannot confine."""
    if sys.platform != "linux":
        return 0
    found: int = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
    return max(found, 0)


def leaves_truncating(found: int) -> bool:
    """Return whether files elsewhere could still be emptied: so before Linux 6.2."""
    return found < TRUNCATE_SINCE


class Confinement:
    """The right to write in some directories, to be given to a child; its owner closes it."""

    def __init__(self, directories: Iterable[str]) -> None:
        """Open the directories, made by then; OSError where they or the kernel are not so."""
        self._libc = _libc()
        found = version()
        if found == 0:
            raise OSError(errno.ENOSYS, "this kernel has no Landlock")
        handled = _handled(found)
        rules = _Ruleset(handled)
        self._ruleset = self._called(
            _CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(ctypes.sizeof(rules)), 0
        )
        try:
            for directory in directories:
                self._allow(directory, handled)
            for device in _DEVICES:
                if os.path.exists(device):  # noqa: PTH110 - a name of the system's
                    self._allow(device, handled)
        except OSError:
            self.close()
            raise

    def _allow(self, path: str, handled: int) -> None:
        with ExitStack() as opened:
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
            opened.callback(os.close, parent)
            if not stat.S_ISDIR(os.fstat(parent).st_mode):
                handled &= _FILE_WRITES
            rule = _PathBeneath(handled, parent)
            self._called(
                _ADD_RULE, ctypes.c_int(self._ruleset), _RULE_PATH_BENEATH, ctypes.byref(rule), 0
            )

    def _called(self, number: int, *arguments: object) -> int:
        answer: int = self._libc.syscall(number, *arguments)
        if answer < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return answer

    def in_child(self) -> Callable[[], None]:
        """Return what the child is to call between fork and exec; it raises where that fails."""

        def confine() -> None:
            if self._libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "no_new_privs")
            self._called(_RESTRICT_SELF, ctypes.c_int(self._ruleset), 0)

        return confine

    def close(self) -> None:
        """Close it; children that were confined stay so."""
        if self._ruleset >= 0:
            os.close(self._ruleset)
            self._ruleset = -1


def _handled(found: int) -> int:
    """Return what is forbidden elsewhere: every kind of writing that this kernel can forbid."""
    since = {2: _REFER, TRUNCATE_SINCE: _TRUNCATE, 5: _IOCTL_DEV}
    newer = sum(access for first, access in since.items() if found >= first)
    return _WRITE_FILE | _DIRECTORY_WRITES | newer


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
