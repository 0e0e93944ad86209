"""
Which definition counts where a project that the user does not trust has one of its own.

In: the project's profile or preset, the user's own of the same name if there is one, what the user
set (`subagents.project_definitions`) and answered.  Out: what to use and what to say of it, or why
nothing can be used.  Pure; who asks, and where answers are kept, is for others.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from pi_subagents.core.definitions import messages
from pi_subagents.core.definitions.definition import PROJECT, Loaded
from pi_subagents.core.value import value

ALLOW, ASK, DENY = POLICIES = ("allow", "ask", "deny")
PROFILE, PRESET = "profile", "preset"

L = TypeVar("L", bound=Loaded)


@value
class UserAnswer:
    """Whether the user said yes to a definition, and where that is kept."""

    use: bool
    file: str


class Choice(Generic[L]):
    """What to use, if anything; a note for whoever reads the result; why nothing is used."""

    def __init__(self, loaded: L | None, note: str = "", refusal: str = "") -> None:
        self.loaded = loaded
        self.note = note
        self.refusal = refusal


def is_foreign(loaded: Loaded | None, *, trusted: bool) -> bool:
    """Return whether this came from a project that the user has not said to trust."""
    return loaded is not None and loaded.scope == PROJECT and not trusted


def choose_foreign(
    kind: str, theirs: L, own: L | None, policy: str, answer: UserAnswer | None = None
) -> Choice[L]:
    """
    Return what counts: the project's own, the user's own of that name, or nothing.

    `answer` is what the user said of exactly this definition.
    """
    replaces = messages.note_replaces(kind, theirs.name, theirs.path) if own else ""
    if policy == ALLOW or (policy == ASK and answer and answer.use):
        return Choice(theirs, note=replaces)
    if policy == ASK and answer is None:
        return Choice(None, refusal=messages.nobody_to_ask(kind, theirs.name, theirs.path))
    why = messages.FOREIGN_DENIED
    if policy == ASK and answer is not None:
        why = messages.foreign_declined(answer.file)
    if own is None:
        return Choice(None, refusal=messages.foreign_refused(kind, theirs.name, why))
    return Choice(own, note=messages.note_own_instead(kind, theirs.name, why))
