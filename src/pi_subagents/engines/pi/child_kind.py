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
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
    from collections.abc import Iterator, Mapping, Sequence

    from pi_subagents.engines.pi.versions import PiTraits

DIGEST_BYTES = 16
# A file that changed so shortly before may change again without its times saying so.
SETTLED_NS = 2_000_000_000
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


@dataclass(frozen=True, slots=True)
class _Sources:
    """All that a kind is found by on disk, with how it was just before it was read."""

    cwd: str
    files: tuple[str, ...]  # or directories: what is in them shows in their times
    directories: tuple[Path, ...]
    extensions: tuple[Path, ...]  # wherever they lead
    stamp: object = None

    def now(self) -> object:
        """Return what differs if any of it does; None where a change might not show."""
        facts: list[object] = [os.path.isdir(self.cwd)]  # noqa: PTH112 - any text
        newest = 0
        for name in self.files:
            try:
                found = os.stat(name)  # noqa: PTH116 - many, for each task
            except (OSError, ValueError):
                facts.append(None)
                continue
            newest = max(newest, found.st_ctime_ns, found.st_mtime_ns)
            times = (found.st_mtime_ns, found.st_ctime_ns)
            facts.append((found.st_dev, found.st_ino, found.st_size, *times))
        tree = Tree()
        facts += [fact for path in self.directories for fact in tree.facts(path)]
        facts += [_leads_to(each) for each in self.extensions]
        return facts if time.time_ns() - newest > SETTLED_NS else None


class ChildKinds:
    """The kinds of one call's children; each file is read once, and again when it has changed."""

    def __init__(self, env: Mapping[str, str], traits: PiTraits) -> None:
        self._env = env
        self._traits = traits
        self._digests: dict[Path, str] = {}
        self._kinds: dict[tuple[object, ...], str] = {}
        self._shapes: dict[str, ChildShape] = {}  # one of each kind
        self._sources: dict[str, _Sources] = {}  # of each of them

    def kind_of(self, shape: ChildShape) -> str:
        """Return what the child has to share with another that could take its place."""
        texts = {name: _digest(text) for name, text in shape.texts.items()}
        argv = tuple(texts.get(word, word) for word in shape.argv)
        added = {k: v for k, v in shape.environment.items() if k != MARKER_VARIABLE}
        given = (argv, shape.cwd, shape.trusted, shape.isolation, *sorted(added.items()))
        if given not in self._kinds:  # most tasks of a call are given the same
            kind, sources = self._find_kind(shape, argv, added)
            self._kinds[given] = kind
            if sources is not None and kind not in self._shapes:
                self._shapes[kind], self._sources[kind] = shape, sources
        return self._kinds[given]

    def kind_now(self, kind: str) -> str:
        """Return what children of a kind of ours are by now: files may have changed since."""
        shape = self._shapes.get(kind)
        if not kind or shape is None:
            return ""
        known = self._sources[kind]
        if known.stamp is not None and known.now() == known.stamp:
            return kind
        again = ChildKinds(self._env, self._traits)
        now = again.kind_of(shape)
        if now == kind:  # touched, or too new when we looked before
            self._sources[kind] = again._sources[kind]
        return now

    def _find_kind(
        self, shape: ChildShape, argv: tuple[str, ...], added: Mapping[str, str]
    ) -> tuple[str, _Sources | None]:
        """Find it, and by what; `argv` has the content of files in the place of their names."""
        # Where there is no such directory no child starts, and its parents are not worth a look.
        if shape.isolation == FRESH or not os.path.isdir(shape.cwd):  # noqa: PTH112 - any text
            return "", None
        setup = ChildSetup(
            shape.argv, Path(shape.cwd), self._env, shape.trusted, traits=self._traits
        )
        bases = config_bases(setup)
        files = tuple(_files(setup, bases))
        directories = tuple(base / name for base in bases for name in _DIRECTORIES)
        extensions = tuple(_named_extensions(setup, bases))
        sources = _Sources(
            shape.cwd, tuple(map(str, (*files, *directories))), directories, extensions
        )
        stamp = sources.now()  # before anything is read: what changes meanwhile shows
        if shape.isolation != REUSE and _loads_foreign(setup, bases, extensions):
            return "", None
        environment = {**self._env, **added}
        environment.pop(MARKER_VARIABLE, None)
        tree = Tree()  # what differs between states of directories, their files unread
        facts = (
            self._traits.version,
            argv,
            shape.cwd,
            sorted(environment.items()),
            shape.trusted,
            [(str(path), self._content_digest(path)) for path in files],
            [fact for path in directories for fact in tree.facts(path)],
        )
        # ASCII: a lone surrogate in a path or variable is escaped, not an error.
        kind = _digest(json.dumps(facts).encode("ascii"))
        return kind, replace(sources, stamp=stamp)

    def _content_digest(self, path: Path) -> str:
        if path not in self._digests:
            content = config_content(path).strip()
            # pi itself writes an empty object where there was no file.
            self._digests[path] = _digest(b"" if content == b"{}" else content or _state(path))
        return self._digests[path]


def _named_extensions(setup: ChildSetup, bases: Sequence[Path]) -> Iterator[Path]:
    """Yield every extension that options or settings have the child load, but for pi's own."""
    argv = setup.pi_argv
    named = [value for option, value in pairwise(argv) if option in _EXTENSION_OPTIONS]
    named += [word for word in argv if word.startswith(("--extension=", "-e="))]
    yield from (Path(each) for each in named if not each.startswith(BUILTIN_PREFIX))
    if _loads_installed(setup):
        for base in bases:
            yield from (resolved_path(entry, base, setup.env) for entry in extension_entries(base))


def _loads_foreign(setup: ChildSetup, bases: Sequence[Path], extensions: Sequence[Path]) -> bool:
    """Return whether the child would load any extension that is not ours."""
    installed = bases if _loads_installed(setup) else ()
    return any(_entries(base / "extensions") for base in installed) or not all(
        map(_is_ours, extensions)
    )


def _loads_installed(setup: ChildSetup) -> bool:
    return not any(word in _NO_EXTENSIONS for word in setup.pi_argv)


def _files(setup: ChildSetup, bases: Sequence[Path]) -> Iterator[Path]:
    """Yield what pi reads at its start, whether it is there or not."""
    for base in bases:
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
    where = _leads_to(path)
    return where is not None and where.is_relative_to(PACKAGE_DIR)


def _leads_to(path: Path) -> Path | None:
    with suppress(OSError, ValueError, RuntimeError):
        return path.resolve()
    return None


def _entries(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)  # noqa: PTH208 - names are all that is wanted
    except OSError:
        return []


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=DIGEST_BYTES).hexdigest()
