"""
What a task needs beyond its own words, resolved before anything starts.

A value that `profiles` and the session store fill and `plan` reads; empty, a task needs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from pi_subagents.core.preset.preset import Preset
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.core.run.record import RunRecord


@value
class PresetUse:
    """Which preset a run works with, from where, and with which model."""

    preset: Preset
    source: str  # global or project
    requested_model: str | None
    resolved_model: str | None


@value
class Preparation:
    """What a task needs beyond its own words."""

    profile: Profile | None = None
    skill_paths: tuple[str, ...] = ()
    refusal: str = ""
    notes: tuple[str, ...] = ()
    earlier: tuple[RunRecord, ...] = ()  # the runs of the session it goes on with
    preset: PresetUse | None = None  # then `profile` is what the preset comes to
    detached: bool = False  # a background run: nobody's end is its end
