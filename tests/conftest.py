"""What every lane needs: a Ctrl+C that counts, and the real pi, found before HOME is moved."""

import os
import shlex
import signal
from pathlib import Path

import pytest

from pi_subagents.engines.pi_command import VARIABLE, resolve_pi_command
from pi_subagents.errors import SetupError

# Needs a registry, and other people's programs: `make e2e-mcp`.
collect_ignore = ["e2e_mcp"]
NO_PI = "no pi on this machine: `make test` installs the pinned one"


def pytest_configure(config: pytest.Config) -> None:
    """
    Hear Ctrl+C, and keep the found pi in the variable that all children and test workers read.

    A shell starts what it runs in the background deaf to Ctrl+C, and every process a test starts
    would inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if VARIABLE not in os.environ:
        try:
            found = resolve_pi_command(os.environ, Path.cwd(), None)
        except SetupError:
            return
        os.environ[VARIABLE] = shlex.join(found.argv)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, by name and with the reason, what needs a pi that is not there."""
    if VARIABLE not in os.environ:
        for item in items:
            if item.get_closest_marker("pi"):
                item.add_marker(pytest.mark.skip(reason=NO_PI))
