"""What is said about schemas and the answers that have to fit them."""

from __future__ import annotations


def answer_in_json(schema: str) -> str:
    """Return what follows a prompt where the child has no tool to answer with."""
    return (
        "Answer with JSON only: no other words, no code fence. "
        f"It has to fit this JSON Schema:\n{schema}"
    )


def answer_again(problem: str, schema: str, *, by_tool: bool) -> str:
    """Return what the child is told about an answer that does not fit."""
    how = "Call submit_answer with it, or answer" if by_tool else "Answer"
    return (
        f"Your answer cannot be used: {problem}.\n\n{how} with JSON only, no other words. "
        f"It has to fit this JSON Schema:\n{schema}"
    )


# What can be wrong with a parameter: the schema of an answer.

NEEDS_SCHEMA = "must be a JSON schema: an object"
INNER_ID = "has an `$id` inside; leave it out, nothing but the schema itself is referred to"


def schema_not_json(reason: str) -> str:
    """Return why a schema that a program gave is none."""
    return f"is no plain JSON: {reason}"


def schema_too_large(most_bytes: int, *, over_lines: bool = False) -> str:
    """Return why a schema is refused for its size."""
    laid_out = ", laid out over lines" if over_lines else ""
    return f"is larger than {most_bytes // 1024} KB{laid_out}"


def schema_too_deep(most: int) -> str:
    """Return why a schema is refused for its depth."""
    return f"is nested more than {most} levels deep"


def schema_has_too_many_parts(most: int) -> str:
    """Return why a schema is refused for how much there is in it."""
    return f"has more than {most} parts"


def other_dialect(dialect: str) -> str:
    """Return why a schema of another version is refused."""
    return f"is written in {dialect[:100]}; only JSON Schema 2020-12 is read"


def remote_reference(reference: str) -> str:
    """Return why a schema that needs another is refused."""
    return (
        f"refers to {reference[:100]}; only references into the schema itself (#...) are followed"
    )


def reference_leads_nowhere(reference: str) -> str:
    """Return why a schema that lacks a part of its own is refused."""
    return f"refers to {reference[:100]}, which is not in it"


def pattern_too_long(most: int) -> str:
    """Return why a schema is refused for a pattern."""
    return f"has a pattern of more than {most} characters"


def no_pattern(pattern: str, reason: str) -> str:
    """Return why a pattern is none."""
    return f"has the pattern {pattern[:60]!r}, which is none: {reason}"


# Messages of outcomes: what is wrong with an answer that has to fit a schema.

NOT_CHECKED = "it could not be checked within the limits of time and memory"
NO_JSON = "there is no JSON in the answer"
NESTED_TOO_DEEP = "its value is nested too deeply"


def value_too_large(most: int) -> str:
    """Return why an answer is too large to be a value."""
    return f"it has more than {most} characters"


def answer_does_not_fit(problem: str) -> str:
    """Return the message of a task that failed for its answer."""
    return f"The answer does not fit the schema: {problem}"
