"""
What a wizard can offer in the working directory: models, tools, skills.

In: nothing but the directory and the environment.  Out: names, looked for when they are first
needed.  Where pi has no models, or cannot list them, that is said once, and none are offered.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.profile.steps import Offers
from pi_subagents.errors import SubagentsError
from pi_subagents.faces.profile_wizard import messages

if TYPE_CHECKING:
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.faces.cli.console import Console


def offers_here(console: Console) -> Offers:
    """Return what exists here."""
    place = console.place(Path.cwd())

    @cache
    def models() -> tuple[str, ...]:
        if console.models is not None:
            return console.models
        console.progress(messages.ASKING_PI_FOR_MODELS, dim=True)
        try:
            found = tuple(model.reference for model in place.models().models)
            why = "" if found else core_messages.NOTE_NO_MODEL
        except SubagentsError as error:
            found, why = (), str(error)
        if why:
            console.notice(messages.models_not_offered(why))
        return found

    def problem(profile: Profile, field: str) -> str:
        # Lines that come through a pipe were written without a second question in mind.
        asks = console.ask is not None or sys.stdin.isatty()
        return place.unknown_name(profile, field, models()) if asks else ""

    return Offers(models, place.tools(), cache(place.skills), problem)
