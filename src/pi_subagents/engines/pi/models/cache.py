"""
Keep the lists of models that pi gave, for a day, in a directory of their own.

In: a digest of everything that decides the list (`config.py`).  Out: the list, and when
pi gave it; None for what is missing, too old or damaged.  Each list is a private file that appears
whole; no process waits for another.  What cannot be kept is not: the next caller asks pi again.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.engine_values import ModelList, model_to_json
from pi_subagents.engines.pi.models.names import parse_models
from pi_subagents.system.safe_io import (
    kept_secret,
    make_private_dirs,
    read_json,
    replace_file,
    to_json_bytes,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.core.engine_values import Model

SCHEMA_VERSION = 1
MAX_AGE_MS = 24 * 60 * 60 * 1000
MAX_ENTRIES = 64
MAX_ENTRY_BYTES = 8 * 1024 * 1024
SECRET_NAME = "secret.key"  # noqa: S105 - the name of a file
SECRET_BYTES = 32
_OWN_NAME = re.compile(r"[0-9a-f]{32}\.json|\.[0-9a-f]{32}\.json\.[0-9a-f]+\.tmp")


class ModelCache:
    """The lists below one directory, which is made when something is kept."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def secret(self) -> bytes:
        """Return the key of all digests, the same for every process; OSError if there is none."""
        make_private_dirs(self._directory.parent)  # it is ours alone, too
        return kept_secret(self._directory / SECRET_NAME, SECRET_BYTES)

    def load(self, digest: str, now_ms: int) -> ModelList | None:
        """Return the list of that digest, unless it is from yesterday or from the future."""
        try:
            entry = read_json(self._path(digest), MAX_ENTRY_BYTES)
        except (OSError, ValueError):
            return None
        if not isinstance(entry, dict) or entry.get("schemaVersion") != SCHEMA_VERSION:
            return None
        listed_at_ms, models = entry.get("toldAt"), parse_models(entry.get("models"))
        if not isinstance(listed_at_ms, int) or not 0 <= now_ms - listed_at_ms < MAX_AGE_MS:
            return None
        # None at all is soon changed: by a login, by a server that starts.
        return ModelList(models, cached=True, age_ms=now_ms - listed_at_ms) if models else None

    def keep(self, digest: str, models: tuple[Model, ...], now_ms: int) -> None:
        """Keep a list, and of all lists the newest ones; without room for it, keep nothing."""
        entry = {
            "schemaVersion": SCHEMA_VERSION,
            "toldAt": now_ms,
            "models": [model_to_json(model) for model in models],
        }
        with suppress(OSError):
            replace_file(self._path(digest), to_json_bytes(entry))
            self._forget_oldest()

    def _path(self, digest: str) -> Path:
        return self._directory / f"{digest}.json"

    def _forget_oldest(self) -> None:
        """Remove what is over the limit, with what a crash left half written."""
        ages = []
        for path in self._directory.iterdir():
            with suppress(FileNotFoundError):  # another process was quicker
                if _OWN_NAME.fullmatch(path.name):
                    ages.append((path.lstat().st_mtime_ns, path))
        for _, path in sorted(ages, reverse=True)[MAX_ENTRIES:]:
            path.unlink(missing_ok=True)
