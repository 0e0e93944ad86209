"""What is known of pi as an engine: which one it is, and whether it has models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.engine_values import EngineReport
from pi_subagents.engines.pi.models.config import ChildSetup, names_credentials
from pi_subagents.engines.pi.versions import traits_of
from pi_subagents.errors import ModelsUnknown, SetupError

if TYPE_CHECKING:
    from pi_subagents.engines.base import CallPlace
    from pi_subagents.engines.pi.engine import PiEngine

TITLE = "pi"


def report(engine: PiEngine, place: CallPlace, *, start: bool) -> EngineReport:
    """Return it; with `start` pi itself is asked for its models."""
    try:
        call = engine.open(place)
    except SetupError as error:
        return EngineReport(engine.name, TITLE, problem=str(error), fix="subagents setup")
    cwd, env, pi = place.cwd, place.env, call.pi
    setup = ChildSetup(pi.argv, cwd, env, place.trusted(cwd), traits=traits_of(pi.version))
    logged_in: bool | None = names_credentials(setup) or None
    starts: bool | None = None
    problem = ""
    if start:
        try:
            logged_in, starts = bool(call.list_models(refresh=True).models), True
        except ModelsUnknown as error:
            starts, problem = False, str(error)
    return EngineReport(
        engine.name,
        TITLE,
        program=" ".join(pi.argv),
        version=pi.version or "",
        logged_in=logged_in,
        login="subagents pi, then /login",
        starts=starts,
        problem=problem,
        fix="subagents doctor" if problem else "",
    )
