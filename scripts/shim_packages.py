#!/usr/bin/env python3
"""
Install what `make check-shim` needs: the types of pi, and the tools that check against them.

    python -m scripts.shim_packages DIRECTORY      which holds the package.json to install

Not every registry has all of pi's own packages in its own version.  Of each the newest one up to it
is taken; one that cannot be had at all is replaced by an empty one, whose types are then unknown.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_subagents.engines.pi.versions import version_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCOPE = "@earendil-works/"
STUBS = "stubs"
INSTALL = (
    "install",
    "--loglevel=error",
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
)
# What the registry knows of a package: `npm view NAME FIELD`, None for nothing.
View = Callable[[str, str], Any]


def main(arguments: Sequence[str]) -> int:
    """Install; return the exit code."""
    directory = Path(arguments[0])
    path = directory / "package.json"
    manifest = json.loads(path.read_bytes())
    found = available(manifest["devDependencies"], view)
    for name, version in found.items():
        if version is None:
            sys.stderr.write(f"{name}: not in the registry, its types are unknown\n")
            write_stub(directory / STUBS, name)
    path.write_text(json.dumps(with_overrides(manifest, found), indent=2))
    return subprocess.run(["npm", *INSTALL], cwd=directory, check=False).returncode


def available(wanted: Mapping[str, str], look: View) -> dict[str, str | None]:
    """Return, for each of pi's own packages that is needed, the version to take, if any."""
    found: dict[str, str | None] = {}
    waiting = [(name, asked) for name, asked in wanted.items() if name.startswith(SCOPE)]
    while waiting:
        name, asked = waiting.pop()
        if name in found:
            continue
        found[name] = newest(_listed(look(name, "versions")), asked.lstrip("^~"))
        if found[name] is not None:
            needed = look(f"{name}@{found[name]}", "dependencies") or {}
            waiting += [(each, ask) for each, ask in needed.items() if each.startswith(SCOPE)]
    return found


def newest(versions: Sequence[str], limit: str) -> str | None:
    """Return the newest released version up to a limit; a range like `*` is none."""
    last = version_numbers(limit)
    released = [each for each in versions if "-" not in each]
    fitting = [each for each in released if not any(last) or version_numbers(each) <= last]
    return max(fitting, key=version_numbers, default=None)


def with_overrides(manifest: Mapping[str, Any], found: Mapping[str, str | None]) -> dict[str, Any]:
    """Return a package.json by which exactly the versions that were found are installed."""
    asked = {name: version or f"file:./{STUBS}/{_plain(name)}" for name, version in found.items()}
    return {
        **manifest,
        "devDependencies": {**manifest["devDependencies"], **asked},
        "overrides": {name: f"${name}" for name in asked},
    }


def write_stub(directory: Path, name: str) -> None:
    """Write an empty package."""
    stub = directory / _plain(name)
    stub.mkdir(parents=True, exist_ok=True)
    (stub / "package.json").write_text(json.dumps({"name": name, "version": "0.0.0"}))


def view(package: str, field: str) -> Any:
    """Ask the registry."""
    asked = ["npm", "view", package, field, "--json"]
    done = subprocess.run(asked, capture_output=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else None


def _listed(versions: Any) -> list[str]:
    """Return the versions as a list; npm tells a single one as a string."""
    return [versions] if isinstance(versions, str) else versions or []


def _plain(name: str) -> str:
    return name.removeprefix(SCOPE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
