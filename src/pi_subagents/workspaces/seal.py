"""
What only we know of a run's changes: the hash of its patch, and what became of it.

In: the desk of a worktree, out of reach of the project.  Out: a Seal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.value import as_dict, value
from pi_subagents.system.safe_io import read_json, replace_file, to_json_bytes

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 1
_FILE = "seal.json"
_MAX_BYTES = 64 * 1024


@value
class Seal:
    """The hash of a patch; empty where there is none, and the worktree was kept instead."""

    patch_sha256: str
    complete: bool = False  # everything that there is was saved
    applied_at_ms: int = 0
    discarded_at_ms: int = 0


def read_seal(desk: Path) -> Seal | None:
    """Return the seal; None where nothing was saved yet."""
    try:
        content = read_json(desk / _FILE, _MAX_BYTES)
        if not isinstance(content, dict) or content.pop("schemaVersion", None) != SCHEMA_VERSION:
            return None
        return Seal(**content)
    except (OSError, ValueError, TypeError):
        return None


def write_seal(desk: Path, seal: Seal) -> None:
    """Keep the seal."""
    content = {"schemaVersion": SCHEMA_VERSION, **as_dict(seal)}
    replace_file(desk / _FILE, to_json_bytes(content))
