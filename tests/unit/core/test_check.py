from __future__ import annotations

from pi_subagents.core.check import Check, Subject

CANARY = "canary-5b1d"


def test_a_check_that_fails_itself_is_a_problem_and_does_not_quote_the_error() -> None:
    def broken() -> Check:
        raise ValueError(CANARY)

    fix = (
        "If this is not plain from the other lines, please report it: "
        "`subagents doctor --report` writes the text."
    )
    subject = Subject("x", "X")
    assert subject.guarded(broken) == subject.problem("could not be checked (ValueError)", fix)

    def refused() -> Check:
        raise PermissionError(13, "Permission denied", f"/{CANARY}")

    expected = subject.problem("could not be checked (Permission denied)", fix)
    assert subject.guarded(refused) == expected
