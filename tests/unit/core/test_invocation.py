from __future__ import annotations

import pytest

from pi_subagents.core.invocation import Invocation, ModelOverride, plan_invocation

MODE = ("--mode", "json", "-p", "--no-session")


@pytest.mark.parametrize(("trusted", "flag"), [(True, "--approve"), (False, "--no-approve")])
def test_every_child_is_told_whether_the_project_is_trusted(trusted: bool, flag: str) -> None:
    assert plan_invocation(("node", "pi.js"), run_id="r", trusted=trusted) == Invocation(
        ("node", "pi.js", *MODE, flag),
        {"PI_SUBAGENTS_CHILD": "1", "PI_SUBAGENTS_RUN": "r"},
    )


def test_another_model_is_added_and_cannot_unmark_the_child() -> None:
    override = ModelOverride(("--model", "m"), {"URL": "u", "PI_SUBAGENTS_CHILD": "0"})
    assert plan_invocation(("pi",), run_id="r", trusted=False, override=override) == Invocation(
        ("pi", *MODE, "--no-approve", "--model", "m"),
        {"URL": "u", "PI_SUBAGENTS_CHILD": "1", "PI_SUBAGENTS_RUN": "r"},
    )
