"""
The models of a child: from the cache where nothing changed, else by asking its pi.

In: how the child would be started.  Out: the models in pi's order, as pi lists them in RPC mode
with the child's own trust, options and extensions; ModelsUnknown if it does not.  No choice is
refused because of the cache alone: a provider that was down may be back.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from pi_subagents.core.engine_values import ModelList
from pi_subagents.core.plain_text import one_line
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.asking import ask_pi
from pi_subagents.engines.pi.models.cache import ModelCache
from pi_subagents.engines.pi.models.config import ChildSetup, models_digest
from pi_subagents.engines.pi.models.names import choose_model, models_named, parse_models
from pi_subagents.errors import ModelAmbiguous, ModelNotAvailable, ModelsUnknown
from pi_subagents.system.clock import now_ms
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pi_subagents.core.engine_values import Model
    from pi_subagents.engines.base import CallPlace, ModelWish
    from pi_subagents.engines.pi.versions import PiTraits

T = TypeVar("T")
LIMIT_S = 20.0
CACHE_NAME = "models"
COMMAND = "get_available_models"
_MAX_ERROR = 500


def choose_for(
    wish: ModelWish, place: CallPlace, pi_argv: tuple[str, ...], traits: PiTraits
) -> tuple[str, str]:
    """Return the model that was asked for and the one it means; RequestError if none fits."""

    def choose(available: tuple[Model, ...]) -> tuple[str, str]:
        return choose_model(
            wish.wanted,
            wish.of_preset,
            available,
            preset_name=wish.preset_name,
            preset_path=wish.preset_path,
            renamed=traits.renamed_providers,
        )

    if place.models is not None:
        return choose(models_named(place.models))
    # A directory that is not there is reported by the run.
    cwd = wish.place if os.path.isdir(wish.place) else place.cwd  # noqa: PTH112 - may not look
    setup = ChildSetup(pi_argv, cwd, place.env, place.trusted(cwd), traits=traits)
    return choose_among_models(setup, data_dir(place.env), choose)


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


def list_models(setup: ChildSetup, cache_dir: Path, *, refresh: bool = False) -> ModelList:
    """Return the models and how old the list is; `refresh` asks pi in any case."""
    cache = ModelCache(cache_dir / CACHE_NAME)
    try:
        digest = models_digest(setup, cache.secret())
    except OSError:  # there can be no cache
        return ModelList(ask_models(setup), cached=False)
    known = None if refresh else cache.load(digest, now_ms())
    if known is not None:
        return known
    models = ask_models(setup)
    cache.keep(digest, models, now_ms())
    return ModelList(models, cached=False)


def lists_no_models(setup: ChildSetup, cache_dir: Path) -> bool:
    """Return whether pi says that it has no model; one that says nothing may have some."""
    try:
        return not list_models(setup, cache_dir).models
    except ModelsUnknown:
        return False


def ask_models(setup: ChildSetup) -> tuple[Model, ...]:
    """Start pi, ask, end pi; ModelsUnknown holds what went wrong and what pi wrote about it."""
    trust = "--approve" if setup.trusted else "--no-approve"
    # No MCP server has models.
    options = (trust, *setup.traits.without_mcp, *setup.arguments)
    argv = (*setup.pi_argv, "--mode", "rpc", "--no-session", *options)
    answers = ask_pi(argv, (COMMAND,), env=setup.env, cwd=setup.cwd, limit_s=LIMIT_S)
    if answers.reason:
        raise ModelsUnknown(answers.reason, answers.output)
    match answers.replies[COMMAND]:
        case {"success": True, "data": {"models": list(listed)}}:
            models = parse_models(listed)
        case {"success": True}:
            raise ModelsUnknown(messages.MODELS_IN_UNKNOWN_FORM)
        case reply:
            raise ModelsUnknown(one_line(str(reply.get("error")), _MAX_ERROR))
    if setup.traits.has_slashed_providers:
        return models
    # An older pi takes what stands before the first slash for the provider.
    return tuple(model for model in models if "/" not in model.provider)
