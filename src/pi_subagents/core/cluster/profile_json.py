"""
Write a profile as part of an order, and read one that came from another machine.

In: a Profile, or one decoded JSON value from anybody.  Out: the other, or OrderRefused.  What
names code, options or keys of the caller's machine is in no order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.core.cluster import messages
from pi_subagents.core.cluster.order import MAX_TEXT
from pi_subagents.core.cluster.reading import Members, checked_text
from pi_subagents.core.profile.permissions import KINDS, WORDS, Permissions
from pi_subagents.core.profile.profile import (
    FIELDS,
    ISOLATIONS,
    MCP_CHOICES,
    QUESTION_CHOICES,
    THINKING_LEVELS,
    Profile,
)
from pi_subagents.core.workspace.modes import WORKSPACES
from pi_subagents.errors import OrderRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a profile for a cluster may not have, as files call it.
STAYS_AT_HOME = ("extensions", "extraArgs", "apiKey")
_MAX_NAMES = 1000
_KEYS = {key: name for key, name in FIELDS.items() if key not in STAYS_AT_HOME}
_CHOICES = {
    "thinkingLevel": THINKING_LEVELS,
    "mcp": MCP_CHOICES,
    "isolation": ISOLATIONS,
    "questions": QUESTION_CHOICES,
    "workspace": WORKSPACES,
}
_USUAL = Profile("")


def profile_to_json(profile: Profile) -> dict[str, object]:
    """Return what is set in a profile."""
    own = {key: getattr(profile, name) for key, name in _KEYS.items()}
    found: dict[str, object] = {"name": profile.name}
    for key, each in own.items():
        if isinstance(each, Permissions):
            found[key] = dict(each.by_kind)
        elif each != getattr(_USUAL, _KEYS[key]):
            found[key] = list(each) if isinstance(each, tuple) else each
    return found


def profile_from(given: object, where: str) -> Profile:
    """Return the profile that somebody sent."""
    known = Members.of(given, where, tuple(_KEYS))
    fields: dict[str, Any] = {"name": known.text("name", messages.MAX_NAME)}
    for key, name in _KEYS.items():
        if key == "name" or key not in known.content:
            continue
        usual = getattr(_USUAL, name)
        if isinstance(usual, Permissions):
            fields[name] = _permissions(known.content[key], known.at(key))
        elif isinstance(usual, bool):
            fields[name] = known.flag(key)
        elif isinstance(usual, str):
            fields[name] = known.text(key, MAX_TEXT)
        else:
            fields[name] = known.texts(key, _MAX_NAMES, messages.MAX_NAME)
    for key, words in _CHOICES.items():
        if fields.get(_KEYS[key], "") not in ("", *words):
            raise OrderRefused(known.at(key), messages.UNKNOWN_WORD)
    return Profile(**fields)


def _permissions(given: object, where: str) -> Permissions:
    known = Members.of(given, where, KINDS)
    words: Mapping[str, str] = {
        kind: checked_text(word, known.at(kind), messages.MAX_NAME)
        for kind, word in known.content.items()
    }
    if set(words) != {*KINDS} or not set(words.values()) <= {*WORDS}:
        raise OrderRefused(where, messages.UNKNOWN_WORD)
    return Permissions(**words)
