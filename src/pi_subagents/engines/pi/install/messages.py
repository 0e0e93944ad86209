"""What `engines/pi/install` says to people."""

from __future__ import annotations

# What is said of an installation of pi: on the way, and the reasons of InstallFailed.


ANOTHER_WAY = "did not work, taking the published package by itself"
PACKAGE_NAMES_NOTHING = "its package.json does not say what it depends on"
PI_LOADED_NO_EXTENSION = "it started, but did not load an extension"


def pi_is_another(version: str) -> str:
    """Return that pi works, but is of another version than asked for."""
    return f"it started, but is pi {version}"
