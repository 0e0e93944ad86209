"""
The records of pi's RPC mode that are not events of a run, and the commands and prompts it takes.

In: one line of the stream, or a command by name.  Out: a value, or one line for the child's
standard input.  Never raises; whatever is no record of the protocol is an event as in JSON mode.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.value import value
from pi_subagents.engines.pi.records import as_mapping, as_text, decode_pi_line

if TYPE_CHECKING:
    from collections.abc import Mapping

# Where the type of a record stands: after an id of ours, or one as long as a UUID.
_HEAD = 200
_TYPES = (b'"response"', b'"extension_ui_request"', b'"agent_start"')
# The questions that wait for an answer; whatever else an extension sends needs none.
_DIALOGS = ("select", "confirm", "input", "editor")
# pi trims its input (a byte order mark too), then runs a first `/word` as a command or expands
# it as a template.  A leading space would be trimmed away; a zero-width space is not.
# docs/decisions/002-prompts-are-data.md
GUARD = "\u200b"
# What our extension in the child understands: no model reads it.
ORDERS_COMMAND = "pi-subagents-orders"
_SLASH_COMMAND = re.compile(r"[\s\ufeff]*/")


@value
class Answered:
    """The child answered a command; `error` is empty where it was carried out."""

    command_id: str
    error: str
    data: Mapping[str, object]


@value
class DialogAsked:
    """An extension of the child asks something and waits."""

    dialog_id: str
    method: str
    title: str
    details: str = ""  # what a person reads below the title, or is to change
    options: tuple[str, ...] = ()
    timeout_s: float = 0  # after which it closes by itself; 0: never

    @property
    def text(self) -> str:
        """All that it says."""
        return "\n\n".join(filter(str.strip, (self.title, self.details)))


@value
class WorkBegan:
    """The child began to work: the prompt was for its model."""


Heard = Answered | DialogAsked | WorkBegan | ev.Event


def decode_rpc_line(line: bytes) -> Heard:
    """Turn one line of `pi --mode rpc` into a record of the protocol or an Event."""
    head = line[:_HEAD]
    if any(kind in head for kind in _TYPES):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict) and (found := _protocol_record(record)) is not None:
            return found
    return decode_pi_line(line)


def compose_prompt(prompt: str) -> str:
    """Return the prompt, guarded where pi would take its beginning for a command."""
    return GUARD + prompt if _SLASH_COMMAND.match(prompt) else prompt


def orders_prompt(orders: str) -> str:
    """Return the prompt that gives our extension the orders of a run."""
    return f"/{ORDERS_COMMAND} {orders}"


def command(name: str, command_id: str, **fields: object) -> bytes:
    """Return a command as one line of pure ASCII."""
    return _line({"id": command_id, "type": name, **fields})


def dismissal(dialog_id: str) -> bytes:
    """Return the answer to a dialog that nobody sees: it is closed, nothing is confirmed."""
    return _line({"type": "extension_ui_response", "id": dialog_id, "cancelled": True})


def dialog_answer(dialog: DialogAsked, text: str, *, confirmed: bool) -> bytes:
    """Return the answer of somebody who read a dialog."""
    said = {"confirmed": confirmed} if dialog.method == "confirm" else {"value": text}
    return _line({"type": "extension_ui_response", "id": dialog.dialog_id, **said})


def _protocol_record(record: dict[str, object]) -> Heard | None:
    match record:
        case {"type": "agent_start"}:
            return WorkBegan()
        case {"type": "response", "success": bool(success)}:
            error = as_text(record.get("error")) or "no reason given"
            return Answered(
                command_id=as_text(record.get("id")),
                error="" if success else error,
                data=as_mapping(record.get("data")),
            )
        case {"type": "extension_ui_request", "id": str(dialog_id), "method": str(method)}:
            if method in _DIALOGS:
                return _dialog(dialog_id, method, record)
    return None


def _dialog(dialog_id: str, method: str, record: dict[str, object]) -> DialogAsked:
    options, timeout_ms = record.get("options"), record.get("timeout")
    details = record.get("message" if method == "confirm" else "prefill")
    return DialogAsked(
        dialog_id,
        method,
        as_text(record.get("title")),
        as_text(details),
        tuple(map(as_text, options)) if isinstance(options, list) else (),
        timeout_ms / 1000 if isinstance(timeout_ms, int | float) and timeout_ms > 0 else 0,
    )


def _line(record: dict[str, object]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"
