"""
What a run changed in its worktree, as `changes.json` says it.

In: what git prints about two trees, or a decoded JSON object.  Out: a Changes.  Names are text with
surrogates in the place of bytes that are no UTF-8, as Python has them from the system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.core.value import JsonObject, replace, value

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA_VERSION = 1
LINK_MODE = "120000"


@value
class ChangedFile:
    """One file that differs; `added` and `removed` are lines, None where it is not text."""

    path: str
    kind: str  # A(dded), D(eleted), M(odified), R(enamed), T(ype changed)
    old_mode: str
    new_mode: str
    added: int | None = None
    removed: int | None = None
    old_path: str = ""


@value
class Changes:
    """Everything a run changed, and what else is to be known before it is taken."""

    snapshot: str  # the commit its worktree was made of
    tree: str  # what its worktree held in the end
    files: tuple[ChangedFile, ...] = ()
    patch_sha256: str = ""
    patch_bytes: int = 0
    commits: int = 0  # its own; what is in them is in the patch
    refs: tuple[str, ...] = ()  # branches, tags and stashes that it made or moved
    nested: tuple[str, ...] = ()  # repositories in it, whose content is in no patch
    changed_meanwhile: tuple[str, ...] = ()  # in the caller's checkout, by somebody else
    kept: str = ""  # why the worktree was not removed

    @property
    def added(self) -> int:
        """Return how many lines were added."""
        return sum(file.added or 0 for file in self.files)

    @property
    def removed(self) -> int:
        """Return how many lines were removed."""
        return sum(file.removed or 0 for file in self.files)

    @property
    def summary(self) -> str:
        """Return the changes in a few words."""
        count = len(self.files)
        if not count:
            return "no files changed"
        files = "1 file" if count == 1 else f"{count} files"
        return f"{files} changed, +{self.added} \N{MINUS SIGN}{self.removed}"


def parse_files(raw_and_numstat: str) -> tuple[ChangedFile, ...]:
    """Return the files that `git diff-tree -r -M --raw --numstat -z` lists."""
    fields = iter(raw_and_numstat.split("\0"))
    found: dict[str, ChangedFile] = {}
    for field in fields:
        if field.startswith(":"):
            old_mode, new_mode, _, _, kind = field[1:].split(" ")
            old_path = next(fields) if kind[0] in "RC" else ""
            path = next(fields)
            found[path] = ChangedFile(path, kind[0], old_mode, new_mode, old_path=old_path)
        elif field:
            added, removed, path = field.split("\t", 2)
            if not path:  # renamed: both names follow
                path = (next(fields), next(fields))[1]
            found[path] = _counted(found[path], added, removed)
    return tuple(found.values())


def _counted(file: ChangedFile, added: str, removed: str) -> ChangedFile:
    if added == "-":
        return file
    return replace(file, added=int(added), removed=int(removed))


_FILE_KEYS = {
    "path": "path",
    "kind": "kind",
    "old_mode": "oldMode",
    "new_mode": "newMode",
    "added": "added",
    "removed": "removed",
    "old_path": "oldPath",
}
_KEYS = {
    "snapshot": "snapshot",
    "tree": "tree",
    "patch_sha256": "patchSha256",
    "patch_bytes": "patchBytes",
    "commits": "commits",
    "refs": "refs",
    "nested": "nested",
    "changed_meanwhile": "changedMeanwhile",
    "kept": "kept",
}


def changes_to_json(changes: Changes) -> JsonObject:
    """Return the changes as they are kept."""
    own = {key: getattr(changes, name) for name, key in _KEYS.items()}
    files = [
        {key: getattr(file, name) for name, key in _FILE_KEYS.items()} for file in changes.files
    ]
    counts = {"added": changes.added, "removed": changes.removed, "summary": changes.summary}
    return {"schemaVersion": SCHEMA_VERSION, **own, **counts, "files": files}


def changes_from_json(content: Any) -> Changes:
    """Return the changes; ValueError where they are not ours."""
    message = "not changes of this version"
    if not isinstance(content, dict) or content.get("schemaVersion") != SCHEMA_VERSION:
        raise ValueError(message)
    try:
        own = {name: _frozen(content[key]) for name, key in _KEYS.items()}
        files = tuple(
            ChangedFile(**{name: file[key] for name, key in _FILE_KEYS.items()})
            for file in content["files"]
        )
        return Changes(files=files, **own)
    except (KeyError, TypeError) as error:
        raise ValueError(message) from error


def _frozen(content: Any) -> Any:
    return tuple(content) if isinstance(content, list) else content


# What is to be looked at before changes are taken: it has power over agents or machines.
_AGENTS = (
    "AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md",
    ".mcp.json", "opencode.json", "opencode.jsonc", ".cursorrules", ".windsurfrules",
)  # fmt: skip
_POWER = (
    ".pi", ".claude", ".codex", ".gemini", ".qwen", ".opencode", ".cursor", ".agents", ".github",
    ".gitlab-ci.yml", ".circleci", ".buildkite", ".woodpecker", ".travis.yml", ".drone.yml",
    "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".gitmodules",
    ".gitattributes", ".vscode", ".envrc", ".husky", ".pre-commit-config.yaml", ".devcontainer",
)  # fmt: skip


def has_power(path: str) -> bool:
    """Return whether a file tells agents or machines what to do."""
    parts = path.split("/")
    return parts[-1] in (*_AGENTS, *_POWER) or any(part in _POWER for part in parts)


def leaves_tree(path: str, target: str) -> bool:
    """Return whether a link at that path leads out of the tree."""
    if target.startswith("/"):
        return True
    depth = path.count("/")
    for part in target.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return True
    return False


def links(changes: Changes) -> Iterator[ChangedFile]:
    """Yield the symbolic links among the files that are there in the end."""
    yield from (file for file in changes.files if file.new_mode == LINK_MODE)
