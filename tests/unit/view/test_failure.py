"""Why a run failed, in one line that a person understands and one that says what to do."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import texts, thoroughly

from pi_subagents.core import messages as core_messages
from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.service import messages as service_messages
from pi_subagents.view.failure import MAX_LINE, Explanation, ending_lines, explain_failure

LOGIN = "Log in: subagents pi, then /login."


def anthropic(kind: str, message: str) -> str:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}})


@pytest.mark.parametrize(
    ("message", "what", "to_do"),
    [
        (
            "Cannot reach the cluster at db:5432/a as me: connection refused",
            "Cannot reach the cluster at db:5432/a as me: connection refused",
            "Nothing of it is lost. Look at it: subagents cluster status.",
        ),
        (
            f"401 {anthropic('authentication_error', 'invalid x-api-key')}",
            "The provider refused the key (401).",
            "Check the key: subagents pi, then /login.",
        ),
        (
            "401: Incorrect API key provided: sk-1234.",
            "The provider refused the key (401).",
            "Check the key: subagents pi, then /login.",
        ),
        (
            '429: {"message":"Too many requests"}',
            "The provider limits how often it is asked (429).",
            "Wait a little, or run fewer at once: --concurrency 1.",
        ),
        (
            f"529 {anthropic('overloaded_error', 'Overloaded')}",
            "The provider is overloaded (529).",
            "Try again later, or use --model for another.",
        ),
        (
            f"404 {anthropic('not_found_error', 'model: claude-9')}",
            "The provider does not have this model (404).",
            "Choose one of those that `subagents models` lists, with --model.",
        ),
        (
            f"400 {anthropic('invalid_request_error', 'prompt is too long: 250000 tokens')}",
            "There is more to read than the model can take.",
            "Give it a smaller task or fewer files, or choose a larger model with --model.",
        ),
        (
            "429 You exceeded your current quota (insufficient_quota)",
            "The provider's account has no credit left.",
            "Top it up, or use --model.",
        ),
        (
            "connect ECONNREFUSED 127.0.0.1:9",
            "The provider cannot be reached.",
            "Check the network, and the provider's address if you set one (models.json).",
        ),
        (
            "Connection error.",
            "The provider cannot be reached.",
            "Check the network, and the provider's address if you set one (models.json).",
        ),
        (
            "Sub-agent could not start: No API key found for anthropic. Use /login",
            "There is no key for anthropic.",
            LOGIN,
        ),
        ("No API key found for unknown.", "No model is configured.", LOGIN),
        ("No model selected.", "No model is configured.", LOGIN),
        (
            "Sub-agent could not start: No API key found for the selected model. Use /login",
            "No model is configured.",
            LOGIN,
        ),
        (
            '500 {"error":{"message":"try it again"}}',
            "The provider has a problem (500): try it again",
            "Try again later.",
        ),
        ("503", "The provider has a problem (503).", "Try again later."),
        (
            '400: {"message":"Bad request: no such thing"}',
            "The provider refused the request (400): Bad request: no such thing",
            "",
        ),
        (
            "Sub-agent exited with code 1 without an answer: TypeError: fetch failed",
            "Sub-agent exited with code 1 without an answer: TypeError: fetch failed",
            "Look for the cause: subagents doctor.",
        ),
        (
            (
                'Sub-agent exited with code 1 without an answer: Error: Unknown provider "opanai". '
                "Use --list-models to see available providers/models."
            ),
            'pi has no provider "opanai".',
            "Choose one of those that `subagents models` lists.",
        ),
        (
            "Its worktree could not be made: its commit is a, not b.",
            "Its worktree could not be made: its commit is a, not b.",
            "Nothing was begun. In your own checkout: --workspace shared.",
        ),
        (
            "Sub-agent was killed by SIGKILL before it finished",
            "Sub-agent was killed by SIGKILL before it finished",
            "The machine may have run out of memory; fewer at once: --concurrency 1.",
        ),
        ('{"error": {"message": "as it is"}}', "as it is", ""),
    ],
)
def test_a_failure_is_told_in_a_line_and_what_to_do_in_another(
    message: str, what: str, to_do: str
) -> None:
    assert explain_failure(message) == Explanation(what, to_do)
    assert explain_failure(message).lines == tuple(filter(None, (what, to_do)))


@pytest.mark.parametrize(
    "message",
    [
        core_messages.timed_out(2),
        core_messages.LOOP_DETECTED,
        core_messages.INTERRUPTED,
        service_messages.unknown_profile("billing", ("rate limit", "model not found")),
        service_messages.cwd_missing("/projects/overloaded"),
        "404tests do not pass",
    ],
)
def test_our_own_messages_and_those_that_mean_nothing_stay_as_they_are(message: str) -> None:
    assert explain_failure(message) == Explanation(message)


@thoroughly
@given(
    st.text() | st.lists(texts | st.sampled_from(["401", "500", ": ", '{"message":'])).map("".join)
)
def test_any_text_is_told_on_one_line_each_and_nothing_of_the_unknown_is_lost(text: str) -> None:
    failure = explain_failure(text)
    for line in failure.lines:
        assert line == printable(line)
        assert "\n" not in line
        assert len(line) <= MAX_LINE + 80
    if text.strip() and one_line(text, MAX_LINE):
        assert failure.what


@thoroughly
@given(st.text("xyzäß漢 ", min_size=1).filter(str.strip))
def test_an_unknown_message_is_shown_shortened_to_a_line(text: str) -> None:
    assert explain_failure(f"zq {text}").what == one_line(f"zq {text}", MAX_LINE)


def test_what_is_said_below_an_end_is_said_once() -> None:
    message = "No API key found for anthropic."
    notes = (core_messages.NOTE_NO_MODEL, core_messages.NOTE_LENGTH)
    assert ending_lines(message, notes) == (
        "There is no key for anthropic.", LOGIN, core_messages.NOTE_LENGTH
    )  # fmt: skip
    assert ending_lines("", (core_messages.NOTE_LENGTH,)) == (core_messages.NOTE_LENGTH,)
    assert ending_lines(core_messages.STOPPED_ON_REQUEST) == ()
