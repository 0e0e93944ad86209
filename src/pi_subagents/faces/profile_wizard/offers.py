"""
What a wizard can offer in the working directory: models, tools, skills.

In: nothing but the directory and the environment.  Out: names, looked for when they are first
needed.  Where pi has no models, or cannot tell them, that is said once, and none are offered.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import messages, profile_messages
from pi_subagents.core.profile_steps import Offers
from pi_subagents.errors import SubagentsError

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console


def offers_here(console: Console) -> Offers:
    """Return what exists here."""

    @cache
    def models() -> tuple[str, ...]:
        from pi_subagents.faces.cli.models import models_here

        if console.models is not None:
            return console.models
        console.progress(profile_messages.ASKING_PI_FOR_MODELS, dim=True)
        try:
            found = tuple(model.reference for model in models_here().models)
            why = "" if found else messages.NOTE_NO_MODEL
        except SubagentsError as error:
            found, why = (), str(error)
        if why:
            console.notice(profile_messages.models_not_offered(why))
        return found

    from pi_subagents.engines.pi_command import traits_here

    return Offers(models, traits_here(os.environ, Path.cwd()).tools, cache(_skills))


def _skills() -> tuple[str, ...]:
    from pi_subagents.disk.project_trust import is_trusted
    from pi_subagents.disk.skill_files import discover_skills

    cwd, env = Path.cwd(), os.environ
    return tuple(discover_skills(cwd, env, trusted=is_trusted(cwd, env)).by_name)
