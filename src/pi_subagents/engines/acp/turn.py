"""
What an agent says in one turn, and what that comes to.

In: chunks of messages, updates of calls, the answer to the prompt.  Out: events: a message wherever
the model made one, and at the end the answer, or why there is none.  The end of a turn is no
success: agents report failed requests as turns without an answer, without usage, or with the error
as their text.  What the adapter says is noted, and is no answer.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run import events as ev
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.engines.acp import agent as of_agent
from pi_subagents.engines.acp import messages
from pi_subagents.engines.acp.calls import CallBook
from pi_subagents.engines.acp.reading import (
    as_object,
    as_objects,
    as_text,
    block_text,
    member,
    usage_of,
)
from pi_subagents.engines.acp.said import MAX_ANSWER, Said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.json_rpc import Failure
    from pi_subagents.engines.acp.agent import Agent

NOTE_WIDTH = 500
_ATTEMPT = re.compile(r"(\d{1,6})\s*/\s*(\d{1,6})")
_NOTHING_SAID = "Internal error"
# What a reason to stop means in our words; others are errors.
_STOPS = {"end_turn": "stop", "max_tokens": "length"}


class AgentTurn:
    """One turn, from its prompt to its answer."""

    def __init__(self, agent: Agent, model: str) -> None:
        self._agent = agent
        self.model = model
        self.calls = CallBook()
        self._said = Said()  # since the model's last message began
        self._message_id = ""
        self._used = Usage()  # that no message has yet
        self._fresh = True  # whatever comes next is another answer of the model
        self._last_notice = ""  # of the adapter
        self._retries = 0

    # While it lasts

    def chunk(self, update: Mapping[str, Any]) -> tuple[ev.Event, ...]:
        """Take a piece of a message."""
        text = block_text(update.get("content"))
        message_id = as_text(update.get("messageId"))
        self._used += self._counted(member(update, "_meta", "usage"))
        if not text:
            return (ev.Activity("agent_message_chunk"),)
        if notice := self._notice(text, message_id):
            return notice
        other = bool(self._said and message_id and message_id != self._message_id)
        before = self.message() if other else ()
        self._message_id = message_id or self._message_id
        if self._said.add(text):
            return (*before, ev.Note(messages.answer_cut(MAX_ANSWER)))
        return before or (ev.Activity("agent_message_chunk"),)

    def call(self, events: tuple[ev.Event, ...]) -> tuple[ev.Event, ...]:
        """Return what calls do, after the message that asked for them."""
        began = any(isinstance(each, ev.ToolStarted) for each in events)
        before = self.message() if began else ()
        if any(isinstance(each, ev.ToolFinished) for each in events):
            self._fresh = self._fresh or not self.calls.at_work
        return (*before, *events) or (ev.Activity("tool_call_update"),)

    def message(self) -> tuple[ev.Event, ...]:
        """Return the model's message so far, if it made one."""
        text, used = self._said.text, self._used
        known = self._agent.usage == of_agent.OF_EACH_REQUEST  # then nothing has to be guessed
        if not (text or used != Usage() or (self._fresh and not known)):
            return ()
        self._said.clear()
        self._used, self._fresh = Usage(), False
        return (ev.AssistantMessage(text, **self._by(), usage=used),)

    def trouble(self, update: Mapping[str, Any]) -> tuple[ev.Event, ...]:
        """Take what a session's info says of a request that failed and is made again."""
        if not self._agent.troubles:
            return ()
        found = as_object(member(update, "_meta", *self._agent.troubles))
        why = as_text(found.get("additionalDetails")) or as_text(found.get("message"))
        if found.get("willRetry") is not True or not why:
            return ()
        numbers = _ATTEMPT.search(as_text(found.get("message")))
        attempt, most = map(int, numbers.groups()) if numbers else (0, 0)
        return self._again(attempt, most, 0, why)

    # Its end

    def answered(self, result: Mapping[str, Any], *, stopping: bool) -> tuple[ev.Event, ...]:
        """Return what the turn came to by its answer."""
        used = self._used_in(result)
        text, reason = self._said.text, as_text(result.get("stopReason"))
        refused = self.calls.refused
        stop = _STOPS.get(reason, "aborted" if reason == "cancelled" else "error")
        problem = "" if stop in _STOPS.values() else _PROBLEMS.get(reason, messages.UNKNOWN_ANSWER)
        if stop in _STOPS.values() and (failed := self._why_failed(text, result)):
            stop, problem = "aborted" if stopping else "error", failed
        if refused and problem in (messages.CANCELLED_UNASKED, messages.ENDED_WITHOUT_ANSWER):
            problem = messages.AFTER_A_REFUSED_CALL
        return self._end(text, stop, problem, used)

    def failed(self, failure: Failure) -> tuple[ev.Event, ...]:
        """Return what the turn came to: its request was refused, or its model failed."""
        return self._end(self._said.text, "error", reason_of(failure), self._used)

    def cut_off(self, why: str = "") -> tuple[ev.Event, ...]:
        """Return what was said in a turn that has no answer."""
        stop = "error" if why else ""
        if not (why or self._said):
            return self.calls.close()
        return self._end(self._said.text, stop, why, self._used)

    def _end(self, text: str, stop: str, problem: str, used: Usage) -> tuple[ev.Event, ...]:
        closed = self.calls.close()
        self._said.clear()
        self._used = Usage()
        message = ev.AssistantMessage(text, (), stop, problem, **self._by(), usage=used)
        return (*closed, message)

    def _why_failed(self, text: str, result: Mapping[str, Any]) -> str:
        """Return why an answer is none, or an empty text."""
        no_usage = "usage" in result and result["usage"] is None
        if self._agent.null_usage_fails and no_usage:
            said = self._last_notice or one_line(text, NOTE_WIDTH)
            return error_in(said) or messages.ENDED_WITHOUT_ANSWER
        if text.strip():
            return ""
        if self._retries:
            return messages.ended_after_retries(self._retries)
        return messages.ENDED_WITHOUT_ANSWER

    # What is read

    def _notice(self, text: str, message_id: str) -> tuple[ev.Event, ...]:
        """Return what the adapter itself says, if it does."""
        agent, words = self._agent, text.strip()
        if agent.retrying and (found := re.fullmatch(agent.retrying, words)):
            attempt, most, seconds = (int(each) for each in found.groups())
            return self._again(attempt, most, seconds * 1000, "")
        own = any(re.fullmatch(each, words, re.DOTALL) for each in agent.chatter)
        if not own and (message_id or not agent.answers_have_ids):
            return ()
        self._last_notice = one_line(words, NOTE_WIDTH)
        return (ev.Note(messages.agent_says(self._last_notice)),) if words else ()

    def _again(self, attempt: int, most: int, delay_ms: int, why: str) -> tuple[ev.Event, ...]:
        """Return that a request is made again: what came of it so far will come anew."""
        self._said.clear()
        self._retries += 1
        return (ev.Retrying(attempt, most, delay_ms, why),)

    def _counted(self, given: object) -> Usage:
        return usage_of(given) if self._agent.usage == of_agent.OF_EACH_REQUEST else Usage()

    def _used_in(self, result: Mapping[str, Any]) -> Usage:
        match self._agent.usage:
            case of_agent.OF_TURN | of_agent.OF_LAST_REQUEST:
                return usage_of(result.get("usage"))
            case of_agent.OF_QUOTA:
                return usage_of(member(result, "_meta", "quota", "token_count"))
        return self._used

    def _by(self) -> dict[str, Any]:
        provider, _, model = self.model.rpartition("/")
        return {"provider": provider, "model": model}


def with_cost(events: tuple[ev.Event, ...], cost: float) -> tuple[ev.Event, ...]:
    """Return the end of a turn with what it cost, which is told by other messages."""
    *before, last = events
    if not isinstance(last, ev.AssistantMessage) or cost <= 0:
        return events
    return (*before, replace(last, usage=replace(last.usage, cost=cost)))


def limits_in(events: tuple[ev.Event, ...]) -> tuple[ev.Event, ...]:
    """Return the limit of a provider that a failed message is about, if it is about one."""
    last = events[-1] if events else None
    if not isinstance(last, ev.AssistantMessage) or last.stop_reason != "error":
        return ()
    from pi_subagents.core.run.limited import limit_in  # its patterns take time, few runs need them

    limit = limit_in(last.error_message, provider=last.provider)
    return (limit,) if limit else ()


def reason_of(failure: Failure) -> str:
    """Return what a failure says: some agents have the reason beside the message."""
    data = failure.data
    details = as_text(data) or next(
        (t for key in ("details", "message", "error") if (t := as_text(member(data, key)))), ""
    )
    message = failure.message.removeprefix(_NOTHING_SAID).removeprefix(": ")
    words = [message, details] if details not in message else [message]
    return one_line(": ".join(filter(None, words)), NOTE_WIDTH) or messages.error_code(failure.code)


def error_in(text: str) -> str:
    """Return what an error says that came as an answer, which may be as JSON."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return as_text(member(found, "error", "message")) or as_text(member(found, "message")) or text


_PROBLEMS = {
    "refusal": messages.REFUSED_BY_MODEL,
    "max_turn_requests": messages.TOO_MANY_REQUESTS,
    "cancelled": messages.CANCELLED_UNASKED,
}


def plan_events(number: int, update: Mapping[str, Any]) -> tuple[ev.Event, ...]:
    """Return a plan as the todo list that faces follow: a call of no model, and no work."""
    entries = update.get("entries", member(update, "plan", "entries"))
    todos: list[object] = [
        {"content": as_text(each.get("content")), "status": as_text(each.get("status"))}
        for each in as_objects(entries)
    ]
    call = ev.ToolCall(f"plan-{number}", "write_todos", {"todos": todos}, parent_id="plan")
    done = ev.ToolFinished(call.call_id, call.name, "", failed=False, parent_id="plan")
    return ev.ToolStarted(call), done
