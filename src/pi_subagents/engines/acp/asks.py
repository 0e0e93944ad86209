"""
The permission requests of one run: answered by the profile's words, or by somebody.

Clock-free.  In: requests, answers, the time.  Out: events for the journal, and one response to each
request, whatever happens.  An option is chosen by its kind, never by its id; one that would hold
for good is not offered where one for this once is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.profile.permissions import ALLOWED, DENIED, WORDS
from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.run.question import asked, meant_option
from pi_subagents.core.value import value
from pi_subagents.engines.acp import messages
from pi_subagents.engines.acp.reading import as_objects, as_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.json_rpc import Id
    from pi_subagents.core.profile.permissions import Permissions
    from pi_subagents.engines.acp.agent import Agent
    from pi_subagents.engines.acp.calls import KnownCall
    from pi_subagents.engines.acp.requests import Requests

MAX_QUESTIONS = 200  # of one run: while it asks, its time stands still
_ALLOW, _REJECT = ("allow_once", "allow_always"), ("reject_once", "reject_always")
CANCELLED: Mapping[str, object] = {"outcome": {"outcome": "cancelled"}}


@value
class AskedOption:
    """One option of a request."""

    option_id: str
    name: str
    kind: str


@value
class OpenAsk:
    """A request that waits for somebody."""

    request: Id
    choices: tuple[AskedOption, ...]
    names: tuple[str, ...]
    due: float
    call: KnownCall


class OpenAsks:
    """The requests that wait, by the numbers of their questions."""

    def __init__(self, agent: Agent, out: Requests) -> None:
        self._agent = agent
        self._out = out
        self.permissions: Permissions | None = None
        self.own_tools: tuple[str, ...] = ()
        self.within_s = 0.0  # how long a question waits; 0: nobody is asked
        self._open: dict[str, OpenAsk] = {}
        self._asked = 0

    @property
    def waiting(self) -> bool:
        """Return whether a question waits for its answer."""
        return bool(self._open)

    def requested(
        self, request: Id, params: Mapping[str, Any], call: KnownCall, now: float
    ) -> tuple[ev.Event, ...]:
        """Answer a request by the profile's words, or have somebody asked."""
        choices = tuple(
            AskedOption(
                as_text(each.get("optionId")), as_text(each.get("name")), as_text(each.get("kind"))
            )
            for each in as_objects(params.get("options"))
        )
        is_question = self._is_question(call, choices)
        word = self.word_for(call)
        if not is_question and word == ALLOWED:
            call.allowed = self._choose(request, choices, _ALLOW)
            return () if call.allowed else (ev.Note(messages.cannot_allow(call.title)),)
        if not is_question and word == DENIED:
            call.refused = True
            self._choose(request, choices, _REJECT)
            return (ev.Note(messages.denied(call.group, call.title)),)
        if not self.within_s or self._asked >= MAX_QUESTIONS or not choices:
            call.refused = not is_question
            self._choose(request, choices, () if is_question else _REJECT)
            return (ev.Note(messages.nobody_to_ask(call.title)),)
        offered = choices if is_question else _for_once(choices)
        self._asked += 1
        number = str(self._asked)
        names = tuple(map(_name, offered)) if is_question else _words(offered)
        self._open[number] = OpenAsk(request, offered, names, now + self.within_s, call)
        text = call.title if is_question else messages.may_it(call.group, _about(call))
        return (asked(number, text, names, self.within_s),)

    def word_for(self, call: KnownCall) -> str:
        """Return the profile's word for a call, the strictest of all kinds that it is of."""
        if self.permissions is None or call.tool_is_one_of(self.own_tools):
            return ALLOWED
        kinds = {call.group, self._agent.also.get(call.group, call.group)}
        return max((self.permissions.by_kind[kind] for kind in kinds), key=WORDS.index)

    def answer(self, question: str, reply: str, text: str) -> ev.Replied:
        """Give an answer to the agent; the first one counts."""
        if question not in self._open:
            known = question.isdecimal() and 1 <= int(question[:9]) <= self._asked
            reason = run_messages.ANSWER_TOO_LATE if known else run_messages.NO_SUCH_QUESTION
            return ev.Replied(question, ev.REFUSED, text, reason, reply)
        ask = self._open[question]
        if (said := meant_option(ask.names, text)) is None:
            reason = run_messages.not_an_option(ask.names)
            return ev.Replied(question, ev.REFUSED, text, reason, reply)
        del self._open[question]
        chosen = ask.choices[ask.names.index(said)]
        ask.call.allowed, ask.call.refused = chosen.kind in _ALLOW, chosen.kind in _REJECT
        self._respond(ask.request, chosen)
        return ev.Replied(question, ev.GIVEN, said, "", reply)

    def deadline(self) -> float | None:
        """Return when the next question has waited long enough."""
        return min((ask.due for ask in self._open.values()), default=None)

    def overdue(self, now: float) -> list[ev.Event]:
        """Close what has waited long enough."""
        due = [number for number, ask in self._open.items() if now >= ask.due]
        return [self._close(number, run_messages.NOBODY_ANSWERED) for number in due]

    def withdrawn(self, request: object) -> list[ev.Event]:
        """Close what its agent no longer asks."""
        gone = [number for number, ask in self._open.items() if ask.request == request]
        return [self._close(number, messages.WITHDRAWN) for number in gone]

    def close(self, reason: str) -> list[ev.Event]:
        """Close them all."""
        return [self._close(number, reason) for number in list(self._open)]

    def _close(self, number: str, reason: str) -> ev.Event:
        self._respond(self._open.pop(number).request, None)
        return ev.Replied(number, ev.UNANSWERED, reason=reason)

    def _is_question(self, call: KnownCall, choices: tuple[AskedOption, ...]) -> bool:
        """Return whether it is no permission that is asked for: every answer would give it."""
        ids = self._agent.question_ids
        same = len(choices) > 1 and len({choice.kind for choice in choices}) == 1
        return same or bool(ids and call.call_id.startswith(ids))

    def _choose(
        self, request: Id, choices: tuple[AskedOption, ...], kinds: tuple[str, ...]
    ) -> bool:
        """Respond with the first option of these kinds; without one, that nothing was chosen."""
        found = (choice for kind in kinds for choice in choices if choice.kind == kind)
        chosen = next(found, None)
        self._respond(request, chosen)
        return chosen is not None

    def _respond(self, request: Id, chosen: AskedOption | None) -> None:
        selected = {"outcome": "selected", "optionId": chosen.option_id} if chosen else {}
        result = {"outcome": selected} if chosen else CANCELLED
        self._out.respond(request, result)


def _for_once(choices: tuple[AskedOption, ...]) -> tuple[AskedOption, ...]:
    """Return what may be offered: an option for good only where there is none for once."""
    kinds = {choice.kind for choice in choices}
    for_good = {"allow_always": "allow_once", "reject_always": "reject_once"}
    return tuple(choice for choice in choices if for_good.get(choice.kind) not in kinds)


def _words(choices: tuple[AskedOption, ...]) -> tuple[str, ...]:
    """Return the options in our words, where these say all that is meant."""
    words = tuple(messages.ALLOW if each.kind in _ALLOW else messages.DENY for each in choices)
    return words if len(set(words)) == len(words) else tuple(map(_name, choices))


def _name(choice: AskedOption) -> str:
    return one_line(choice.name, 200) or choice.kind or choice.option_id


def _about(call: KnownCall) -> str:
    shown = call.as_call()
    arguments = shown.arguments or {}
    said = [str(arguments[key]) for key in ("command", "path", "url") if key in arguments]
    return "\n".join(dict.fromkeys((call.title, *said)))
