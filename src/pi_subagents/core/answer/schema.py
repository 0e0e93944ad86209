"""
The schema that an answer has to fit (JSON Schema 2020-12), within limits.

In: what a caller, a file or a program gives.  Out: plain JSON, or InvalidRequest with the place and
what is wrong there.  The limits keep every later step quick: a schema is small and flat enough to
be read in no time, and refers to nothing but itself.  Whether it is a schema at all, a library
decides (`system/schema_check.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pi_subagents.core.answer import messages
from pi_subagents.core.answer.finding import MAX_DEPTH as MAX_NESTING
from pi_subagents.core.answer.finding import is_too_deep
from pi_subagents.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.core.value import JsonObject

MAX_BYTES = 64 * 1024
MAX_OVER_LINES = 512 * 1024  # as `meta.json` has it
MAX_DEPTH = 32
MAX_PARTS = 4000
MAX_PATTERN = 500
MAX_VALUE = 4 * 1024 * 1024  # characters of JSON
DIALECT = "https://json-schema.org/draft/2020-12/schema"
# What is said about data, not about parts of the schema: no keyword is in there.
DATA = ("const", "enum", "default", "examples")
# Parts by names of the caller's: whatever such a name is, it is no keyword.
NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
REFERENCES = ("$ref", "$dynamicRef")
_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")


def schema_of(given: object) -> object:
    """Return the schema that is meant: that of a model class, or what was given."""
    describe = getattr(given, "model_json_schema", None)  # of pydantic, if the caller has it
    return describe() if isinstance(given, type) and describe is not None else given


def parts_in(keyword: str, inner: object) -> object:
    """Return what a keyword has of parts of the schema: nothing in data; named ones, as a list."""
    if keyword in NAMED and isinstance(inner, dict):
        return [*inner.values()]
    return None if keyword in DATA else inner


def checked_schema(where: str, given: object) -> JsonObject:
    """Return the schema as plain JSON; InvalidRequest where it is none, or beyond the limits."""
    try:
        schema = schema_of(given)
    except Exception as error:  # a class of the caller's describes itself
        raise InvalidRequest(where, messages.schema_not_json(str(error))) from error
    if not isinstance(schema, Mapping):
        raise InvalidRequest(where, messages.NEEDS_SCHEMA)
    try:
        text = json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(where, messages.schema_not_json(str(error))) from error
    if len(text) > MAX_BYTES:
        raise InvalidRequest(where, messages.schema_too_large(MAX_BYTES))
    plain: JsonObject = json.loads(text)
    if is_too_deep(plain):  # no value goes that deep, so data in the schema need not either
        raise InvalidRequest(where, messages.schema_too_deep(MAX_NESTING))
    if len(json.dumps(plain, indent=2)) > MAX_OVER_LINES:
        raise InvalidRequest(where, messages.schema_too_large(MAX_OVER_LINES, over_lines=True))
    if problem := next(_problems(plain), ""):
        raise InvalidRequest(where, problem)
    return plain


def _problems(schema: JsonObject) -> Iterator[str]:
    dialect = schema.get("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.rstrip("#") != DIALECT:
        yield messages.other_dialect(str(dialect))
    anchors: set[str] = set()
    references: list[str] = []
    level: list[Any] = [schema]
    count = 0
    for depth in range(MAX_DEPTH + 1):
        count += len(level)
        if count > MAX_PARTS:
            yield messages.schema_has_too_many_parts(MAX_PARTS)
            return
        for part in level:
            if isinstance(part, dict):
                names = (part.get(key) for key in ("$anchor", "$dynamicAnchor"))
                anchors |= {name for name in names if isinstance(name, str)}
                references += [part[key] for key in REFERENCES if isinstance(part.get(key), str)]
                if depth and isinstance(part.get("$id"), str):
                    yield messages.INNER_ID
                yield from _pattern_problems(part)
        level = [inner for part in level for inner in _inner(part)]
        if not level:
            break
    else:
        yield messages.schema_too_deep(MAX_DEPTH)
        return
    for reference in references:
        if not reference.startswith("#"):
            yield messages.remote_reference(reference)
        elif not (reference[1:] in anchors or _leads_somewhere(schema, reference[1:])):
            yield messages.reference_leads_nowhere(reference)


def _inner(part: object) -> Iterator[object]:
    if isinstance(part, dict):
        yield from (parts_in(key, inner) for key, inner in part.items())
    elif isinstance(part, list):
        yield from part


def _pattern_problems(part: Mapping[str, object]) -> Iterator[str]:
    named = part.get("patternProperties")
    patterns = [*(named if isinstance(named, dict) else ()), part.get("pattern")]
    for pattern in patterns:
        if not isinstance(pattern, str):
            continue
        if len(pattern) > MAX_PATTERN:
            yield messages.pattern_too_long(MAX_PATTERN)
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            yield messages.no_pattern(pattern, str(error))


def _leads_somewhere(schema: object, pointer: str) -> bool:
    """Return whether a JSON pointer, as it stands in a reference, names a part."""
    escaped = pointer.encode("utf-8", "replace")
    pointer = _PERCENT.sub(lambda byte: bytes.fromhex(byte[1].decode()), escaped).decode(
        "utf-8", "replace"
    )
    if pointer and not pointer.startswith("/"):
        return False
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict) and key in schema:
            schema = schema[key]
        elif isinstance(schema, list) and key.isdecimal() and int(key) < len(schema):
            schema = schema[int(key)]
        else:
            return False
    return True
