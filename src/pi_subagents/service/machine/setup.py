"""
Set up what children run: install it, remove it, and a place to try it out.

In: the caller's directory and environment, and who is told how it goes.  Out: what is in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.engines.table import DEFAULT, load_engine
from pi_subagents.system.home import data_dir, with_agent_dir

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.core.setup import Report, SetupOutcome

DEMO_NAME = "demo-agent"


def install_children(
    cwd: Path, env: Mapping[str, str], report: Report, *, force: bool
) -> SetupOutcome:
    """Install what children run, or repair it; SetupError where that fails."""
    return load_engine(DEFAULT).install(cwd, env, report, force=force)


def remove_children(env: Mapping[str, str], report: Report) -> SetupOutcome:
    """Remove what set-up installed."""
    return load_engine(DEFAULT).uninstall(env, report)


def prepare_demo(cwd: Path, env: Mapping[str, str], report: Report) -> dict[str, str]:
    """
    Return an environment in which children can run with nothing of the user's configuration.

    What they run is installed first if there is none.
    """
    private = with_agent_dir(env, data_dir(env) / DEMO_NAME)
    engine = load_engine(DEFAULT)
    if not engine.is_installed(cwd, private):
        engine.install(cwd, private, report)
    return private
