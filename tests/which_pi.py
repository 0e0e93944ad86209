"""Which pi the tests run on: the one they are told, else the pinned one, else any."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pi_subagents.engines.pi.command import resolve_pi_command
from pi_subagents.engines.pi.install.managed import installed_pi
from pi_subagents.engines.pi.versions import PINNED_PI_VERSION
from pi_subagents.errors import SetupError
from pi_subagents.system.home import data_dir
from pi_subagents.system.programs import is_runnable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Of the test suite alone: what people set for their own work, or have on PATH, may be any version.
PI_UNDER_TEST = "PI_UNDER_TEST"


def pi_for_tests(env: Mapping[str, str], cwd: Path) -> str:
    """Return a command line; nothing where there is no pi at all."""
    if heard := env.get(PI_UNDER_TEST):
        return heard
    managed = installed_pi(data_dir(env))
    if managed and managed.version == PINNED_PI_VERSION and is_runnable(managed.node):
        return shlex.join(managed.argv)
    try:
        return shlex.join(resolve_pi_command(env, cwd, None).argv)
    except SetupError:
        return ""
