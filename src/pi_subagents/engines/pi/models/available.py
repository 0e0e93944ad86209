"""
Tell which models a child has: from the cache where nothing changed, else by asking its pi.

In: how the child would be started, and the data directory, in which the cache has one of its own.
Out: the models, in pi's order.  `choose_among_models` refuses none because of the cache alone: a
provider that was down may be back.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from pi_subagents.core.models import ModelList
from pi_subagents.engines.pi.models.asking import LIMIT_S, ask_models
from pi_subagents.engines.pi.models.cache import ModelCache, ToldModels
from pi_subagents.engines.pi.models.config import ChildSetup, models_digest
from pi_subagents.errors import ModelAmbiguous, ModelNotAvailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pi_subagents.core.models import Model

T = TypeVar("T")
CACHE_NAME = "models"


def available_models(
    pi_argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    trusted: bool,
    arguments: Sequence[str] = (),
    cache_dir: Path,
) -> tuple[Model, ...]:
    """Return the models of a child that would be started so; ModelsUnknown if pi fails."""
    setup = ChildSetup(tuple(pi_argv), cwd, env, trusted, tuple(arguments))
    return list_models(setup, cache_dir).models


def list_models(
    setup: ChildSetup, cache_dir: Path, *, refresh: bool = False, limit_s: float = LIMIT_S
) -> ModelList:
    """Return the models and how old the list is; `refresh` asks pi in any case."""
    cache = ModelCache(cache_dir / CACHE_NAME)
    digest = _digest(setup, cache)
    now_ms = _now_ms()
    told = cache.load(digest, now_ms) if digest and not refresh else None
    if told is not None:
        return ModelList(told.models, cached=True, age_ms=now_ms - told.told_at_ms)
    models = ask_models(setup, limit_s=limit_s)
    if digest:
        cache.keep(digest, ToldModels(models, _now_ms()))
    return ModelList(models, cached=False)


def choose_among_models(
    setup: ChildSetup, cache_dir: Path, choose: Callable[[tuple[Model, ...]], T]
) -> T:
    """Return the choice among the models; before it is refused, a cached list is asked for anew."""
    known = list_models(setup, cache_dir)
    try:
        return choose(known.models)
    except (ModelNotAvailable, ModelAmbiguous):
        if not known.cached:
            raise
    return choose(list_models(setup, cache_dir, refresh=True).models)


def _digest(setup: ChildSetup, cache: ModelCache) -> str | None:
    """Return the digest of the child's configuration as it is now, or None without a cache."""
    try:
        return models_digest(setup, cache.secret())
    except OSError:
        return None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
