"""
One short text for everything that shapes a child, so that runs can share one, or must not.

In: a planned child and the caller's environment.  Out: a digest that two children have in common
only if command, version, arguments, directory, environment, trust and the content of every file
that pi reads at its start are equal; nothing where the child is for one run alone.  A child that
loads an extension we do not know may keep anything in its memory: it is shared only by request.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.profile.profile import FRESH, REUSE
from pi_subagents.core.run.files import MARKER_VARIABLE
from pi_subagents.engines.pi.models.config import (
    ChildSetup,
    Tree,
    config_bases,
    config_content,
    extension_entries,
)
from pi_subagents.engines.pi.skills.packages import resolved_path
from pi_subagents.engines.pi.versions import BUILTIN_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pi_subagents.engines.pi.versions import PiTraits

DIGEST_BYTES = 16
PACKAGE_DIR = Path(__file__).resolve().parents[2]
# Beside its files, directories: a file that came, went or changed makes another child.
_DIRECTORIES = ("extensions", "skills", "prompts")
# The first of these in each directory from the root down to the child's own.
CONTEXT_FILES = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")
_EXTENSION_OPTIONS = ("--extension", "-e")
_NO_EXTENSIONS = ("--no-extensions", "-ne")


@dataclass(frozen=True, slots=True)
class ChildShape:
    """All that decides what a planned child is, but for its prompt."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)  # added to the caller's; may hold a key
    cwd: str
    trusted: bool
    texts: Mapping[str, bytes]  # files of its run that the arguments name, with their content
    isolation: str  # as its profile has it


class ChildKinds:
    """The kinds of one call's children; each file is read once, until `kind_now`."""

    def __init__(self, env: Mapping[str, str], traits: PiTraits) -> None:
        self._env = env
        self._traits = traits
        self._digests: dict[Path, str] = {}
        self._kinds: dict[tuple[object, ...], str] = {}
        self._shapes: dict[str, ChildShape] = {}  # one of each kind

    def kind_of(self, shape: ChildShape) -> str:
        """Return what the child has to share with another that could take its place."""
        texts = {name: _digest(text) for name, text in shape.texts.items()}
        argv = tuple(texts.get(word, word) for word in shape.argv)
        added = {k: v for k, v in shape.environment.items() if k != MARKER_VARIABLE}
        given = (argv, shape.cwd, shape.trusted, shape.isolation, *sorted(added.items()))
        if given not in self._kinds:  # most tasks of a call are given the same
            kind = self._kinds[given] = self._find_kind(shape, argv, added)
            self._shapes.setdefault(kind, shape)
        return self._kinds[given]

    def kind_now(self, kind: str) -> str:
        """Return what children of a kind of ours are by now: files may have changed since."""
        shape = self._shapes.get(kind)
        return ChildKinds(self._env, self._traits).kind_of(shape) if kind and shape else ""

    def _find_kind(self, shape: ChildShape, argv: tuple[str, ...], added: Mapping[str, str]) -> str:
        """Find it; `argv` has the content of files in the place of their names."""
        # Where there is no such directory no child starts, and its parents are not worth a look.
        if shape.isolation == FRESH or not os.path.isdir(shape.cwd):  # noqa: PTH112 - any text
            return ""
        setup = ChildSetup(
            shape.argv, Path(shape.cwd), self._env, shape.trusted, traits=self._traits
        )
        if shape.isolation != REUSE and any(self._foreign_extensions(setup)):
            return ""
        environment = {**self._env, **added}
        environment.pop(MARKER_VARIABLE, None)
        directories = [base / name for base in config_bases(setup) for name in _DIRECTORIES]
        tree = Tree()  # what differs between states of directories, their files unread
        facts = (
            self._traits.version,
            argv,
            shape.cwd,
            sorted(environment.items()),
            shape.trusted,
            [(str(path), self._content_digest(path)) for path in _files(setup)],
            [fact for path in directories for fact in tree.facts(path)],
        )
        # ASCII: a lone surrogate in a path or variable is escaped, not an error.
        return _digest(json.dumps(facts).encode("ascii"))

    def _foreign_extensions(self, setup: ChildSetup) -> Iterator[str]:
        """Yield every extension the child would load that is not ours."""
        argv = setup.pi_argv
        named = [value for option, value in pairwise(argv) if option in _EXTENSION_OPTIONS]
        named += [word for word in argv if word.startswith(("--extension=", "-e="))]
        foreign = (each for each in named if not each.startswith(BUILTIN_PREFIX))
        yield from (each for each in foreign if not _is_ours(Path(each)))
        if not any(word in _NO_EXTENSIONS for word in argv):
            for base in config_bases(setup):
                yield from _entries(base / "extensions")
                for entry in extension_entries(base):
                    if not _is_ours(resolved_path(entry, base, setup.env)):
                        yield entry

    def _content_digest(self, path: Path) -> str:
        if path not in self._digests:
            content = config_content(path).strip()
            # pi itself writes an empty object where there was no file.
            self._digests[path] = _digest(b"" if content == b"{}" else content or _state(path))
        return self._digests[path]


def _files(setup: ChildSetup) -> Iterator[Path]:
    """Yield what pi reads at its start, whether it is there or not."""
    for base in config_bases(setup):
        yield from (base / name for name in (*setup.traits.files, *CONTEXT_FILES))
    for place in (setup.cwd, *setup.cwd.parents):
        yield from (place / name for name in CONTEXT_FILES)


def _state(path: Path) -> bytes:
    """Return what identifies a file too large to read: not for certain, but well enough."""
    with suppress(OSError, ValueError):
        found = path.stat()
        if found.st_size:
            return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}".encode("ascii")
    return b""


def _is_ours(path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(PACKAGE_DIR)
    except (OSError, ValueError, RuntimeError):
        return False


def _entries(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)  # noqa: PTH208 - names are all that is wanted
    except OSError:
        return []


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=DIGEST_BYTES).hexdigest()
