"""
What a sub-agent would get from a profile: what is left out or refused, and how it is started.

In: a profile's name, and the place of the call.  Out: what a call there would make of it; nothing
is started and nothing written.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.config.definition_answers import DefinitionAnswers
from pi_subagents.config.profile_files import load_profiles
from pi_subagents.core.definitions.project_choice import PROFILE
from pi_subagents.core.run.files import APPEND_PROMPT, SYSTEM_PROMPT
from pi_subagents.core.task.request import Task, checked_request
from pi_subagents.engines.base import ChildRequest
from pi_subagents.errors import RequestError
from pi_subagents.service.definitions.choice import choose_definition
from pi_subagents.service.preparation import Preparation
from pi_subagents.service.profiles import prepare_profiles
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from pi_subagents.core.run.spec import ChildOrder
    from pi_subagents.service.looking import LookingPlace

RUN = "RUN"  # stands for the directory and the id of a run that does not exist yet


def prepare_named(name: str, place: LookingPlace) -> Preparation:
    """Return what a call would make of the profile, or why it would be refused."""
    trusted = place.is_trusted
    choose = partial(
        choose_definition,
        PROFILE,
        policy=place.settings.project_definitions,
        trusted=trusted,
        answers=DefinitionAnswers(data_dir(place.env)),
    )
    try:
        (prepared,) = prepare_profiles(
            checked_request([Task("show", "show")], name),
            load_profiles(place.cwd, place.env),
            place.preview(),
            trusted=trusted,
            choose=choose,
        )
    except RequestError as error:
        return Preparation(refusal=str(error))
    return prepared


def plan_named(prepared: Preparation, place: LookingPlace) -> ChildOrder | None:
    """Return how a run there would be started, unless it would be refused."""
    profile = prepared.profile
    if profile is None or prepared.refusal:
        return None
    request = ChildRequest(
        run_id=RUN,
        cwd=str(place.cwd),
        trusted=place.is_trusted,
        profile=profile,
        skill_paths=prepared.skill_paths,
        system_prompt_file=f"{RUN}/{SYSTEM_PROMPT}" if profile.system_prompt else None,
        append_prompt_file=f"{RUN}/{APPEND_PROMPT}" if profile.append_system_prompt else None,
        shareable=False,
    )
    return place.preview().plan_child(request).order
