"""
What hosts that take values instead of texts get: for each tool a value of bounded size.

In: a tool's answer as the registry returns it.  Out: its structured value, which some hosts put
before their model in place of the text: so it has what the text has, in as many characters, and no
word of what is empty, zero, repeated from the call or for painting.  A text that is cut is marked,
and what Unicode cannot encode is replaced: half a character from a child must not cost the
connection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.result import answer_with_value
from pi_subagents.core.session.next_calls import read_on
from pi_subagents.core.settings import InlineAnswers
from pi_subagents.view.answers import (
    MAX_ANSWER,
    MAX_LISTED_OUTPUT,
    MAX_OUTPUT,
    value_beside,
    with_bounded_value,
    with_short_output,
)
from pi_subagents.view.inline_answers import shares, shortened_answer

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.tools.tool import Tool

_Value = TypeVar("_Value")
_SURROGATES = re.compile("[\ud800-\udfff]")
_PAINTED = ("windows", "maxLines", "inlineAnswers")
# A session's id stands for its run everywhere, and what was asked for is known to whoever asked.
_NOT_NEEDED = ("runId", "task", "cwd", "requestedModel", "resolvedModel")
_MEANT_EMPTY = ("text", "value")  # what these hold is an answer, whatever it is


def structured(tool: Tool[Any], answer: Mapping[str, object]) -> JsonObject:
    """Return the value of an answer that is no refusal."""
    value = tool.structured(dict(_mapping(answer["details"])), answer_text(answer))
    return {key: each for key, each in value.items() if each is not None}


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
    return compact({**details, "text": text})


def short_results(details: JsonObject, _text: str) -> JsonObject:
    """Return results with as much of each output as the text has; where it has none, as it was."""
    results = _items(details, "results")
    room = InlineAnswers(**_mapping(details["inlineAnswers"]))  # type: ignore[arg-type]  # two numbers
    if not room.each:
        most = MAX_ANSWER if len(results) == 1 else MAX_OUTPUT
        room = InlineAnswers(most, most * len(results))
    given = shares((len(str(each["output"]) + value_beside(each)) for each in results), room)
    kept = {key: value for key, value in details.items() if key != "sessionIds"}
    shown = [_result(each, most) for each, most in zip(results, given, strict=True)]
    return {**compact(kept), "results": shown}


def _result(result: Mapping[str, object], most: int) -> JsonObject:
    shown = _with_short_check(_with_answer(result, most))
    return compact({key: value for key, value in shown.items() if key not in _NOT_NEEDED})


def _with_short_check(run: Mapping[str, object]) -> Mapping[str, object]:
    """Return a run with the end of what its check printed, where that says why it failed."""
    checked = run.get("checked")
    if not isinstance(checked, Mapping):
        return run
    tail = "" if checked["passed"] else str(checked["tail"])[-MAX_LISTED_OUTPUT:]
    return {**run, "checked": {**checked, "tail": tail}}


def _with_answer(run: Mapping[str, object], most: int) -> Mapping[str, object]:
    """Return a run with so much of its value and output, and the call that reads the rest."""
    output, session_id = str(run["output"]), str(run["sessionId"])
    beside, (run, left) = value_beside(run), with_bounded_value(run, most)
    if beside and run.get("valueLeftOut") and not run.get("nextCall"):
        whole = answer_with_value(output, beside)
        run["nextCall"] = read_on(session_id, whole.rindex(beside), len(beside))
    if len(output) <= left:
        return run
    short = shortened_answer(output, left, session_id)
    return {**run, "output": short, "outputTruncated": True}


def short_run(details: JsonObject, _text: str) -> JsonObject:
    """Return one background run, with its directory alone."""
    return _row(details, MAX_ANSWER)


def short_runs(details: JsonObject, _text: str) -> JsonObject:
    """Return background runs with as much of each output as their number allows."""
    runs = _items(details, "runs")
    most = MAX_ANSWER if len(runs) == 1 else MAX_LISTED_OUTPUT
    rows = [_row(run, most) for run in runs]
    return {"counts": compact(_mapping(details["counts"])), "runs": rows}


def _row(run: Mapping[str, object], most: int) -> JsonObject:
    row = {key: value for key, value in _with_short_check(run).items() if key != "paths"}
    row["task"] = one_line(str(run["task"]), MAX_LISTED_OUTPUT)
    row["runDir"] = _mapping(run["paths"]).get("runDir", "")
    if isinstance(counts := run.get("counts"), Mapping):
        row["counts"] = compact(counts)
    if most < MAX_ANSWER:
        return compact(with_short_output(row, most))
    return compact(_with_answer(row, most))


def compact(value: Mapping[str, object]) -> JsonObject:
    """Return the value without what is empty, zero or for painting; what was used likewise."""
    kept: JsonObject = {}
    for key, each in value.items():
        shown = _used(each) if key == "usage" and isinstance(each, Mapping) else each
        if (shown or key in _MEANT_EMPTY) and key not in _PAINTED:
            kept[key] = shown
    return kept


def _used(usage: Mapping[str, object]) -> JsonObject:
    cost = usage.get("cost")
    return compact({**usage, "cost": compact(cost) if isinstance(cost, Mapping) else cost})


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, Mapping)
    return value


def _items(value: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    items = value[key]
    assert isinstance(items, list)
    return items
