"""
Names under which pi knows the offline model, and the extension that teaches it to pi.

The same names stand in provider.mjs; a test compares the two.  Starts nothing.
"""

from __future__ import annotations

from pathlib import Path

PROVIDER = "subagents-offline"
MODEL = "offline"
URL_VARIABLE = "PI_SUBAGENTS_OFFLINE_URL"


def extension_path() -> Path:
    """Return the file to give to `pi -e`."""
    return Path(__file__).with_name("provider.mjs")


def pi_arguments() -> tuple[str, ...]:
    """Return the arguments that make pi talk to the server named by URL_VARIABLE."""
    return ("-e", str(extension_path()), "--provider", PROVIDER, "--model", MODEL)
