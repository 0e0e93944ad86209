"""
What the user answered about definitions of projects that are not trusted, by their content.

In: a profile or preset as it was read.  Out: yes, no, or that nobody has answered yet.  Each answer
is a private file in the data directory, named by a digest of all that the definition says: one that
changes in a single letter is another one.  What cannot be read counts as not answered.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING

from pi_subagents.core.definitions.found import UserAnswer
from pi_subagents.core.profile.permissions import Permissions
from pi_subagents.system.safe_io import make_private_dirs, read_json, replace_file, to_json_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.core.definitions.definition import Loaded

DIRECTORY = "definition-answers"
SCHEMA_VERSION = 1
DIGEST_BYTES = 16
MAX_BYTES = 64 * 1024


class DefinitionAnswers:
    """The answers below one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._directory = data_dir / DIRECTORY

    def find(self, kind: str, definition: Loaded) -> UserAnswer | None:
        """Return the answer; None where there is none."""
        path = self._file(kind, definition)
        try:
            found = read_json(path, MAX_BYTES)
        except (OSError, ValueError):
            return None
        use = found.get("use") if isinstance(found, dict) else None
        return UserAnswer(use, str(path)) if isinstance(use, bool) else None

    def keep(self, kind: str, definition: Loaded, *, use: bool) -> None:
        """Keep an answer; where that cannot be, it will be asked for again."""
        entry = {
            "schemaVersion": SCHEMA_VERSION,
            "use": use,
            "kind": kind,
            "name": definition.name,
            "path": definition.path,
            "answeredAt": time.time_ns() // 1_000_000,
        }
        with suppress(OSError):
            for directory in (self._directory.parent, self._directory):
                make_private_dirs(directory)
            replace_file(self._file(kind, definition), to_json_bytes(entry))

    def _file(self, kind: str, definition: Loaded) -> Path:
        return self._directory / f"{_digest(kind, definition)}.json"


def _digest(kind: str, definition: Loaded) -> str:
    content = getattr(definition, kind)  # `profile` of a LoadedProfile, `preset` of a LoadedPreset
    said = {name: getattr(content, name) for name in content.__match_args__}
    said |= {name: str(each) for name, each in said.items() if isinstance(each, Permissions)}
    material = json.dumps([kind, said], sort_keys=True).encode("ascii")
    return blake2b(material, digest_size=DIGEST_BYTES).hexdigest()
