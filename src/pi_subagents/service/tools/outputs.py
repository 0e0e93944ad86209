"""
What hosts that take values instead of texts get: for each tool a value of bounded size.

In: a tool's answer as the registry returns it.  Out: its structured value.  What is left out is
for painting only (windows, paths beside the run directory); a text that is cut is marked, and what
Unicode cannot encode is replaced: half a character from a child must not cost the connection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pi_subagents.view.answers import MAX_ANSWER, MAX_LISTED_OUTPUT, MAX_OUTPUT, with_short_output

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.tools.tool import Tool

_Value = TypeVar("_Value")
_SURROGATES = re.compile("[\ud800-\udfff]")
_PAINTED = ("windows", "maxLines")


def structured(tool: Tool[Any], answer: Mapping[str, object]) -> JsonObject:
    """Return the value of an answer that is no refusal."""
    details = _mapping(answer["details"])
    kept = {key: value for key, value in details.items() if key not in _PAINTED}
    return tool.structured(kept, answer_text(answer))


def answer_text(answer: Mapping[str, object]) -> str:
    """Return the text of an answer, without the notes beside it."""
    return str(_items(answer, "content")[0]["text"])


def sendable(value: _Value) -> _Value:
    """Return a JSON value whose texts any encoder takes."""
    kept: object = value
    if isinstance(value, str):
        kept = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", value)
    elif isinstance(value, dict):
        kept = {sendable(key): sendable(each) for key, each in value.items()}
    elif isinstance(value, list):
        kept = [sendable(each) for each in value]
    return kept  # type: ignore[return-value]  # of the same kind as the value


# What a tool makes of its details and its text


def with_text(details: JsonObject, text: str) -> JsonObject:
    """Return the details of a session, with the text that was read."""
    return {**details, "text": text}


def short_results(details: JsonObject, _text: str) -> JsonObject:
    """Return results with as much of each output as their number allows."""
    results = _items(details, "results")
    most = MAX_ANSWER if len(results) == 1 else MAX_OUTPUT
    return {**details, "results": [with_short_output(each, most) for each in results]}


def short_run(details: JsonObject, _text: str) -> JsonObject:
    """Return one background run, with its directory alone."""
    return _row(details, MAX_ANSWER)


def short_runs(details: JsonObject, _text: str) -> JsonObject:
    """Return background runs with as much of each output as their number allows."""
    runs = _items(details, "runs")
    most = MAX_ANSWER if len(runs) == 1 else MAX_LISTED_OUTPUT
    return {**details, "runs": [_row(run, most) for run in runs]}


def _row(run: Mapping[str, object], most: int) -> JsonObject:
    row = {key: value for key, value in run.items() if key != "paths"}
    return with_short_output({**row, "runDir": str(_mapping(run["paths"]).get("runDir", ""))}, most)


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, Mapping)
    return value


def _items(value: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    items = value[key]
    assert isinstance(items, list)
    return items
