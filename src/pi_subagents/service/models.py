"""
Which model a task gets, where it says so itself, and whether there is any at all.

In: tasks and their profiles.  Out: a profile with what its task says over it; RequestError for a
model that children do not have, SetupError where none is configured, before anything starts.  What
children have may have to be asked of their program: callers on an event loop do so in a thread.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.value import replace
from pi_subagents.engines.base import ModelWish
from pi_subagents.errors import ModelNotAvailable, ModelsUnknown, NoModelConfigured

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pi_subagents.core.task.request import Task
    from pi_subagents.engines.base import EngineCall
    from pi_subagents.service.call import CallContext
    from pi_subagents.service.delegation import Preparation


def with_choices(
    profile: Profile, task: Task, find_model: Callable[[Profile, Task], str]
) -> Profile:
    """Return the profile with what its task says over it."""
    if task.model is not None:
        profile = replace(profile, model=find_model(profile, task), provider="")
    if task.thinking is not None:
        profile = replace(profile, thinking_level=task.thinking)
    if task.questions is not None:
        profile = replace(profile, questions=task.questions)
    if task.tools is not None:
        profile = replace(profile, tools=tuple(task.tools), exclude_tools=None, no_tools=False)
    return profile


def find_model(context: CallContext, engine: EngineCall, profile: Profile, task: Task) -> str:
    """Return the whole name of a task's model; of a profile's own providers nothing is known."""
    wanted = (task.model or "").strip()
    if profile.provider and "/" not in wanted:
        wanted = f"{profile.provider}/{wanted}"
    if context.options.get("offline", False) or _brings_its_own(profile):
        return wanted
    place = Path(task.cwd) if task.cwd else context.cwd
    try:
        return engine.choose_model(ModelWish(wanted, "", "", "", place))[1]
    except ModelsUnknown:
        return wanted
    except ModelNotAvailable as refusal:
        if refusal.count == 0:
            raise NoModelConfigured from refusal
        raise


def refuse_without_model(
    context: CallContext, tasks: Sequence[Task], preparations: Sequence[Preparation]
) -> None:
    """Refuse a call whose children would have no model at all, if that is certain."""
    asked = set()
    for task, needs in zip(tasks, preparations, strict=True):
        # What a directory of its own brings along shows when its child starts.
        if task.cwd or needs.refusal or _brings_its_own(needs.profile or Profile("")):
            continue
        engine = context.open_engine(needs.engine)
        if engine.name not in asked and engine.has_no_model():
            raise NoModelConfigured
        asked.add(engine.name)  # the same for all others of it


def _brings_its_own(profile: Profile) -> bool:
    """Return whether a profile may add models to those of the configuration."""
    return bool(profile.api_key or profile.extensions or profile.extra_args)
