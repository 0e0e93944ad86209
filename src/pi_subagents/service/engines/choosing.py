"""
Which engine the child of a task is of, and what of its profile is meant for another one.

A task's own word counts first, then the call's; a session goes on with the engine it has, unless
its task names another profile that chooses one; else the profile's or preset's counts, else what
the settings say.  What names a model is never carried from one engine to another: it counts where
the definition names the engine of the child, or where it names none and the child is of the usual
one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.profile.profile import FIELDS, Profile
from pi_subagents.core.value import replace
from pi_subagents.engines.opening import refuse_unknown_engine
from pi_subagents.engines.table import DEFAULT
from pi_subagents.service import messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.service.call import CallContext

# Another engine has models, providers and keys of its own.
OF_ONE_ENGINE = ("provider", "model", "apiKey")


def choose_engine(
    context: CallContext,
    of_task: str | None,
    profile: Profile | None = None,
    earlier: Sequence[RunRecord] = (),
) -> str:
    """Return the name of the engine; UnknownEngine for one that nobody knows."""
    chosen = of_task or context.options.get("engine") or ""
    was, own = earlier[-1].meta if earlier else None, profile.engine if profile else ""
    if was and not (own and profile and profile.name not in (was.profile, was.preset)):
        own = was.engine or DEFAULT  # the first runs of all had no engine but one
    chosen = chosen or own or context.engine
    refuse_unknown_engine(chosen, context.settings)
    return chosen


def without_engine(profile: Profile) -> tuple[Profile, tuple[str, ...]]:
    """Return a profile whose origin may not choose an engine, and what was left out for that."""
    if not profile.engine:
        return profile, ()
    models = () if profile.engine == DEFAULT else _models_of(profile)
    return _without(replace(profile, engine=""), models), ("engine", *models)


def without_other_models(profile: Profile, engine: str) -> tuple[Profile, tuple[str, ...]]:
    """Return the profile as this engine may have it, and the note on what was left out."""
    if engine == (profile.engine or DEFAULT):
        return profile, ()
    left_out = _models_of(profile)
    if not left_out:
        return profile, ()
    note = messages.note_other_engine(profile.name, left_out, profile.engine or DEFAULT, engine)
    return _without(profile, left_out), (note,)


def _models_of(profile: Profile) -> tuple[str, ...]:
    return tuple(name for name in OF_ONE_ENGINE if getattr(profile, FIELDS[name]))


def _without(profile: Profile, fields: Sequence[str]) -> Profile:
    unset = Profile("")
    return replace(profile, **{FIELDS[name]: getattr(unset, FIELDS[name]) for name in fields})
