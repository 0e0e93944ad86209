"""
The program that checks answers and schemas: one question on standard input, one reply.

In: `{"schema": ..., "value": ...}`, or a schema alone.  Out: `{"problem": text}`, empty where all
is well.  A process of its own, under limits: what a schema makes a regular expression do may take
for ever, and whoever asks may not be held up.  It imports nothing of ours.
"""

from __future__ import annotations

import json
import resource
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_PROBLEMS = 3
MAX_WORDS = 300
CPU_LIMIT_S = 2
MEMORY_LIMIT = 1024 * 1024 * 1024
_ANYTHING: tuple[object, ...] = (None, 0, "", [], {})
DATA = ("const", "enum", "default", "examples")  # what looks like a reference there is none


def main() -> None:
    """Answer the question."""
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, CPU_LIMIT_S),
        (resource.RLIMIT_AS, MEMORY_LIMIT),
    ):
        hard = resource.getrlimit(kind)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (limit, limit))
    asked = json.load(sys.stdin)
    try:
        problem = problem_with(**asked)
    except RecursionError:
        problem = "the schema refers to itself without end"
    json.dump({"problem": problem}, sys.stdout)


def problem_with(schema: Any, **given: Any) -> str:
    """Return what is wrong with a schema, or with a value for it; nothing where it fits."""
    from jsonschema import (  # type: ignore[import-untyped]  # it has no types
        Draft202012Validator,
        SchemaError,
    )
    from referencing import Registry

    if not given:
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            return _in_words(error)
    # Without a registry of its own it would fetch what a schema refers to.
    validator = Draft202012Validator(schema, registry=Registry())
    if not given:
        _try_references(validator)
        return ""
    found = validator.iter_errors(given["value"])
    # The first few in the order of the schema: what a model can mend at once.
    return "; ".join(_in_words(error) for error in islice(found, MOST_PROBLEMS))


def _try_references(validator: Any) -> None:
    """Follow each reference where nothing is nested: one that never ends, or takes long, shows."""
    for part in _parts_with_references(validator.schema):
        for anything in _ANYTHING:
            list(validator.evolve(schema=part).iter_errors(anything))


def _parts_with_references(part: Any) -> Iterator[Any]:
    if isinstance(part, dict):
        if any(isinstance(part.get(key), str) for key in ("$ref", "$dynamicRef")):
            yield part
        part = [inner for key, inner in part.items() if key not in DATA]
    for inner in part if isinstance(part, list) else ():
        yield from _parts_with_references(inner)


def _in_words(error: Any) -> str:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in error.absolute_path)
    path = "".join(f"/{step}" for step in steps)
    words = " ".join(error.message.split())
    # What is wrong stands at the end, behind the value.
    short = (
        words
        if len(words) <= MAX_WORDS
        else f"{words[: MAX_WORDS // 2]}…{words[-MAX_WORDS // 2 :]}"
    )
    return f"{path}: {short}" if path else short


if __name__ == "__main__":
    main()
