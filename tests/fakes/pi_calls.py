"""Calls that run on a pi of their own, without looking for one on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.settings import Settings
from pi_subagents.core.value import replace
from pi_subagents.engines.base import CallPlace
from pi_subagents.engines.pi.command import PiCommand
from pi_subagents.engines.pi.engine import PiCall

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.engines.base import ChildPlan, ChildRequest


class OneKindOfPi(PiCall):
    """Every child that may be shared is of one kind."""

    KIND = "a kind"

    def plan_child(self, request: ChildRequest) -> ChildPlan:
        return replace(
            super().plan_child(request), share_key=self.KIND if request.shareable else ""
        )


def pi_call(
    argv: tuple[str, ...] = ("node", "pi.js"),
    *,
    version: str | None = None,
    cwd: Path = Path("/"),
    settings: Settings | None = None,
    env: Mapping[str, str] | None = None,
    trusted: Callable[[Path], bool] = lambda _: False,
    parent_tools: tuple[str, ...] | None = None,
    kind: type[PiCall] = PiCall,
) -> PiCall:
    """Return a call with a pi of that command and version; with no PATH none is found beside it."""
    place = CallPlace(cwd, env or {}, settings or Settings(), trusted, parent_tools=parent_tools)
    return kind(place, PiCommand(argv, "path", version))
