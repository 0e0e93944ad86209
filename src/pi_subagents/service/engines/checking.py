"""
Whether a definition can be used with the engine that it names.

In: what a profile or preset comes to, and engines to look at.  Out: findings by field: those of the
engine, and what its children cannot honour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.definitions.found import PRESET
from pi_subagents.core.profile.profile import FIELDS, OWN_FIELDS, Profile
from pi_subagents.engines.base import REFUSED, Finding
from pi_subagents.engines.table import DEFAULT
from pi_subagents.errors import UnknownEngine
from pi_subagents.service import messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pi_subagents.core.engine_values import Model
    from pi_subagents.engines.base import EngineCall


def check_definition(
    kind: str,
    profile: Profile,
    engine_of: Callable[[str], EngineCall],
    models: Sequence[Model] = (),
) -> tuple[Finding, ...]:
    """Return what keeps calls from using it, and warnings; the models are of the usual engine."""
    name = profile.engine or DEFAULT
    try:
        engine = engine_of(name)
    except UnknownEngine as unknown:
        return (Finding("engine", str(unknown), REFUSED),)
    known = models if name == DEFAULT else ()
    check = engine.check_preset if kind == PRESET else engine.check_profile
    refused = (Finding(field, why, REFUSED) for field, why in unsupported(profile, engine))
    return (*refused, *check(profile, known))


def unsupported(profile: Profile, engine: EngineCall) -> Iterator[tuple[str, str]]:
    """Yield the fields that children of this engine cannot honour, and why not."""
    unset = Profile("")
    for spelled, field in FIELDS.items():
        is_set = field not in OWN_FIELDS and getattr(profile, field) != getattr(unset, field)
        if is_set and field not in engine.capabilities.profile_fields:
            yield spelled, messages.field_not_honoured(profile.name, spelled, engine.name)
    for kind in profile.permissions.restricted:
        if kind not in engine.capabilities.permissions:
            words = messages.field_not_honoured(profile.name, f"permissions.{kind}", engine.name)
            yield "permissions", words
