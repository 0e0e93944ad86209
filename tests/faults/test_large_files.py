"""
Large files: into a worktree, changed there, and back into the checkout, to the byte.

They have 200 MB in `make faults`, and 20 MB where somebody waits.
"""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

from tests.fakes.child_modes import EVERY_CHILD_MODE
from tests.fakes.git_place import MEGABYTE, git_place

if TYPE_CHECKING:
    from pathlib import Path


MEGABYTES = 200 if EVERY_CHILD_MODE else 20


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def written(path: Path, seed: int) -> None:
    """Write so much of which every megabyte differs, and which a patch can hold in few bytes."""
    numbers = random.Random(seed)
    with path.open("wb") as file:
        for _ in range(MEGABYTES):
            file.write(numbers.randbytes(1024) * 1024)
        file.write(b"end")


def test_large_files_come_and_go_to_the_byte(tmp_path: Path) -> None:
    place = git_place(tmp_path)
    written(place.top / "large.bin", 1)
    worktree = place.worktree()
    theirs = worktree.path / "large.bin"
    assert digest(theirs) == digest(place.top / "large.bin")
    with theirs.open("r+b") as file:
        file.seek(MEGABYTES // 2 * MEGABYTE + 7)
        file.write(b"changed in the middle")
    written(worktree.path / "new.bin", 2)
    expected = {name: digest(worktree.path / name) for name in ("large.bin", "new.bin")}
    assert place.save(worktree).kept == ""
    place.apply(worktree)
    assert {name: digest(place.top / name) for name in expected} == expected
