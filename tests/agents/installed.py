"""Programs from npm for tests: whoever needs one that cannot be had is skipped, and says why."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from scripts import npm_packages

if TYPE_CHECKING:
    from pathlib import Path

# Nothing that agents ask of the world beside their model leaves the machine: it ends here, at once.
NO_NETWORK = {
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1,localhost",
}


def program(name: str) -> str:
    """Return a program of `npm_packages`, installed if it is not there yet."""
    try:
        return str(npm_packages.program(name))
    except npm_packages.NotInstalledError as error:
        pytest.skip(str(error))


def node() -> str:
    """Return the Node that they run on."""
    try:
        return str(npm_packages.node().node)
    except npm_packages.NotInstalledError as error:
        pytest.skip(str(error))


def private_environment(home: Path) -> dict[str, str]:
    """Return what a program in a home of its own starts with, and nothing of ours beside it."""
    path = os.pathsep.join([os.path.dirname(node()), os.environ.get("PATH", os.defpath)])
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / "data"),
        "PATH": path,
        **NO_NETWORK,
    }
