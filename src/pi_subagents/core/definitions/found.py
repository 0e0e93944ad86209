"""
The definitions of one kind that were found, and which of them counts.

In: what was read of a file, a directory, and both directories; of a project that the user does not
trust also the policy (`subagents.project_definitions`) and the user's answer.  Out: one definition
per name, the project's in front of the user's, what is overridden, all problems; and what to use
with a note, or why nothing is used.  Pure: others ask, and keep the answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

from pi_subagents.core import messages
from pi_subagents.core.definitions.definition import PROJECT, Loaded
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from pi_subagents.core.definitions.definition import FileProblem

ALLOW, ASK, DENY = POLICIES = ("allow", "ask", "deny")
PROFILE, PRESET = "profile", "preset"

L = TypeVar("L", bound=Loaded)


@dataclass(frozen=True, slots=True)
class DefinitionFile(Generic[L]):
    """A file that defines something, and on which line each of its fields is."""

    loaded: L
    lines: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DefinitionsDir(Generic[L]):
    """What a directory holds: `files` are all that were read, `counting` has one per name."""

    files: tuple[DefinitionFile[L], ...] = ()
    counting: tuple[L, ...] = ()
    problems: tuple[FileProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Definitions(Generic[L]):
    """What callers in a directory may name, in the order of the names."""

    by_name: Mapping[str, L]
    problems: tuple[FileProblem, ...] = ()
    overridden: tuple[L, ...] = ()

    @classmethod
    def merged(cls, user: DefinitionsDir[L], project: DefinitionsDir[L]) -> Self:
        """Put the project's in front of the user's, whole."""
        ours = {loaded.name: loaded for loaded in user.counting}
        theirs = {loaded.name: loaded for loaded in project.counting}
        return cls(
            by_name=MappingProxyType(dict(sorted({**ours, **theirs}.items()))),
            problems=(*user.problems, *project.problems),
            overridden=tuple(ours[name] for name in sorted(ours.keys() & theirs.keys())),
        )

    def get(self, name: str) -> L | None:
        """Return what has that name, if anything does."""
        return self.by_name.get(name)

    def get_overridden(self, name: str) -> L | None:
        """Return the user's own of that name, where the project's stands in front of it."""
        return next((loaded for loaded in self.overridden if loaded.name == name), None)


@value
class UserAnswer:
    """Whether the user said yes to a definition, and where that is kept."""

    use: bool
    file: str


class Choice(Generic[L]):
    """
    What to use, if anything; a note for the reader of the result; why nothing is used.

    With `asks` nothing is used before the user has said yes.
    """

    def __init__(
        self, loaded: L | None, note: str = "", refusal: str = "", *, asks: bool = False
    ) -> None:
        self.loaded = loaded
        self.note = note
        self.refusal = refusal
        self.asks = asks

    @property
    def said(self) -> str:
        """What a list says of it: a note, or why it is not listed; nothing if one has to ask."""
        return "" if self.asks else self.note or self.refusal


def is_foreign(loaded: Loaded | None, *, trusted: bool) -> bool:
    """Return whether this came from a project that the user has not said to trust."""
    return loaded is not None and loaded.scope == PROJECT and not trusted


def choose_foreign(
    kind: str, theirs: L, own: L | None, policy: str, answer: UserAnswer | None = None
) -> Choice[L]:
    """Return what counts: the project's, the user's own, or nothing, by the answer to just this."""
    replaces = messages.note_replaces(kind, theirs.name, theirs.path) if own else ""
    if policy == ALLOW or (policy == ASK and answer and answer.use):
        return Choice(theirs, note=replaces)
    if policy == ASK and answer is None:
        refusal = messages.nobody_to_ask(kind, theirs.name, theirs.path)
        return Choice(None, refusal=refusal, asks=True)
    declined = policy == ASK and answer
    why = messages.foreign_declined(declined.file) if declined else messages.FOREIGN_DENIED
    if own is None:
        return Choice(None, refusal=messages.foreign_refused(kind, theirs.name, why))
    return Choice(own, note=messages.note_own_instead(kind, theirs.name, why))
