from __future__ import annotations

import pytest

from pi_subagents.engines.pi.invocation import Invocation, ModelOverride, plan_invocation

MODE = ("--mode", "json", "-p")
MARKS = {"PI_SUBAGENTS_CHILD": "1", "PI_SUBAGENTS_RUN": "r"}


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


@pytest.mark.parametrize(
    ("mode", "expected"), [("json", MODE), ("rpc", ("--mode", "rpc"))], ids=["json", "rpc"]
)
def test_a_child_is_started_for_the_way_it_is_spoken_to(
    mode: str, expected: tuple[str, ...]
) -> None:
    # Its session is added by the supervisor: what the arguments are decides which runs share one.
    assert plan_invocation(("pi",), run_id="r", trusted=True, mode=mode) == Invocation(
        ("pi", *expected, "--approve"), MARKS
    )


@pytest.mark.parametrize("mode", ["json", "rpc"])
def test_a_launcher_comes_first_and_options_of_the_profile_before_those_of_the_override(
    mode: str,
) -> None:
    profile = Invocation(("--model", "theirs"), {"KEY": "k"})
    override = ModelOverride(("--model", "ours"), {"URL": "u"}, ("python", "launcher.py"))
    planned = plan_invocation(
        ("pi",), run_id="r", trusted=False, mode=mode, profile=profile, override=override
    )
    assert planned.argv[:3] == ("python", "launcher.py", "pi")
    assert planned.argv[-5:] == ("--no-approve", "--model", "theirs", "--model", "ours")
    assert planned.environment == {"KEY": "k", "URL": "u", **MARKS}
