"""
What a main model in a directory is told of us, by what the files there say.

In: a working directory, the environment, and whether its project is trusted.  Out: an Offer: the
tools of the family that the settings want, with the profiles and presets that a call could name.  A
file that cannot be read is left out, and of a definition of an untrusted project about which the
user is still to be asked only the name is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pi_subagents.config.definition_answers import DefinitionAnswers
from pi_subagents.config.preset_files import load_presets
from pi_subagents.config.profile_files import load_profiles
from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.definitions.definition import Loaded
from pi_subagents.core.definitions.project_choice import ASK, PRESET, PROFILE
from pi_subagents.core.preset.text import preset_line
from pi_subagents.core.profile.text import profile_line
from pi_subagents.service.definitions.choice import choose_definition
from pi_subagents.service.tools.offer import make_offer
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pi_subagents.core.definitions.found import Definitions
    from pi_subagents.service.tools.offer import Offer

L = TypeVar("L", bound=Loaded)


def offered_tools(cwd: Path, env: Mapping[str, str], *, trusted: bool) -> Offer:
    """Return what there is to offer now."""
    settings, _ = load_settings(cwd, env)
    answers = DefinitionAnswers(data_dir(env))

    def lines(kind: str, found: Definitions[L], line: Callable[[L], str]) -> dict[str, str]:
        policy = settings.project_definitions
        told: dict[str, str] = {}
        for name, loaded in found.by_name.items():
            choice = choose_definition(
                kind, found, name, policy=policy, trusted=trusted, answers=answers
            )
            if choice.loaded is not None:
                told[name] = line(choice.loaded)
            elif policy == ASK and answers.find(kind, loaded) is None:
                told[name] = ""
        return told

    profiles = lines(PROFILE, load_profiles(cwd, env), lambda loaded: profile_line(loaded.profile))
    presets = lines(PRESET, load_presets(cwd, env), lambda loaded: preset_line(loaded.preset))
    return make_offer(settings.tools, profiles, presets)
