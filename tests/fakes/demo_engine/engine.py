"""The caller's side: how a task becomes such a child."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run.files import CHILD_VARIABLE, MARKER_VARIABLE
from pi_subagents.core.run.spec import ChildOrder
from pi_subagents.engines.base import PER_TURN, Capabilities, ChildPlan
from pi_subagents.engines.plain_engine import PlainEngine

if TYPE_CHECKING:
    from pi_subagents.engines.base import ChildRequest

CHILD = (sys.executable, "-I", "-S", str(Path(__file__).with_name("child.py")))


class DemoEngine(PlainEngine):
    name = "demo"
    capabilities = Capabilities(
        frozenset({"model"}), steering=True, reuse=False, schema_tool=False, usage=PER_TURN
    )

    def plan_child(self, request: ChildRequest) -> ChildPlan:
        environment = {CHILD_VARIABLE: "1", MARKER_VARIABLE: request.run_id}
        return ChildPlan(ChildOrder(CHILD, request.cwd, "demo", environment, takes_commands=True))


ENGINE = DemoEngine()
