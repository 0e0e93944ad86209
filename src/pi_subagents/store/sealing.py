"""
Seals: proof that something was written by us.

They are made with a key of this user's, in the data directory, out of the projects' reach; whoever
has it can make any seal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.system.safe_io import kept_secret

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY_NAME = "seal.key"
KEY_BYTES = 32
SEAL_BYTES = 16


class Sealer:
    """One seal in the making: of all that it was given; OSError where there is no key."""

    def __init__(self, data_dir: Path, beginning: bytes) -> None:
        from hashlib import blake2b  # a supervisor starts without it

        key = kept_secret(data_dir / KEY_NAME, KEY_BYTES)
        self._hash = blake2b(beginning, key=key, digest_size=SEAL_BYTES)
        self.take: Callable[[bytes], None] = self._hash.update

    def seal(self) -> str:
        """Return the seal of what was taken so far."""
        return self._hash.hexdigest()
