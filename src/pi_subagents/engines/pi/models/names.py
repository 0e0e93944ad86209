"""
Find the model that a name means, among those a sub-agent really has.

In: a name as a call or a preset gives it, and the models.  Out: `provider/id`, with the thinking
level that was asked for, exactly as pi will understand it; or a RequestError.  What is only close
is suggested, never chosen.
"""

from __future__ import annotations

import difflib
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING

from pi_subagents.core.engine_values import Model
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.profile.profile import THINKING_LEVELS
from pi_subagents.errors import ModelAmbiguous, ModelNotAvailable, NoModelGiven

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

MAX_SUGGESTIONS = 3
MAX_NAMED = 8
_MAX_SHOWN = 200
_MAX_NAME = 512
_MAX_TITLE = 200

_FOLDS: tuple[Callable[[str], str], ...] = (str, str.lower)
_SPELLINGS: tuple[Callable[[Model], str], ...] = (
    lambda model: model.reference,
    lambda model: model.model_id,
)


def choose_model(
    call: str | None,
    preset: str | None,
    available: Sequence[Model],
    *,
    preset_name: str,
    preset_path: str,
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, str]:
    """Return the model of the call, else of the preset: as it was requested, and as it is named."""
    for requested in (call, preset):
        if requested and requested.strip():
            return requested, resolve_model(requested, available, renamed)
    raise NoModelGiven(preset_name, preset_path)


def resolve_model(
    requested: str, available: Sequence[Model], renamed: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the full name of the one model that is meant; RequestError if none or several are."""
    wanted = requested.strip()
    prefix, slash, rest = wanted.partition("/")
    provider = prefix.lower()
    here = (each.provider.lower() for each in available)
    if slash and provider in renamed and provider not in here:
        wanted = f"{renamed[provider]}/{rest}"  # its name in this pi
    shown = one_line(wanted, _MAX_SHOWN)
    found = _meant(wanted, available)
    if len(found) > 1:
        raise ModelAmbiguous(shown, found[:MAX_NAMED])
    if not found:
        raise ModelNotAvailable(shown, closest_models(wanted, available), len(available))
    return found[0]


def split_thinking(name: str) -> tuple[str, str]:
    """Return a name without its thinking level, and the level; empty where it has none."""
    base, _, level = name.rpartition(":")
    return (base, level) if base and level in THINKING_LEVELS else (name, "")


def parse_models(value: object) -> tuple[Model, ...]:
    """Return the models of a decoded list; an entry that no command line could name is left out."""
    if not isinstance(value, list):
        return ()
    parsed = (_model(entry) for entry in value)
    return tuple(dict.fromkeys(model for model in parsed if model is not None))


def models_named(references: Iterable[str]) -> tuple[Model, ...]:
    """Return the models of full names, as a host that is pi itself lists them."""
    pairs = (reference.partition("/") for reference in references)
    return parse_models([{"provider": provider, "id": model} for provider, _, model in pairs])


def _model(entry: object) -> Model | None:
    if not isinstance(entry, dict):
        return None
    provider, model_id, name = (entry.get(key) for key in ("provider", "id", "name"))
    if not isinstance(provider, str) or not isinstance(model_id, str):
        return None
    if not _is_plain(provider) or not _is_plain(model_id):
        return None
    title = one_line(name, _MAX_TITLE) if isinstance(name, str) else ""
    return Model(provider, model_id, title, _is_priced(entry))


def _is_priced(entry: Mapping[str, object]) -> bool:
    """Return whether a price is listed, or nothing is said of one; all that is free has none."""
    cost = entry.get("cost")
    return any(cost.values()) if isinstance(cost, dict) else entry.get("priced") is not False


def _is_plain(text: str) -> bool:
    return 0 < len(text) <= _MAX_NAME and text.isprintable() and text == text.strip()


def _meant(wanted: str, available: Sequence[Model]) -> tuple[str, ...]:
    """Return what a name can mean, by the first rule under which it means anything."""
    base, level = split_thinking(wanted)
    # An id may itself end like a thinking level: the whole is looked for first, as pi does.
    readings = [(wanted, ""), (base, f":{level}")] if level else [(wanted, "")]
    for fold, spelling, (text, suffix) in product(_FOLDS, _SPELLINGS, readings):
        found = dict.fromkeys(
            model.reference + suffix for model in available if fold(spelling(model)) == fold(text)
        )
        if found:
            return tuple(found)
    return ()


def closest_models(wanted: str, available: Sequence[Model]) -> tuple[str, ...]:
    """Return full names that are spelt much like it, then those that contain it."""
    text = split_thinking(wanted)[0][:_MAX_SHOWN].lower()
    spellings: dict[str, str] = {}
    for model in available:
        spellings.setdefault(model.reference.lower(), model.reference)
        spellings.setdefault(model.model_id.lower(), model.reference)
    # Twice as many: both spellings of one model may be close.
    close = difflib.get_close_matches(text, spellings, n=2 * MAX_SUGGESTIONS)
    containing = (spelling for spelling in spellings if text and text in spelling)
    names = dict.fromkeys(spellings[spelling] for spelling in (*close, *containing))
    return tuple(names)[:MAX_SUGGESTIONS]
