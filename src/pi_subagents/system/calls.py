"""
The system calls that write files, in one table, so that any of them can be made to fail.

`PI_SUBAGENTS_FAIL_IO=<n>:<ERRNO>` makes the n-th call, and every later one, fail with that error
in each process that finds the variable; `<n>:<ERRNO>:once` only the n-th, `<name>:<ERRNO>` all
of that name.  The fault suite walks n from 1 until nothing fails any more.  Without the variable
the table holds the calls themselves.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE = "PI_SUBAGENTS_FAIL_IO"
NAMES = ("open", "write", "fsync", "link", "mkdir", "rename", "replace")


class FileCalls:
    """The table; each name is a function of `os` or a failing stand-in."""

    open = staticmethod(os.open)
    write = staticmethod(os.write)
    fsync = staticmethod(os.fsync)
    link = staticmethod(os.link)
    mkdir = staticmethod(os.mkdir)
    rename = staticmethod(os.rename)
    replace = staticmethod(os.replace)


def fail_from(number: int, error: int, *, once: bool = False) -> None:
    """Make calls of the table fail, counted over all of them."""
    count = 0

    def failing(call: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == number or (count > number and not once):
                raise OSError(error, os.strerror(error))
            return call(*arguments, **options)

        return attempt

    for name in NAMES:
        setattr(FileCalls, name, staticmethod(failing(getattr(os, name))))


def fail_always(name: str, error: int) -> None:
    """Make every call of one name fail, as on a file system that does not have it."""

    def fail(*_: Any, **__: Any) -> NoReturn:
        raise OSError(error, os.strerror(error))

    setattr(FileCalls, name, staticmethod(fail))


def _obey_environment() -> None:
    wanted = os.environ.get(VARIABLE)
    if wanted:
        which, error, *rest = wanted.split(":")
        number = getattr(errno, error)
        if which in NAMES:
            fail_always(which, number)
        else:
            fail_from(int(which), number, once=rest == ["once"])


_obey_environment()
