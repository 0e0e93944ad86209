"""
Find the definition of a name that counts: the project's, or the user's own.

In: what two directories define together, what the user set, whether the project is trusted, and
the answers that are kept.  Out: a Choice, with the words for whoever reads the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pi_subagents.core.definitions.definition import Loaded
from pi_subagents.core.definitions.project_choice import ASK, Choice, choose_foreign, is_foreign

if TYPE_CHECKING:
    from pi_subagents.config.definition_answers import DefinitionAnswers
    from pi_subagents.core.definitions.found import Definitions

L = TypeVar("L", bound=Loaded)


def choose_definition(
    kind: str,
    found: Definitions[L],
    name: str,
    *,
    policy: str,
    trusted: bool,
    answers: DefinitionAnswers,
) -> Choice[L]:
    """Return what a task that names this gets."""
    loaded = found.get(name)
    if loaded is None or not is_foreign(loaded, trusted=trusted):
        return Choice(loaded)
    answer = answers.find(kind, loaded) if policy == ASK else None
    return choose_foreign(kind, loaded, found.get_overridden(name), policy, answer)
