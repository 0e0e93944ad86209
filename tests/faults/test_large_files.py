"""Files of 200 MB: into a worktree, changed there, and back into the checkout, to the byte."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

from tests.fakes.git_place import MEGABYTE, git_place

if TYPE_CHECKING:
    from pathlib import Path


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def written(path: Path, seed: int) -> None:
    """Write 200 MB of which every megabyte differs, and which a patch can hold in few bytes."""
    numbers = random.Random(seed)
    with path.open("wb") as file:
        for _ in range(200):
            file.write(numbers.randbytes(1024) * 1024)
        file.write(b"end")


def test_files_of_200_megabytes_come_and_go_to_the_byte(tmp_path: Path) -> None:
    place = git_place(tmp_path)
    written(place.top / "large.bin", 1)
    worktree = place.worktree()
    theirs = worktree.path / "large.bin"
    assert digest(theirs) == digest(place.top / "large.bin")
    with theirs.open("r+b") as file:
        file.seek(100 * MEGABYTE + 7)
        file.write(b"changed in the middle")
    written(worktree.path / "new.bin", 2)
    expected = {name: digest(worktree.path / name) for name in ("large.bin", "new.bin")}
    assert place.save(worktree).kept == ""
    place.apply(worktree)
    assert {name: digest(place.top / name) for name in expected} == expected
