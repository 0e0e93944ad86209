"""
Keep, per conversation, how far its script has been played and what was requested.

One Conversations serves every thread of the server.  The position advances with every request,
not with every answer that arrived: a 429 or a cut stream is followed by the next turn.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents.core.offline.script import HttpError, Turn
from pi_subagents.core.value import replace
from pi_subagents.engines.offline.chat import (
    first_user_text,
    last_user_text,
    messages_of,
    tool_names,
)
from pi_subagents.engines.offline.rules import reply_to

if TYPE_CHECKING:
    from pi_subagents.core.offline.script import Script
    from pi_subagents.engines.offline.wire import ChatRecord

CONVERSATION = r"[A-Za-z0-9_-]{1,64}"
DEFAULT_CONVERSATION = "default"
# Under this name many are served that have no addresses of their own: each first prompt is one.
EACH_PROMPT = "each-prompt"


@dataclass(slots=True)
class _Conversation:
    kept: deque[ChatRecord]
    count: int = 0
    turns: tuple[Turn, ...] | None = None


class Conversations:
    """The state of every conversation, with a script (or None: follow the rules)."""

    def __init__(self, script: Script | None, *, keep_requests: int) -> None:
        self._pace_ms = script.rules_pace_ms if script else None
        self._script = script if self._pace_ms is None else None
        self._keep_requests = keep_requests
        self._known: dict[str, _Conversation] = {}
        self._changed = threading.Condition()

    def answer(self, conversation: str, body: ChatRecord) -> tuple[int, Turn]:
        """Record a request; return its number in the conversation (from 1) and its answer."""
        if conversation == EACH_PROMPT:
            conversation = f"{EACH_PROMPT} {first_user_text(messages_of(body))}"
        with self._changed:
            state = self._known.get(conversation)
            if state is None:
                state = self._known[conversation] = _Conversation(deque(maxlen=self._keep_requests))
                if self._script is not None:
                    state.turns = self._script.turns_for(last_user_text(messages_of(body)))
            state.count += 1
            state.kept.append(body)
            number, turns = state.count, state.turns
            self._changed.notify_all()
        if self._script is None:
            one_at_a_time = self._pace_ms is not None
            turn = reply_to(messages_of(body), tool_names(body), one_at_a_time=one_at_a_time)
            return number, replace(turn, delay_ms=self._pace_ms or 0)
        return number, _by_script(turns, number)

    def requests(self, conversation: str) -> list[ChatRecord]:
        """Return the kept requests of a conversation, oldest first."""
        with self._changed:
            state = self._known.get(conversation)
            return [] if state is None else list(state.kept)

    def wait_for_request(self, conversation: str, number: int, timeout_s: float) -> None:
        """Return once the conversation has had so many requests; raises TimeoutError."""

        def arrived() -> bool:
            state = self._known.get(conversation)
            return state is not None and state.count >= number

        with self._changed:
            if not self._changed.wait_for(arrived, timeout_s):
                raise TimeoutError(f"request {number} of {conversation} did not come")


def _by_script(turns: tuple[Turn, ...] | None, number: int) -> Turn:
    if turns is None:
        problem = "no conversation of the script matches the prompt, and it has no default"
        return Turn(error=HttpError(400, problem))
    for turn in turns[:number]:
        if turn.repeat:
            return turn
    if number > len(turns):
        held = f"{len(turns)} turn{'' if len(turns) == 1 else 's'}"
        problem = f"the script has {held}; this is request {number}"
        return Turn(error=HttpError(400, problem))
    return turns[number - 1]
