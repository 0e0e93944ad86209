"""What `engines/acp` says to people and models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

NOT_ON_PATH = "is not on PATH"
UNKNOWN_LIKE = "names no agent that is known"
NOT_RUNNABLE = "is not the absolute path of a program"
INSIDE_CWD = "is on PATH inside the working directory only, and not used from there"
ENDED_WITHOUT_ANSWER = (
    "The agent ended its turn without an answer: its model request probably failed, which it does "
    "not report. Look at the run's stderr.log, and at the agent itself."
)
REFUSED_BY_MODEL = "The model refused to answer."
TOO_MANY_REQUESTS = "The agent ended its turn at its own limit of model requests."
CANCELLED_UNASKED = "The agent ended its turn before it was done, though nobody asked it to."
NO_END = "The agent did not end its turn when it was asked to."
NOT_SERVED = "this client does not serve it"
NOT_BY_PROFILE = "the profile of this run does not allow it"
NO_FILE = "it is no file"
NO_TEXT = "it is no text in UTF-8, and would not come back as it was"
NEEDS_CONTENT = "needs its content, as text"
AFTER_A_REFUSED_CALL = "The agent ended its turn without an answer after a call it may not make."
ALLOW, DENY = "Allow", "Deny"  # as permissions are answered with every engine
NO_RESULT = "No result came."
WITHDRAWN = "the agent no longer asks"
SESSION_UNREADABLE = "what was kept of it cannot be read"
ORDERS_UNREADABLE = "The orders of this run cannot be read."
NO_SESSION_ID = "The agent opened a session without an id."
UNKNOWN_ANSWER = "The agent's answer says neither how the turn ended nor what went wrong."


def agent_unknown(name: str, known: Sequence[str]) -> str:
    """Return why an engine's name means nothing."""
    return (
        f'there is no agent "{name}": use one of {", ".join(known)}, or give its command in the '
        "global settings"
    )


def be_like(known: Sequence[str]) -> str:
    """Return what a user's own agent can be said to be like."""
    return f"Known are {', '.join(known)}; without it only the protocol counts."


def did_not_start(exit_code: int | None, words: str) -> str:
    """Return that an agent was started and said nothing that counts."""
    end = "did not answer in time" if exit_code is None or exit_code < 0 else f"ended ({exit_code})"
    return f"It {end}. {words}".strip()


def how_to_install(package: str) -> str:
    """Return how an agent gets there."""
    return f"Install it: `npm install -g {package}`." if package else "Give its whole path."


def session_elsewhere(place: str) -> str:
    """Return why an agent cannot go on with a session here."""
    return f"the agent keeps it for {place}"


def session_of_other_agent(agent: str) -> str:
    """Return why a session is of no use."""
    return f"it is one of the agent {agent}"


def prompt_too_long(limit: int) -> str:
    """Return why a system prompt cannot be handed over."""
    return f"is longer than {limit // 1024} KiB, which this agent takes at most"


def answer_cut(limit: int) -> str:
    """Return that of a message only its beginning is kept."""
    return f"The agent said more than {limit // 1024 // 1024} M characters: the rest is left out."


def ended_after_retries(count: int) -> str:
    """Return what a turn without an answer came to that asked its model several times."""
    times = "once" if count == 1 else f"{count} times"
    return f"The agent asked its model again {times}, and ended its turn without an answer."


def agent_says(words: str) -> str:
    """Return a note of what an adapter itself says."""
    return f"The agent says: {words}"


def error_code(code: int) -> str:
    """Return what is known of an error without words."""
    return f"The agent answered with error {code}."


def changed(path: str) -> str:
    """Return what a diff is about."""
    return f"changed {path}"


def denied(kind: str, title: str) -> str:
    """Return that a call was not allowed."""
    return f"Not allowed by the profile ({kind}): {title}"


def cannot_allow(title: str) -> str:
    """Return that an agent asked and offered nothing that allows the call."""
    return f"The agent asked and offered no option that allows it: {title}"


def nobody_to_ask(title: str) -> str:
    """Return that a question was closed at once."""
    return f"The agent asked, and there is nobody to ask: {title}"


def may_it(kind: str, about: str) -> str:
    """Return the question that a permission request is."""
    return f"May the sub-agent do this ({kind})?\n\n{about}"


def other_protocol(version: object) -> str:
    """Return why an agent cannot be spoken to."""
    known = isinstance(version, str | int | float)
    said = f"version {one_line(str(version), 20)}" if known else "no known version"
    return f"it speaks {said} of the Agent Client Protocol, and not 1"


def no_word(step: str, seconds: float) -> str:
    """Return that an agent did not answer a request before the prompt."""
    return (
        f"the agent did not answer `{step}` within {seconds:.0f} s: it hangs, or it does not speak "
        "the Agent Client Protocol"
    )


def step_failed(step: str, reason: str) -> str:
    """Return that an agent refused a request before the prompt."""
    return f"the agent refused `{step}`: {reason}"


def not_logged_in(login: str, ways: Sequence[str]) -> str:
    """Return what to type so that an agent can work."""
    offered = f" It offers: {'; '.join(ways)}." if ways else ""
    how = f" Type: {login}." if login else ""
    return f"the agent is not logged in.{how}{offered}"


def not_offered(what: str, wanted: str, offered: Sequence[str]) -> str:
    """Return that a session cannot be set to what a profile wants."""
    if not offered:
        return f"this agent offers no choice of a {what}, and {wanted} was asked for"
    return f"this agent has no {what} {wanted}; it offers {', '.join(offered)}"


def no_native_resume(session: str) -> str:
    """Return why an agent cannot go on with its session."""
    return f"the agent opens no earlier session, and was to go on with {session}"


def silent(seconds: float) -> str:
    """Return why a turn was ended that never would."""
    return (
        f"The agent has said nothing for {seconds:.0f} s: it probably waits for its model, which "
        "it does not report."
    )


def unpermitted(kind: str, title: str) -> str:
    """Return why a turn was ended: what the profile does not allow was done unasked."""
    return f"The agent did without asking what the profile does not allow ({kind}): {title}"


def steer_refused(reason: str) -> str:
    """Return why a message did not reach the agent."""
    return f"The agent did not take it: {reason}."


def outside_workspace(path: str) -> str:
    """Return why a file is not served."""
    return f"{path or 'a file without a path'} is not in the workspace of this run"


def too_large(limit: int) -> str:
    """Return why a file is not read."""
    return f"it has more than {limit // 1024 // 1024} MiB"
