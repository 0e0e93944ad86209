"""
Give the worktrees of a snapshot the context files that lie above the caller's checkout.

In: the home of the snapshot, the top of the checkout, the names that an engine's children look for
in every directory above their own.  Out: one file with all of these texts, in a directory that is
above the worktrees.  What the checkout itself has is in the worktrees anyway.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.system.safe_io import read_bounded, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MAX_BYTES = 1024 * 1024


def lay_context_files(home: Path, top: str, names: Sequence[str]) -> None:
    """Write it under the name that counts first, or remove it where there is nothing to say."""
    if not names:
        return
    texts = list(_texts_above(Path(os.path.realpath(top)), home.resolve(), names))
    if texts:
        replace_file(home / names[0], b"\n\n".join(texts) + b"\n")
    else:
        (home / names[0]).unlink(missing_ok=True)


def _texts_above(top: Path, home: Path, names: Sequence[str]) -> Iterator[bytes]:
    """Yield what each directory says that is not above the worktrees as well, outermost first."""
    for directory in reversed(top.parents):
        if directory in home.parents:
            continue
        with suppress(OSError):  # what cannot be read is not read by a child either
            found = next((path for name in names if (path := directory / name).is_file()), None)
            if found is not None:
                text = read_bounded(found.resolve(), _MAX_BYTES)
                yield b"# " + os.fsencode(found) + b"\n\n" + text.strip()
