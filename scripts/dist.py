#!/usr/bin/env python3
"""
Build the wheel and the sdist, and try the wheel as a newcomer would: nothing else is there.

    make dist                                 into dist/
    make dist DIST="--into DIR --sample"      with the packages and the pi of this environment

The wheel is built from the sdist, installed into a new environment, and its demo is run with an
empty home directory, which installs pi first; then once more by `uvx`, where uv is.  `--sample`
fetches nothing, and leaves uvx out.  Exit 1 if any step fails.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.engines.pi.install.managed import installed_pi
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
DEMO = ("subagents", "demo", "--plain")
# What would lead back to this machine's own pi, settings or data.
OURS = ("PI_", "XDG_", "PYTHON", "VIRTUAL_ENV")


def main(arguments: Sequence[str]) -> int:
    """Build, install, try; return the exit code."""
    parser = argparse.ArgumentParser(prog="dist", description=__doc__.split("\n\n")[0])
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="default: dist/")
    parser.add_argument("--sample", action="store_true", help="fetch nothing")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        try:
            wheel = built(asked.into.resolve())
            tried(wheel, Path(directory), sample=asked.sample)
        except subprocess.CalledProcessError as error:
            say(f"Error: exit code {error.returncode}: {' '.join(map(str, error.cmd))}")
            return 1
    return 0


def built(into: Path) -> Path:
    """Build both, the wheel from the sdist; return the wheel."""
    say(f"==> Building into {into}")
    for old in (*into.glob("*.whl"), *into.glob("*.tar.gz")):
        old.unlink()
    # Without isolation: hatchling is here already, in the version that constraints.txt names.
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", into, ROOT], {})
    (wheel,) = into.glob("*.whl")
    return wheel


def tried(wheel: Path, place: Path, *, sample: bool) -> None:
    """Install the wheel where nothing is, and run its demo there."""
    say("==> Installing the wheel into an empty environment")
    environment = place / "environment"
    venv.create(environment, with_pip=False)
    programs = environment / "bin"
    pip = [sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet"]
    run([*pip, *(["--no-index", "--no-deps"] if sample else []), wheel], {"PIP_CONSTRAINT": ""})
    if sample:
        packages = sysconfig.get_path("purelib", vars={"base": str(environment)})
        (Path(packages) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    project = place / "project"
    project.mkdir()
    shutil.copy(ROOT / "README.md", project)
    say("==> Its demo, with an empty home")
    pi = {"PI_SUBAGENTS_PI": pi_here()} if sample else {}
    run([programs / DEMO[0], *DEMO[1:]], {**newcomer(place / "home"), **pi}, project)
    if sample:
        return
    uvx = shutil.which("uvx")
    if uvx is None:
        say("==> Skipped, since uv is not installed: uvx --from WHEEL subagents demo")
        return
    say("==> The demo by uvx, with an empty home")
    uv = [uvx, "--python", sys.executable, "--from", wheel]
    run([*uv, *DEMO], newcomer(place / "home-of-uv"), project)


def pi_here() -> str:
    """Return the command of the pi that `subagents setup` has installed for this user."""
    pi = installed_pi(data_dir(os.environ))
    if pi is None:
        sys.exit("Error: no pi is set up here: `subagents setup`")
    return shlex.join(pi.argv)


def newcomer(home: Path) -> dict[str, str]:
    """Return the environment of somebody who has nothing of ours yet, and an empty home."""
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**kept, "HOME": str(home)}


def run(argv: Sequence[object], env: Mapping[str, str], cwd: Path = ROOT) -> None:
    """Run one step, and show what it says."""
    whole = env if "HOME" in env else {**os.environ, **env}
    subprocess.run([str(word) for word in argv], cwd=cwd, env=whole, check=True)


def say(text: str) -> None:
    """Write a line of progress."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
