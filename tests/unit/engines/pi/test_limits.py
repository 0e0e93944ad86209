"""What our extension says of a response counts for the message that failed for it, once."""

from __future__ import annotations

import json

from pi_subagents.core.run import events as ev
from pi_subagents.engines.pi.conversation import JsonConversation


def appended(kind: str, data: object) -> bytes:
    entry = {"type": "custom", "customType": kind, "data": data}
    return json.dumps({"type": "entry_appended", "entry": entry}).encode()


def failed(why: str) -> bytes:
    message = {"role": "assistant", "stopReason": "error", "errorMessage": why, "provider": "acme"}
    return json.dumps({"type": "message_end", "message": message}).encode()


def limits_in(*lines: bytes) -> list[ev.Event]:
    talk = JsonConversation()
    events = [event for line in lines for event in talk.hears(line, 0)]
    return [event for event in events if isinstance(event, ev.Limited)]


def test_the_time_of_a_response_is_that_of_the_limit_of_the_next_message_alone() -> None:
    reported = appended("pi-subagents-response", {"status": 429, "until": 5000})
    assert limits_in(reported, failed("Slow down"), failed("429"), failed("gone")) == [
        ev.Limited("acme", until_ms=5000, text="Slow down"),
        ev.Limited("acme", text="429"),
    ]


def test_the_status_of_a_response_says_that_words_mean_something_else() -> None:
    reported = appended("pi-subagents-response", {"status": 400})
    assert limits_in(reported, failed("rate limit of your input: too long")) == []


def test_entries_of_others_and_nonsense_in_ours_change_nothing() -> None:
    for data in (None, 7, {"status": "429", "until": -1}, {"until": True}):
        assert limits_in(appended("pi-subagents-response", data), failed("gone")) == []
    other = appended("pi-subagents-response-of-another", {"status": 429})
    assert limits_in(other, failed("gone")) == []
