"""
A question of a child that waits for somebody: what is asked, and what counts as an answer to it.

In: what a child asks, or what the run's desk keeps of that.  Out: values that every face shows; of
a text that was typed, the answer that it means.  A text is never more than data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.core.plain_text import one_line, printable, shortened
from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What a run may wait for: an answer, the end of a provider's limit, a place among the children.
QUESTION, LIMIT, PLACE = ("question", "limit", "place")
SCHEMA_VERSION = 1
YES, NO = ("Yes", "No")
MAX_QUESTION = 16_000  # characters
MAX_OPTIONS = 100  # of those that are shown; any other can be typed
MAX_OPTION = 500
_SHORT = {"y": YES, "n": NO}


@value
class WaitingFor:
    """What a run waits for: somebody's answer, the end of a limit, a place."""

    until_ms: int  # when it is waited for no longer; 0: nobody knows
    text: str
    options: tuple[str, ...] = ()
    id: str = ""
    kind: str = QUESTION

    @property
    def asks(self) -> bool:
        """Whether somebody can answer it."""
        return self.kind == QUESTION


def asked(number: str, text: str, options: tuple[str, ...], within_s: float) -> ev.Asked:
    """Return a question as it is shown and kept: printable, of a size that everybody can take."""
    shown = shortened(printable(text), MAX_QUESTION)
    return ev.Asked(number, shown, _as_shown(options[:MAX_OPTIONS]), within_s)


def waiting_for(question: ev.Asked, asked_at_ms: int) -> WaitingFor:
    """Return what a run waits for that asked then."""
    until_ms = asked_at_ms + round(question.within_s * 1000)
    return WaitingFor(until_ms, question.text, question.options, question.number)


def meant_option(options: tuple[str, ...], text: str) -> str | None:
    """Return the option that a text means: its number, or its words, also as they are shown."""
    wanted, shown = text.strip(), _as_shown(options)
    for words in (options, shown):
        if wanted in words:
            return options[words.index(wanted)]
    if wanted.isdecimal() and 1 <= int(wanted[:9]) <= len(options):
        return options[int(wanted) - 1]
    short = _SHORT.get(wanted.lower()) if options == (YES, NO) else None
    if short is not None:
        return short
    pairs = zip(options, shown, strict=True)
    same = (each for each, seen in pairs if wanted.lower() in (each.lower(), seen.lower()))
    return next(same, None)


def _as_shown(options: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one_line(option, MAX_OPTION) for option in options)


def questions_to_json(questions: Iterable[WaitingFor]) -> dict[str, object]:
    """Return open questions as a desk keeps them."""
    return {"schemaVersion": SCHEMA_VERSION, "questions": [*map(waiting_to_json, questions)]}


def questions_from_json(content: Any) -> tuple[WaitingFor, ...]:
    """Return the questions of a desk, the oldest first; ValueError where it has none of ours."""
    try:
        if content["schemaVersion"] != SCHEMA_VERSION:
            raise ValueError("questions of another version")
        return tuple(map(_from_json, content["questions"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not the questions of a run") from error


def waiting_to_json(waiting: WaitingFor) -> dict[str, object]:
    """Return what a run waits for, as tools and scripts get it."""
    return {
        "kind": waiting.kind,
        **({"until": waiting.until_ms} if waiting.until_ms else {}),
        "text": waiting.text,
        "options": list(waiting.options),
        "id": waiting.id,
    }


def question_to_model(waiting: WaitingFor) -> str:
    """Return a question for a main model, which cannot see that anything waits."""
    return run_messages.asks_model(waiting.text, waiting.options)


def waiting_part(waiting: WaitingFor | None) -> dict[str, object]:
    """Return the part of a record that says what a run waits for; nothing where it does not."""
    return {} if waiting is None else {"waitingFor": waiting_to_json(waiting)}


def _from_json(kept: Mapping[str, object]) -> WaitingFor:
    until, options = kept.get("until", 0), kept["options"]
    if not isinstance(until, int) or not isinstance(options, list):
        raise TypeError
    named = tuple(str(option) for option in options)
    return WaitingFor(until, str(kept["text"]), named, str(kept["id"]), str(kept["kind"]))
