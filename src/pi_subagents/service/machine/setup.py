"""
Set up what children run: install it, remove it, try it out, or serve the offline model alone.

In: the caller's directory and environment, and a callback for progress.  Out: what is in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.engines.table import DEFAULT, load_engine
from pi_subagents.errors import PortUnavailable
from pi_subagents.system.home import data_dir, with_agent_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pi_subagents.core.engine_values import Report, SetupOutcome
    from pi_subagents.core.offline.script import Script

DEMO_NAME = "demo-agent"


def install_children(
    cwd: Path, env: Mapping[str, str], report: Report, *, force: bool
) -> SetupOutcome:
    """Install what children run, or repair it; SetupError where that fails."""
    return load_engine(DEFAULT).install(cwd, env, report, force=force)


def remove_children(env: Mapping[str, str], report: Report) -> SetupOutcome:
    """Remove what set-up installed."""
    return load_engine(DEFAULT).uninstall(env, report)


def children_program(cwd: Path, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command that children run, for a person; SetupError where there is none."""
    return load_engine(DEFAULT).program(cwd, env)


def prepare_demo(cwd: Path, env: Mapping[str, str], report: Report) -> dict[str, str]:
    """Return an environment with nothing of the user's; install what children run if needed."""
    private = with_agent_dir(env, data_dir(env) / DEMO_NAME)
    engine = load_engine(DEFAULT)
    if not engine.is_installed(cwd, private):
        engine.install(cwd, private, report)
    return private


def serve_offline_model(
    ready: Callable[[str, str], None], *, port: int, script: Script | None
) -> None:
    """Serve until interrupted; `ready` gets the base address and the model's name."""
    from pi_subagents.engines.offline.provider import MODEL
    from pi_subagents.engines.offline.serve import serve_forever

    try:
        serve_forever(lambda url: ready(url, MODEL), port=port, script=script)
    except OSError as error:
        raise PortUnavailable(port, str(error)) from error
