"""
What earlier looks at a store found the time to be, kept in the data directory.

In: the directory of a store.  Out: the Watch that the last look left, if it can be read.  It is
kept out of the project: whoever works there could otherwise make everything look old.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING

from pi_subagents.core.run.retention import Look, Watch
from pi_subagents.system.safe_io import (
    make_private_dirs,
    read_json,
    replace_file,
    to_json_bytes,
)

if TYPE_CHECKING:
    from pathlib import Path

DIRECTORY = "retention"
SCHEMA_VERSION = 1
MAX_BYTES = 64 * 1024
DIGEST_BYTES = 16


class RetentionLooks:
    """The looks below one data directory, one file for each store."""

    def __init__(self, data_dir: Path) -> None:
        self._directory = data_dir / DIRECTORY

    def find(self, runs_dir: Path) -> Watch | None:
        """Return what the last look at a store left."""
        try:
            content = read_json(self._file(runs_dir), MAX_BYTES)
        except (OSError, ValueError):
            return None
        match content:
            case {
                "schemaVersion": 1,
                "now": int(now_ms),
                "provenS": (int() | float()) as proven_s,
                "last": {
                    "now": int(last_ms),
                    "boot": (str() | None) as boot,
                    "upS": (int() | float()) as up_s,
                },
            }:
                return Watch(now_ms, proven_s, Look(last_ms, boot, up_s))
        return None

    def keep(self, runs_dir: Path, watch: Watch) -> bool:
        """Keep what a look found; return whether that was possible."""
        last = watch.last
        content = {
            "schemaVersion": SCHEMA_VERSION,
            "runs": str(runs_dir),
            "now": watch.now_ms,
            "provenS": watch.proven_s,
            "last": {"now": last.now_ms, "boot": last.boot, "upS": last.up_s},
        }
        try:
            for directory in (self._directory.parent, self._directory):
                make_private_dirs(directory)
            replace_file(self._file(runs_dir), to_json_bytes(content))
        except OSError:
            return False
        return True

    def _file(self, runs_dir: Path) -> Path:
        name = blake2b(os.fsencode(runs_dir), digest_size=DIGEST_BYTES).hexdigest()
        return self._directory / f"{name}.json"
