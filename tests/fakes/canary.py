"""
Secrets that sing: planted in a profile and in the caller's environment, they may be found nowhere.

In: the agent directory of a test's home.  Out: what to add to the environment; afterwards, every
file and text that repeats one of them.  Only the child's environment, and the file it was planted
in, may hold it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PROFILE = "keyed"
IN_PROFILE = "sk-canary-of-a-profile-8c1f20d7"
IN_ENVIRONMENT = "sk-canary-of-the-caller-5be94a13"
CANARIES = (IN_PROFILE, IN_ENVIRONMENT)


def plant(agent_dir: Path) -> dict[str, str]:
    """Write the profile, and return the variables of a caller who has a key too."""
    path = agent_dir / "agent-profiles" / f"{PROFILE}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"---\nname: {PROFILE}\nprovider: anthropic\nmodel: any\napiKey: {IN_PROFILE}\n---\n"
    )
    path.chmod(0o600)
    return {"SOME_SERVICE_TOKEN": IN_ENVIRONMENT}


def hunt(roots: Iterable[Path]) -> list[str]:
    """Name every file below these directories that repeats a secret."""
    return [
        f"{path} holds a secret"
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.name != f"{PROFILE}.md"
        if any(canary.encode() in _content(path) for canary in CANARIES)
    ]


def _content(path: Path) -> bytes:
    """Return what a file holds; one that has just gone, with the last of its run, holds nothing."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def heard(*texts: str) -> list[str]:
    """Return the secrets that these texts repeat."""
    return [canary for canary in CANARIES for text in texts if canary in text]
