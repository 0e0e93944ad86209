"""What every lane needs: the real pi found once, before any test moves HOME."""

import os
import shlex
from pathlib import Path

import pytest

from pi_subagents.engines.pi_command import VARIABLE, resolve_pi_command
from pi_subagents.errors import SetupError

# Needs a registry, and other people's programs: `make e2e-mcp`.
collect_ignore = ["e2e_mcp"]
NO_PI = "no pi on this machine: `make test` installs the pinned one"


def pytest_configure(config: pytest.Config) -> None:
    """Keep the found pi in the variable that all children, and all test workers, read."""
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
