"""
The name of a provider in the pi that is used, where other versions call it otherwise.

In: a Profile and what this pi has.  Out: the name it gives and the one to use, and the profile with
that.  A provider that the user's own models.json defines keeps its name: the caller looks there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.value import replace

if TYPE_CHECKING:
    from pi_subagents.core.pi_versions import PiTraits
    from pi_subagents.core.profile import Profile


def renamed_provider(profile: Profile, traits: PiTraits) -> tuple[str, str] | None:
    """Return the provider's name in the profile and its name here, where they differ."""
    prefix, slash, _ = profile.model.partition("/")
    name = profile.provider or (prefix if slash else "")
    today = traits.renamed_providers.get(name)
    return (name, today) if today else None


def with_provider(profile: Profile, name: str, today: str) -> Profile:
    """Return the profile with a provider's name replaced wherever it stands."""
    model = profile.model
    if model.startswith(f"{name}/"):
        model = f"{today}{model.removeprefix(name)}"
    return replace(profile, provider=today if profile.provider == name else "", model=model)
