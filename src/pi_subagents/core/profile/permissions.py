"""
Which kinds of tool calls a child may make, may not make, or has to ask about.

In: what a profile's file says: one word for every kind, or a word by kind.  Out: Permissions, and
the same for a file.  The kinds are no engine's own: each says which of its tools is of which kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.core import messages
from pi_subagents.core.value import as_dict, value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.definitions.frontmatter import Value

KINDS = ("read", "edit", "execute", "fetch", "other")
# From the loosest to the strictest.
ALLOWED, ASKED, DENIED = WORDS = ("allow", "ask", "deny")


@value
class Permissions:
    """A word for each kind of call."""

    read: str = ALLOWED
    edit: str = ALLOWED
    execute: str = ALLOWED
    fetch: str = ALLOWED
    other: str = ALLOWED

    @property
    def restricted(self) -> tuple[str, ...]:
        """The kinds that are not simply allowed."""
        return tuple(kind for kind, word in self.by_kind.items() if word != ALLOWED)

    @property
    def asks(self) -> bool:
        """Return whether somebody is to be asked about any."""
        return ASKED in self.by_kind.values()

    @property
    def by_kind(self) -> Mapping[str, str]:
        """The words by kind."""
        return {kind: str(word) for kind, word in as_dict(self).items()}

    def tightened_by(self, other: Permissions) -> Permissions:
        """Return the stricter word of each kind."""
        pairs = zip(self.by_kind.values(), other.by_kind.values(), strict=True)
        return Permissions(*(max(pair, key=WORDS.index) for pair in pairs))

    def __str__(self) -> str:
        return ", ".join(f"{kind}: {self.by_kind[kind]}" for kind in self.restricted) or ALLOWED


def permissions_field(given: Value) -> Permissions:
    """Return what a file says; TypeError where it cannot be understood."""
    if given is None:
        return Permissions()
    if isinstance(given, str):
        return Permissions(*[_word(given)] * len(KINDS))
    if not isinstance(given, dict) or not set(given) <= {*KINDS}:
        raise TypeError(messages.wrong_permissions(KINDS, WORDS))
    words: dict[str, Any] = {kind: _word(word) for kind, word in given.items()}
    return Permissions(**words)


def permissions_to_file(permissions: Permissions) -> dict[str, str]:
    """Return them as a file has them."""
    return {kind: permissions.by_kind[kind] for kind in permissions.restricted}


def _word(given: Value) -> str:
    if not isinstance(given, str) or given not in WORDS:
        raise TypeError(messages.wrong_permissions(KINDS, WORDS))
    return given
