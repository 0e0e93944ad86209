"""
Resolve what tasks name before anything starts: profiles, and what their skills bring along.

In: a request, the profiles of the caller's directory, whether the project is trusted, the engines.
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
from pi_subagents.engines.table import DEFAULT
from pi_subagents.errors import ProfileRefused
from pi_subagents.service import messages
from pi_subagents.service.answer_schemas import with_schema
from pi_subagents.service.call import history_of
from pi_subagents.service.definitions.choice import choose_for
from pi_subagents.service.delegation import Preparation
from pi_subagents.service.engines.checking import unsupported
from pi_subagents.service.engines.choosing import (
    choose_engine,
    without_engine,
    without_other_models,
)
from pi_subagents.service.models import find_model, with_choices
from pi_subagents.service.sessions import session_to_fork, sessions_to_resume

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.config.profile_files import Profiles
    from pi_subagents.core.profile.profile import LoadedProfile
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.task.request import DelegateRequest, Task
    from pi_subagents.engines.base import EngineCall
    from pi_subagents.service.call import CallContext

# What only a trusted project may decide, beside the engine: code, options, commands and keys.
_NEEDS_TRUST = ("extensions", "extraArgs", "apiKey", "check")


def prepare(request: DelegateRequest, context: CallContext) -> tuple[Preparation, ...]:
    """Resolve profiles, skills and sessions: whatever of them can refuse the whole call."""
    history = history_of(context.options)
    sessions = [task.resume for task in request.tasks if task.resume and not task.fork]
    earlier = sessions_to_resume(context.runs, sessions, history)
    forked = {task.resume for task in request.tasks if task.resume and task.fork}
    forks = {name: session_to_fork(context.runs, name, history) for name in forked}

    def engine_for(task: Task, profile: Profile | None) -> str:
        past = (forks if task.fork else earlier)[task.resume] if task.resume else ()
        return choose_engine(context, task.engine, profile, past)

    if any(request.profile_of(task) or task.chooses for task in request.tasks):
        preparations = prepare_profiles(
            request,
            load_profiles(context.cwd, context.env),
            context.open_engine,
            trusted=context.trusted(context.cwd),
            choose=partial(choose_for, context, PROFILE),
            find_model=partial(find_model, context),
            choose_engine=engine_for,
        )
    else:
        preparations = tuple(Preparation(engine=engine_for(task, None)) for task in request.tasks)
    resuming = (
        _resuming(needs, (forks if task.fork else earlier)[task.resume]) if task.resume else needs
        for task, needs in zip(request.tasks, preparations, strict=True)
    )
    return tuple(map(with_schema, resuming, (task.output_schema for task in request.tasks)))


def _resuming(needs: Preparation, earlier: tuple[RunRecord, ...]) -> Preparation:
    """Let a task continue a session; note that it had another profile or preset, or none."""
    was, now = earlier[-1].meta, needs.profile.name if needs.profile else ""
    notes = needs.notes
    if not needs.refusal and was.preset:
        notes += (messages.note_preset_left(was.preset, now),)
    elif not needs.refusal and was.profile != now:
        other = messages.note_other_profile(was.profile, now)
        notes += (other if now else messages.note_profile_left(was.profile),)
    return replace(needs, earlier=earlier, notes=notes)


def prepare_profiles(
    request: DelegateRequest,
    profiles: Profiles,
    engine_of: Callable[[str], EngineCall],
    *,
    trusted: bool,
    choose: Callable[[Profiles, str], Choice[LoadedProfile]] = lambda found, name: Choice(
        found.get(name)
    ),
    find_model: Callable[[EngineCall, Profile, Task], str] = lambda _engine, _, task: (
        task.model or ""
    ),
    choose_engine: Callable[[Task, Profile | None], str] = lambda task, profile: (
        task.engine or (profile.engine if profile else "") or DEFAULT
    ),
) -> tuple[Preparation, ...]:
    """Resolve the profile of every task; RequestError where the whole call must be refused."""

    @cache
    def named(name: str) -> Preparation:
        chosen = choose(profiles, name)
        if chosen.refusal:
            return Preparation(refusal=chosen.refusal)
        loaded = chosen.loaded
        if loaded is None:
            broken = tuple(str(each) for each in profiles.problems if each.fatal)
            available = tuple(profiles.by_name)
            refusal = messages.unknown_profile(name, available)
            return Preparation(refusal=refusal, notes=broken)
        own = profiles.get_overridden(name)
        profile, notes = _permitted(loaded, own, trusted=trusted)
        if chosen.note:
            notes = (chosen.note, *notes)
        return Preparation(profile, notes=notes)

    @cache
    def prepared(profile: Profile, notes: tuple[str, ...], name: str) -> Preparation:
        engine = engine_of(name)
        refuse_unsupported(profile, engine)
        ready = engine.prepare_profile(profile, notes, trusted=trusted)
        return Preparation(
            ready.profile,
            skill_paths=ready.skill_paths,
            refusal=ready.refusal,
            notes=ready.notes,
            engine=name,
        )

    def needs_of(task: Task) -> Preparation:
        name = request.profile_of(task)
        needs = named(name) if name else Preparation()
        if needs.refusal:
            return needs
        profile, notes = needs.profile, needs.notes
        engine = choose_engine(task, profile)
        if profile is not None:
            profile, left_out = without_other_models(profile, engine)
            notes += left_out
        if task.chooses:
            find = partial(find_model, engine_of(engine))
            profile = with_choices(profile or Profile(""), task, find)
        return prepared(profile, notes, engine) if profile else replace(needs, engine=engine)

    return tuple(map(needs_of, request.tasks))


def refuse_unsupported(profile: Profile, engine: EngineCall) -> None:
    """Refuse a profile that asks for what children of this engine cannot honour, by name."""
    for _, why in unsupported(profile, engine):
        raise ProfileRefused(why)


def _permitted(
    loaded: LoadedProfile, own: LoadedProfile | None, *, trusted: bool
) -> tuple[Profile, tuple[str, ...]]:
    """
    Return the profile without what its origin may not decide, and the note about that.

    Where it stands in for one of the user's own, what that forbids stays forbidden.
    """
    profile = loaded.profile
    if loaded.scope != PROJECT or trusted:
        return profile, ()
    if own is not None:
        permissions = profile.permissions.tightened_by(own.profile.permissions)
        stricter = {"confine": True} if own.profile.confine else {}
        profile = replace(profile, permissions=permissions, **stricter)
    left_out = tuple(name for name in _NEEDS_TRUST if getattr(profile, FIELDS[name]))
    profile = replace(profile, extensions=(), extra_args=(), api_key="", check="")
    profile, chosen = without_engine(profile)
    left_out += chosen
    if not left_out:
        return profile, ()
    return profile, (messages.note_untrusted(PROFILE, profile.name, left_out),)
