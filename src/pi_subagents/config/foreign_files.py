"""
Find and read agent definitions of other programs, in a project and in a home.

In: a directory, a home, or paths that somebody names.  Out: files with their bytes and the program
they belong to.  Nothing is written; what cannot be read says why; files and their number are
limited.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.config.definition_dir import MAX_BYTES, MAX_FILES
from pi_subagents.core.definitions.definition import GLOBAL, PROJECT
from pi_subagents.core.foreign.names import CLAUDE_CODE, CODEX
from pi_subagents.core.foreign.table import FORMATS
from pi_subagents.core.value import value
from pi_subagents.errors import AgentFileUnreadable
from pi_subagents.system.safe_io import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOML = ".toml"
SUFFIXES = (".md", TOML)


@value
class AgentFile:
    """A file, the key of its format, and whose it is."""

    path: Path
    format_name: str
    scope: str = GLOBAL


def find_agent_files(cwd: Path, env: Mapping[str, str]) -> tuple[AgentFile, ...]:
    """Return the files of a project, then those of the user."""
    home = Path(env["HOME"]) if env.get("HOME") else None
    found: dict[Path, AgentFile] = {}
    for name, kind in FORMATS.items():
        places = [(cwd, PROJECT, kind.in_project), (home, GLOBAL, kind.in_home)]
        for root, scope, patterns in places:
            if root is None or (scope == PROJECT and root == home):
                continue
            for path in (each for pattern in patterns for each in sorted(root.glob(pattern))):
                found.setdefault(path, AgentFile(path, name, scope))
    return tuple(sorted(found.values(), key=lambda each: each.scope != PROJECT))[:MAX_FILES]


def named_agent_files(paths: Iterable[Path], format_name: str) -> tuple[AgentFile, ...]:
    """Return the files that were named, and those in directories that were."""
    files: list[AgentFile] = []
    for path in paths:
        # The program's own directory may be meant, or the one of its agents in there.
        inside = (each for glob in ("*", "agent*/*") for each in sorted(path.glob(glob)))
        within = [each for each in inside if each.suffix in SUFFIXES]
        every = within[:MAX_FILES] if path.is_dir() else [path]
        files += [AgentFile(each, format_name or _format_of(each)) for each in every]
    return tuple(files)


def read_agent_file(file: AgentFile) -> bytes:
    """Return a file's bytes."""
    try:
        return read_bounded(file.path.resolve(), MAX_BYTES)
    except (OSError, ValueError, RuntimeError) as error:
        raise AgentFileUnreadable(getattr(error, "strerror", None) or str(error)) from error


def _format_of(path: Path) -> str:
    """Return whose file it is: by the directories above it, else by its ending."""
    absolute = path.absolute()
    for name, kind in FORMATS.items():
        folders = {pattern.partition("/")[0] for pattern in kind.in_project}
        if {*folders, f".config/{name}"} & {*absolute.parts, "/".join(absolute.parts[-4:-2])}:
            return name
    return CODEX if path.suffix == TOML else CLAUDE_CODE
