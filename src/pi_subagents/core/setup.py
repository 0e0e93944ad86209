"""Setting up what children run: what is told while it goes on, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pi_subagents.core.value import value


@value
class SetupProgress:
    """One thing a face can paint: the step, what is known about it, and whether it is over."""

    step: str
    detail: str
    done: bool


Report = Callable[[SetupProgress], None]


@value
class SetupOutcome:
    """What is in place now: lines for a person, facts for a script."""

    lines: tuple[str, ...]
    facts: Mapping[str, object]
