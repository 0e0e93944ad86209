"""
Why a run failed, as a person understands it: one line says what happened, one what to do.

In: the message of a result, whatever a provider, pi or we put there.  Out: an Explanation; one
that means nothing to us stays as it is, on one line.  The whole message stays in the run's record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.messages import NOTE_NO_MODEL, STOPPED_ON_REQUEST
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.progress import ProgressFormatter
from pi_subagents.core.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.run.events import Retrying

MAX_LINE = 300


@value
class Explanation:
    """What happened, and what to do about it, if anything is known to help."""

    what: str
    to_do: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """Both, each on a line of its own."""
        return tuple(filter(None, (self.what, self.to_do)))


NO_MODEL = Explanation("No model is configured.", "Log in: subagents pi, then /login.")
_NO_KEY = re.compile(
    r"No API key found for (?!the selected model)(?:\"([^\"]{1,60})\"|([\w.-]{1,60}?)(?=[.\s]|$))"
)
_NO_PROVIDER = re.compile(r'Error: Unknown provider "([^"]{1,60})"')  # pi's own, before it ends
_STATUS = re.compile(r"(?:Error:? ?)?(?:HTTP ?)?([45]\d\d)\b[\s:]*(.*)", re.DOTALL)

# By the words of providers, whatever status they come with; the first that fits counts.
_BY_WORDS = tuple(
    (re.compile(words, re.IGNORECASE), failure)
    for words, failure in (
        (r"no (models? selected|models available|api key found for the selected model)", NO_MODEL),
        (
            (
                r"(prompt|input|request) is too (long|large)|"
                r"context.length.exceeded|maximum context length|"
                r"exceeds? the (model's )?(context|maximum number of tokens)"
            ),
            Explanation(
                "There is more to read than the model can take.",
                "Give it a smaller task or fewer files, or choose a larger model with --model.",
            ),
        ),
        (
            r"insufficient.quota|credit balance|billing|payment required",
            Explanation("The provider's account has no credit left.", "Top it up, or use --model."),
        ),
        (
            r"authentication.error|(invalid|incorrect)[ _](x-)?api[ _-]?key|\bunauthorized\b",
            Explanation(
                "The provider refused the key (401).", "Check the key: subagents pi, then /login."
            ),
        ),
        (
            r"rate.limit|too many requests",
            Explanation(
                "The provider limits how often it is asked (429).",
                "Wait a little, or run fewer at once: --concurrency 1.",
            ),
        ),
        (
            r"overloaded",
            Explanation(
                "The provider is overloaded (529).", "Try again later, or use --model for another."
            ),
        ),
        (
            r"not_found_error|model[^.]{0,80}(not found|does not exist)|unknown model",
            Explanation(
                "The provider does not have this model (404).",
                "Choose one of those that `subagents models` lists, with --model.",
            ),
        ),
        (
            (
                r"ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|"
                r"getaddrinfo|fetch failed|socket hang up|\bconnection (error|refused|lost)|"
                r"^terminated$"
            ),
            Explanation(
                "The provider cannot be reached.",
                "Check the network, and the provider's address if you set one (models.json).",
            ),
        ),
    )
)
_BY_STATUS = {
    "401": "invalid api key",
    "402": "payment required",
    "404": "unknown model",
    "413": "request is too large",
    "429": "rate limit",
    "529": "overloaded",
}
# Our own messages: as they are, and what helps.  Those that quote names people chose come first.
_OURS = (
    *((begin, "") for begin in ("Unknown ", "Profile ", "Skill ", "cwd ")),
    *((f"The {kind} ", "") for kind in ("profile", "preset", "project", "skill", "skills")),
    ("Cannot reach the cluster", "Nothing of it is lost. Look at it: subagents cluster status."),
    *((begin, "") for begin in ("The cluster ", "There is no cluster ", "The task ")),
    (
        "Sub-agent was killed by SIGKILL",
        "The machine may have run out of memory; fewer at once: --concurrency 1.",
    ),
    ("Sub-agent exited", "Look for the cause: subagents doctor."),
    ("Sub-agent was killed", "Look for the cause: subagents doctor."),
    ("Failed to spawn", "Look for the cause: subagents doctor."),
    (
        "Its worktree could not be made",
        "Nothing was begun. In your own checkout: --workspace shared.",
    ),
)


def explain_failure(message: str) -> Explanation:
    """Return what a message means to a person; never raises, never loses what is not known."""
    text = message.strip()
    if key := _NO_KEY.search(text):
        return _no_key(key[1] or key[2])
    if provider := _NO_PROVIDER.search(text):
        return Explanation(
            f'pi has no provider "{one_line(provider[1], 60)}".',
            "Choose one of those that `subagents models` lists.",
        )
    status = _STATUS.match(text)
    code, rest = (status[1], status[2]) if status else ("", "")
    ours = next((to_do for begin, to_do in _OURS if text.startswith(begin)), None)
    if ours is not None:
        return Explanation(one_line(text, MAX_LINE), ours)
    known = _by_words(text) or _by_words(_BY_STATUS.get(code, ""))
    if known:
        return known
    said = _said(rest)
    if code.startswith("5"):
        what = f"The provider has a problem ({code})"
        return Explanation(f"{what}: {said}" if said else f"{what}.", "Try again later.")
    if code and said:
        return Explanation(f"The provider refused the request ({code}): {said}")
    return Explanation(_said(text))


def reason_line(message: str, most: int) -> str:
    """Return what happened, for a host; of what means nothing to us, so many characters."""
    what = explain_failure(message).what
    return one_line(message, most) if what == one_line(message, MAX_LINE) else what


def ending_lines(message: str, notes: Sequence[str] = ()) -> tuple[str, ...]:
    """Return all that is said of a run below how it ended: why, what to do, and its notes, once."""
    lines = () if message == STOPPED_ON_REQUEST else explain_failure(message).lines
    return (*lines, *(note for note in notes if not (message and note == NOTE_NO_MODEL)))


def retry_line(event: Retrying) -> str:
    """Return the line about another attempt, with why in words that a person understands."""
    why = explain_failure(event.error_message).what
    return ProgressFormatter().text(replace(event, error_message=why))


def _no_key(provider: str) -> Explanation:
    if provider in ("", "unknown"):
        return NO_MODEL
    return Explanation(f"There is no key for {one_line(provider, 60)}.", NO_MODEL.to_do)


def _by_words(text: str) -> Explanation | None:
    return next((failure for words, failure in _BY_WORDS if words.search(text)), None)


def _said(text: str) -> str:
    """Return a text on one line; of a provider's JSON, the message in it."""
    found: object = None
    if text.startswith("{"):
        with suppress(ValueError, RecursionError):
            found = json.loads(text)
    for _ in range(3):  # {"error": {"message": ...}} is as deep as they go
        if isinstance(found, Mapping):
            found = found.get("message") or found.get("error")
    message = one_line(found, MAX_LINE) if isinstance(found, str) else ""
    return message or one_line(text, MAX_LINE)
