"""
Which tools, providers and models a profile names that this pi does not have, and what was meant.

In: a Profile, what this pi has, and its models where they are known.  Out: warnings for what looks
mistyped, notes for what an extension or a key may yet provide; nothing here refuses a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.nearest import nearest
from pi_subagents.engines.base import NOTE, UNKNOWN, Finding
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.models.names import closest_models, split_thinking
from pi_subagents.engines.pi.profile.options import (
    named_tools,
    tool_name_problem,
    unknown_tools,
)
from pi_subagents.engines.pi.profile.providers import KNOWN_PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pi_subagents.core.engine_values import Model
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.engines.pi.versions import PiTraits

_PATTERN = frozenset("*?[")


def unknown_names(
    profile: Profile, traits: PiTraits, models: Sequence[Model] = ()
) -> Iterator[Finding]:
    """Yield what is not there; without models, providers and models are not looked at."""
    yield from _tools(profile, traits)
    if models:
        yield from _model(profile, traits, models)


def _tools(profile: Profile, traits: PiTraits) -> Iterator[Finding]:
    field = "excludeTools" if profile.tools is None else "tools"
    others = [each for each in traits.tools if each not in named_tools(profile)]
    for name in unknown_tools(profile, None, traits):
        if tool_name_problem(name, traits):
            continue  # it is refused
        if meant := nearest(name, others):
            yield Finding(field, messages.tool_mistyped(name, meant), UNKNOWN)
        else:
            yield Finding(field, messages.tool_of_an_extension(name), NOTE)


def _model(profile: Profile, traits: PiTraits, models: Sequence[Model]) -> Iterator[Finding]:
    wanted, _ = split_thinking(profile.model)
    prefix, slash, rest = wanted.partition("/")
    here = {model.provider.lower(): model.provider for model in models}
    named = profile.provider
    if not named and slash and any(prefix.lower() == each for each in (*here, *KNOWN_PROVIDERS)):
        named, wanted = prefix, rest
    if named and named.lower() not in (*here, *KNOWN_PROVIDERS, *traits.renamed_providers):
        field = "provider" if profile.provider else "model"
        meant = nearest(named, (*here.values(), *KNOWN_PROVIDERS))
        yield Finding(field, messages.provider_unknown(named, meant), UNKNOWN)
        return
    today = traits.renamed_providers.get(named.lower(), named).lower()
    offered = [
        model for model in models if not named or model.provider.lower() in (named.lower(), today)
    ]
    if named and not offered:
        if not profile.api_key:  # which it brings itself
            yield Finding("model", messages.no_models_of(named), NOTE)
    elif wanted and not any(_fits(wanted, model) for model in offered):
        meant = next(iter(closest_models(profile.model, models)), "")
        yield Finding("model", messages.model_unknown(profile.model, meant), UNKNOWN)


def _fits(wanted: str, model: Model) -> bool:
    """Return whether pi could take the name, or a part or pattern of one, for this model."""
    if _PATTERN & set(wanted):
        return True
    sought = wanted.lower()
    return sought in model.reference.lower() or sought in model.name.lower()
