"""
Import asyncio without `ssl`, a twentieth of the start of a process that speaks no TLS in its loop.

In: nothing.  Out: asyncio is imported, and says that it has no TLS when it is asked for it; whoever
imports `ssl` afterwards has it.  Where either is there already, nothing is done.
"""

from __future__ import annotations

import sys
from typing import cast

_TLS = "ssl"


def import_lean_asyncio() -> None:
    """Import asyncio, which does without what cannot be imported."""
    if _TLS in sys.modules or "asyncio" in sys.modules:
        return
    modules = cast("dict[str, object]", sys.modules)
    modules[_TLS] = None
    try:
        import asyncio  # noqa: F401 - that it is there is all
    finally:
        del modules[_TLS]
