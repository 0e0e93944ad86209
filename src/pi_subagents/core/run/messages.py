"""The words about what runs wait for: answers to questions, and limits of providers."""

from __future__ import annotations

from pi_subagents.core.plain_text import shortened

ANSWER_TOO_LATE = "The question is closed: somebody answered it before, or its time was over."
NO_SUCH_QUESTION = "It has not asked that."
NOBODY_ANSWERED = "Nobody answered in time."
ASKED_NO_MORE = "The sub-agent went on without an answer."


def not_an_option(options: tuple[str, ...]) -> str:
    """Return why an answer does not count, with what would."""
    shown = "\n".join(_numbered(tuple(shortened(each, 100) for each in options[:20])))
    return f"Answer with one of the options, by its number or its words:\n{shown}"


def answer_given(name: str) -> str:
    """Return that an answer was the first."""
    return f"Answered: {name} goes on."


def answer_refused(name: str, reason: str) -> str:
    """Return that an answer does not count, and why."""
    return f"Not taken as an answer to {name}. {reason}"


def question_shown(name: str, text: str, options: tuple[str, ...]) -> str:
    """Return a question with what it can be answered."""
    return "\n".join([f"{name} asks:", text, *_numbered(options)])


def asks_model(text: str, options: tuple[str, ...]) -> str:
    """Return a question for a main model, and how it is answered."""
    return "\n".join(["It asks (answer_subagent answers):", text, *_numbered(options)])


def _numbered(options: tuple[str, ...]) -> list[str]:
    return [f"{number}. {option}" for number, option in enumerate(options, 1)]


def asks(text: str) -> str:
    """Return what a sub-agent waits for, as lists show it."""
    return f"asks: {text}"


def reply_line(status: str, text: str, reason: str) -> str:
    """Return the line that shows an answer among what a sub-agent does."""
    if status == "given":
        return f"answered: {text}"
    return f"answer refused: {text} ({reason})" if status == "refused" else f"no answer: {reason}"
