"""The models of a call's children, and the choice of one among them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pi_subagents.engines.pi.models.available import choose_among_models, list_models
from pi_subagents.engines.pi.models.config import ChildSetup
from pi_subagents.engines.pi.models.names import choose_model, models_named
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from pi_subagents.core.models import Model, ModelList
    from pi_subagents.engines.base import CallPlace, ModelWish
    from pi_subagents.engines.pi.versions import PiTraits


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
    # A directory that is not there is the run's to tell of.
    cwd = wish.place if os.path.isdir(wish.place) else place.cwd  # noqa: PTH112 - may not look
    setup = ChildSetup(pi_argv, cwd, place.env, place.trusted(cwd), traits=traits)
    return choose_among_models(setup, data_dir(place.env), choose)


def models_of(
    place: CallPlace, pi_argv: tuple[str, ...], traits: PiTraits, *, refresh: bool
) -> ModelList:
    """Return the models of a child in the place of the call; ModelsUnknown if pi fails."""
    cwd = place.cwd
    setup = ChildSetup(pi_argv, cwd, place.env, place.trusted(cwd), traits=traits)
    return list_models(setup, data_dir(place.env), refresh=refresh)
