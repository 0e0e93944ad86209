"""
Find out which version a pi command is, and the Node that starts it, asking each only once.

In: a command, an environment, the working directory.  Out: the version, or None if it gives
none.  A package that the command is part of says it too.  An answer is kept in the data directory
for an hour, or until the program's file changes: a wrapper stays the same file whatever it leads
to.  What cannot be kept is asked for again.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.engines.pi.invocation import asking_environment
from pi_subagents.engines.pi.versions import version_text
from pi_subagents.system.clock import now_ms
from pi_subagents.system.home import data_dir
from pi_subagents.system.programs import ProgramQuestion
from pi_subagents.system.safe_io import make_private_dirs, read_json, replace_file, to_json_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.engines.pi.install.node import NodeVersion

PACKAGE_SUFFIX = "/pi-coding-agent"
RENAMED_KEY = "piConfig"  # in the package.json of a pi under another name
PACKAGE_DEPTH = 4  # <package>/dist/bundle/cli.js, and one to spare
FILE_NAME = "pi-versions.json"
SCHEMA_VERSION = 1
MAX_AGE_MS = 60 * 60 * 1000
MAX_ENTRIES = 32
MAX_BYTES = 64 * 1024
ASK_LIMIT_S = 10.0
# Of Node itself.  What is smaller may start another Node in another directory, as scripts do.
WHOLE_NODE_BYTES = 16 * 1024 * 1024
_PROGRAM_MAGIC = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
VERSION = re.compile(r"v?(\d{1,6}(?:\.\d{1,6}){1,3}(?:[-+][0-9A-Za-z.-]{1,30})?)")

_NODE_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})")


def packaged_version(argv: Sequence[str]) -> str | None:
    """Return the version in the package.json of a pi package that a word points into."""
    for word in argv:
        if not os.path.isabs(word):  # noqa: PTH117 - a plain question about a string
            continue
        script = Path(os.path.realpath(word))
        for directory in script.parents[:PACKAGE_DEPTH]:
            try:
                manifest = json.loads((directory / "package.json").read_bytes())
                if str(manifest["name"]).endswith(PACKAGE_SUFFIX) or RENAMED_KEY in manifest:
                    return str(manifest["version"])
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                continue
    return None


def find_version(argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> str | None:
    """Return the version of a command, asking it where nothing else shows it."""
    packaged = packaged_version(argv)
    if packaged is not None:
        return packaged
    kept = _Kept(data_dir(env) / FILE_NAME)
    identity = _identity(argv)
    known = kept.version(identity)
    if known is None:
        known = _ask(argv, env, cwd)
        if known is not None:
            kept.keep(identity, known)
    return known


def find_node_version(node: Path, env: Mapping[str, str]) -> NodeVersion | None:
    """Return the version of a Node; of one that is whole in its file, as it was kept."""
    if not _is_whole_program(node):
        return _ask_node(node, env)
    kept, identity = _Kept(data_dir(env) / FILE_NAME), _identity((str(node),))
    known = _NODE_VERSION.fullmatch(kept.version(identity) or "")
    if known is not None:
        return int(known[1]), int(known[2]), int(known[3])
    asked = _ask_node(node, env)
    if asked is not None:
        kept.keep(identity, version_text(asked))
    return asked


def is_first_sight(version: str, env: Mapping[str, str]) -> bool:
    """Return whether this version was never met before on this account, and remember it."""
    return _Kept(data_dir(env) / FILE_NAME).meet(version)


class _Kept:
    """What programs answered, and the versions that were met, in one small file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        content: object = None
        with suppress(OSError, ValueError):
            content = read_json(path, MAX_BYTES)
        is_ours = isinstance(content, dict) and content.get("schemaVersion") == SCHEMA_VERSION
        given = content if is_ours and isinstance(content, dict) else {}
        answers, met = given.get("answers"), given.get("met")
        self._answers: dict[str, object] = answers if isinstance(answers, dict) else {}
        self._met = [each for each in met if isinstance(each, str)] if isinstance(met, list) else []

    def version(self, identity: str) -> str | None:
        match self._answers.get(identity):
            case {"version": str(version), "at": int(at)} if 0 <= now_ms() - at < MAX_AGE_MS:
                return version
        return None

    def keep(self, identity: str, version: str) -> None:
        self._answers.pop(identity, None)
        self._answers[identity] = {"version": version, "at": now_ms()}
        self._save()

    def meet(self, version: str) -> bool:
        if version in self._met:
            return False
        self._met.append(version)
        self._save()
        return True

    def _save(self) -> None:
        answers = dict(list(self._answers.items())[-MAX_ENTRIES:])
        met = self._met[-MAX_ENTRIES:]
        content = {"schemaVersion": SCHEMA_VERSION, "answers": answers, "met": met}
        with suppress(OSError):
            make_private_dirs(self._path.parent)
            replace_file(self._path, to_json_bytes(content))


def _identity(argv: Sequence[str]) -> str:
    """Return a text that changes with the command, or with a file that it names."""
    facts: list[object] = [list(argv)]
    for word in argv:
        with suppress(OSError, ValueError):
            found = Path(word).stat()
            facts.append([found.st_size, found.st_mtime_ns, found.st_ctime_ns])
    return blake2b(json.dumps(facts).encode("ascii"), digest_size=16).hexdigest()


def _ask_node(node: Path, env: Mapping[str, str]) -> NodeVersion | None:
    from pi_subagents.engines.pi.install.node import node_version  # it can install one, too

    return node_version(node, env)


def _is_whole_program(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            is_program = file.read(4) in _PROGRAM_MAGIC
            return is_program and os.fstat(file.fileno()).st_size >= WHOLE_NODE_BYTES
    except (OSError, ValueError):
        return False


def _ask(argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> str | None:
    command, quiet = (*argv, "--version"), asking_environment(env)
    try:
        answer = ProgramQuestion(command, env=quiet, cwd=cwd, limit_s=ASK_LIMIT_S).answer()
    except (OSError, ValueError):
        return None
    found = VERSION.fullmatch(answer.text.strip()) if answer.exit_code == 0 else None
    return found[1] if found else None
