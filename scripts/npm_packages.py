#!/usr/bin/env python3
"""
Programs of other people, from npm, that tests and measurements use: which versions, and where.

    python -m scripts.npm_packages                  install all of them
    python -m scripts.npm_packages opencode codex   these

Each is installed once, below .cache/npm-packages, without running a script of its package, and
stays there.  Whoever cannot have one gets NotInstalledError with the reason: no Node, no npm, no
registry, no such version.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.engines.pi.install.node import NodeRuntime, find_node
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from collections.abc import Sequence

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "npm-packages"
INSTALL_LIMIT_S = 600
OPTIONS = (
    "--no-audit",
    "--no-fund",
    "--no-progress",
    "--no-package-lock",
    "--ignore-scripts",
    "--loglevel=error",
)
WITHOUT_PEERS = ("--legacy-peer-deps",)


@dataclass(frozen=True)
class NpmPackage:
    """What is installed, and which program of it is started: a pattern below node_modules."""

    package: str
    version: str
    program: str
    peers: bool = True


# The one place where their versions stand.
PACKAGES = {
    # MCP hosts and ACP agents
    "opencode": NpmPackage("opencode-ai", "1.18.33", "opencode-*/bin/opencode"),
    "qwen-code": NpmPackage("@qwen-code/qwen-code", "0.24.4", ".bin/qwen"),
    # MCP hosts; a platform's own package holds the program that an install script would copy
    "claude-code": NpmPackage(
        "@anthropic-ai/claude-code", "2.1.327", "@anthropic-ai/claude-code-*/claude"
    ),
    "codex": NpmPackage("@openai/codex", "0.169.0", ".bin/codex"),
    # ACP agents
    "codex-acp": NpmPackage("@agentclientprotocol/codex-acp", "2.6.0", ".bin/codex-acp"),
    "pi-acp": NpmPackage("pi-acp", "0.0.34", ".bin/pi-acp"),
    "claude-agent-acp": NpmPackage(
        "@agentclientprotocol/claude-agent-acp", "0.99.1", ".bin/claude-agent-acp"
    ),
    "gemini": NpmPackage("@google/gemini-cli", "0.61.0", ".bin/gemini"),
    # MCP clients
    "inspector": NpmPackage("@modelcontextprotocol/inspector", "2.12.0", ".bin/mcp-inspector"),
    # The extension of pi that ours is measured against; pi gives it what it wants beside it
    "reference": NpmPackage(
        "@harms-haus/pi-subagents", "0.1.0", "@harms-haus/pi-subagents/src/index.ts", peers=False
    ),
    "conformance": NpmPackage("@modelcontextprotocol/conformance", "0.1.16", ".bin/conformance"),
    # what looks for faults of a page that keep people out; a script, and no program
    "axe": NpmPackage("axe-core", "4.14.1", "axe-core/axe.min.js"),
}


class NotInstalledError(Exception):
    """A package that cannot be had here, and why."""


def main(arguments: Sequence[str]) -> int:
    """Install; return the exit code."""
    parser = argparse.ArgumentParser(prog="npm_packages", description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PACKAGES)}; default: all")
    names = parser.parse_args(arguments).names or list(PACKAGES)
    unknown = [name for name in names if name not in PACKAGES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(PACKAGES)}")
    failed = False
    for name in names:
        try:
            sys.stdout.write(f"{name}: {program(name)}\n")
        except NotInstalledError as error:
            sys.stderr.write(f"{error}\n")
            failed = True
    return int(failed)


def program(name: str) -> Path:
    """Return the program of a package, installed if it is not there yet."""
    wanted = PACKAGES[name]
    modules = _installed(name, wanted)
    found = sorted(modules.glob(wanted.program))
    if not found:
        raise NotInstalledError(f"{wanted.package}@{wanted.version} has no program for this system")
    return found[0]


def node() -> NodeRuntime:
    """Return the Node that all of them run on."""
    found = find_node(os.environ, Path.cwd(), data_dir(os.environ))
    if found is None:
        raise NotInstalledError("no Node here: `subagents setup` fetches one")
    return found


def node_path() -> str:
    """Return a PATH on which that Node comes first."""
    return os.pathsep.join([str(node().node.parent), os.environ.get("PATH", os.defpath)])


def _installed(name: str, wanted: NpmPackage) -> Path:
    """Return the `node_modules` with a package."""
    target = CACHE / f"{name}-{wanted.version}"
    modules = target / "node_modules"
    CACHE.mkdir(parents=True, exist_ok=True)
    # Test processes that want the same one wait for whoever came first.
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not modules.is_dir():
            staging = CACHE / f"{name}.new"
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir()
            try:
                _install(wanted, staging)
                staging.rename(target)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    return modules


def _install(wanted: NpmPackage, directory: Path) -> None:
    label = f"{wanted.package}@{wanted.version}"
    (directory / "package.json").write_text('{"private": true}')
    try:
        done = subprocess.run(
            [*node().npm, "install", *OPTIONS, *(() if wanted.peers else WITHOUT_PEERS), label],
            cwd=directory,
            env={**os.environ, "PATH": node_path()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalledError(f"npm cannot install {label}: {error}") from error
    if done.returncode:
        reason = " ".join(done.stderr.split())[:300]
        raise NotInstalledError(f"npm cannot install {label}: {reason}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
