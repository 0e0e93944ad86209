"""What the tools ask of their caller's options, with what stands in for each that is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.service.call import place_of
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from pi_subagents.service.call import Options
    from pi_subagents.service.known_runs import KnownRuns


def runs_of(options: Options) -> Runs:
    """Return the runs that the caller can see."""
    return Runs(*place_of(options))


def known_runs_of(options: Options) -> KnownRuns:
    """Return the background runs of the caller: its own, or all."""
    from pi_subagents.service.tools.every_run import EveryRun

    return options.get("known_runs") or EveryRun(runs_of(options))


def switch_of(options: Options) -> StopSwitch:
    """Return what ends a wait."""
    return options.get("stop") or StopSwitch()


def max_lines(options: Options) -> int:
    """Return how many lines the caller's windows have."""
    return load_settings(*place_of(options))[0].max_lines_per_window
