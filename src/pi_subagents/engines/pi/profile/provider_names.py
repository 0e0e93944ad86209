"""
The name of a provider in the pi that is used, where other versions call it otherwise.

In: a Profile and what this pi has.  Out: the name it gives and the one to use, and the profile with
that.  A provider that the user's own models.json defines keeps its name: the caller looks there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.value import replace

if TYPE_CHECKING:
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.engines.pi.versions import PiTraits


def renamed_provider(profile: Profile, traits: PiTraits) -> tuple[str, str] | None:
    """Return the provider's name in the profile and its name here, where they differ."""
    prefix, slash, _ = profile.model.partition("/")
    name = profile.provider or (prefix if slash else "")
    today = traits.renamed_providers.get(name.lower())  # pi does not mind case either
    return (name, today) if today else None


def with_provider(profile: Profile, name: str, today: str) -> Profile:
    """Return the profile with a provider's name replaced wherever it stands."""
    model = profile.model
    prefix, slash, rest = model.partition("/")
    if slash and prefix.lower() == name.lower():
        model = f"{today}/{rest}"
    return replace(profile, provider=today if profile.provider else "", model=model)
