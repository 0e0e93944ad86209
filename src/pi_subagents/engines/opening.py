"""
The engines of one call: each is opened when the first of its tasks needs it, and only then.

In: the place of the call and a name.  Out: an EngineCall; UnknownEngine for a name that nobody
knows, SetupError where no child of it could be started.  What a host of the default engine brings
along (its tools, models and program) is for that engine alone.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pi_subagents.core.nearest import nearest
from pi_subagents.core.value import replace
from pi_subagents.engines.table import DEFAULT, ENGINES, engine_names, load_engine
from pi_subagents.errors import UnknownEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.settings import Settings
    from pi_subagents.engines.base import CallPlace, EngineCall

    OpenEngine = Callable[[str], EngineCall]


def engines_in(place: CallPlace, default: str, notice: Callable[[str], None]) -> OpenEngine:
    """Return what opens an engine once; what it has to say is said then.  No name: the default."""

    @cache
    def open_engine(name: str) -> EngineCall:
        if not name:
            return open_engine(default)
        refuse_unknown_engine(name, place.settings)
        at = place
        if name != DEFAULT:
            at = replace(place, parent_tools=None, models=None, host=None)
        engine = load_engine(name).open(at)
        for text in engine.notices:
            notice(text)
        return engine

    return open_engine


def refuse_unknown_engine(name: str, settings: Settings) -> None:
    """Refuse a name that no engine has."""
    if name not in ENGINES and name not in (known := engine_names(settings.engines)):
        raise UnknownEngine(name, known, nearest(name, known))
