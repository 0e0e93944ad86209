"""
Resolve what tasks name before anything starts: profiles, and what their skills bring along.

In: a request, the profiles of the caller's directory, whether the project is trusted, the engine.
Out: one Preparation per task.  What contradicts itself refuses the whole call; an unknown profile,
or a skill that is unknown or cannot be read, is its task's refusal alone.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from pi_subagents.config.profile_files import load_profiles
from pi_subagents.core.definitions.definition import PROJECT
from pi_subagents.core.definitions.found import PROFILE, Choice
from pi_subagents.core.profile.profile import FIELDS, Profile
from pi_subagents.core.value import replace
from pi_subagents.errors import ProfileRefused
from pi_subagents.service import messages
from pi_subagents.service.call import history_of
from pi_subagents.service.definitions.choice import choose_for
from pi_subagents.service.delegation import Preparation
from pi_subagents.service.sessions import sessions_to_resume

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.config.profile_files import Profiles
    from pi_subagents.core.profile.profile import LoadedProfile
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.task.request import DelegateRequest
    from pi_subagents.engines.base import EngineCall
    from pi_subagents.service.call import CallContext

# What only a trusted project may decide: code, options and keys.
_NEEDS_TRUST = ("extensions", "extraArgs", "apiKey")


def prepare(request: DelegateRequest, context: CallContext) -> tuple[Preparation, ...]:
    """Resolve profiles, skills and sessions: whatever of them can refuse the whole call."""
    sessions = [task.resume for task in request.tasks if task.resume]
    earlier = sessions_to_resume(context.runs, sessions, history_of(context.options))
    preparations: tuple[Preparation, ...] = (Preparation(),) * len(request.tasks)
    if any(map(request.profile_of, request.tasks)):
        preparations = prepare_profiles(
            request,
            load_profiles(context.cwd, context.env),
            context.engine,
            trusted=context.trusted(context.cwd),
            choose=partial(choose_for, context, PROFILE),
        )
    return tuple(
        _resuming(needs, earlier[task.resume]) if task.resume else needs
        for task, needs in zip(request.tasks, preparations, strict=True)
    )


def _resuming(needs: Preparation, earlier: tuple[RunRecord, ...]) -> Preparation:
    """Let a task continue a session; note a profile that is left behind."""
    was = earlier[-1].meta.profile
    dropped = was and needs.profile is None and not needs.refusal
    notes = (*needs.notes, messages.note_profile_left(was)) if dropped else needs.notes
    return replace(needs, earlier=earlier, notes=notes)


def prepare_profiles(
    request: DelegateRequest,
    profiles: Profiles,
    engine: EngineCall,
    *,
    trusted: bool,
    choose: Callable[[Profiles, str], Choice[LoadedProfile]] = lambda found, name: Choice(
        found.get(name)
    ),
) -> tuple[Preparation, ...]:
    """Resolve the profile of every task; RequestError where the whole call must be refused."""

    @cache
    def resolved(name: str) -> Preparation:
        chosen = choose(profiles, name)
        if chosen.refusal:
            return Preparation(refusal=chosen.refusal)
        loaded = chosen.loaded
        if loaded is None:
            broken = tuple(str(each) for each in profiles.problems if each.fatal)
            available = tuple(profiles.by_name)
            refusal = messages.unknown_profile(name, available)
            return Preparation(refusal=refusal, notes=broken)
        profile, notes = _permitted(loaded, trusted=trusted)
        if chosen.note:
            notes = (chosen.note, *notes)
        refuse_unsupported(profile, engine)
        prepared = engine.prepare_profile(profile, notes, trusted=trusted)
        return Preparation(
            prepared.profile,
            skill_paths=prepared.skill_paths,
            refusal=prepared.refusal,
            notes=prepared.notes,
        )

    names = [request.profile_of(task) for task in request.tasks]
    return tuple(resolved(name) if name else Preparation() for name in names)


def refuse_unsupported(profile: Profile, engine: EngineCall) -> None:
    """Refuse a profile that asks for what children of this engine cannot honour, by name."""
    unset = Profile("")
    for spelled, field in FIELDS.items():
        is_set = field != "name" and getattr(profile, field) != getattr(unset, field)
        if is_set and field not in engine.capabilities.profile_fields:
            raise ProfileRefused(messages.field_not_honoured(profile.name, spelled, engine.name))


def _permitted(loaded: LoadedProfile, *, trusted: bool) -> tuple[Profile, tuple[str, ...]]:
    """Return the profile without what its origin may not decide, and the note about that."""
    profile = loaded.profile
    if loaded.scope != PROJECT or trusted:
        return profile, ()
    left_out = tuple(name for name in _NEEDS_TRUST if getattr(profile, FIELDS[name]))
    if not left_out:
        return profile, ()
    note = messages.note_untrusted_profile(profile.name, left_out)
    return replace(profile, extensions=(), extra_args=(), api_key=""), (note,)
