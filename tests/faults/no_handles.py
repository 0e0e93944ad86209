"""
A kernel without handles on processes, for one process and all it starts: by a filter of seccomp.

`forbid_handles` is for a `preexec_fn`: from then on `pidfd_open` and `pidfd_send_signal` fail as they
do on a kernel that does not know them.  Their numbers are the same on every architecture.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PIDFD_SEND_SIGNAL, PIDFD_OPEN = 424, 434
_LOAD_NUMBER, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _FAIL_WITH = 0x7FFF0000, 0x00050000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def forbid_handles(error: int = errno.ENOSYS) -> Callable[[], None]:
    """Return what a new process does before it executes; OSError where there is no seccomp."""
    steps = (
        (_LOAD_NUMBER, 0, 0, 0),
        (_JUMP_IF_EQUAL, 1, 0, PIDFD_OPEN),
        (_JUMP_IF_EQUAL, 0, 1, PIDFD_SEND_SIGNAL),
        (_RETURN, 0, 0, _FAIL_WITH | error),
        (_RETURN, 0, 0, _ALLOW),
    )
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    kept = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(steps), ctypes.cast(kept, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)

    def forbid() -> None:
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0):
            raise OSError(ctypes.get_errno(), "no seccomp here")

    return forbid
