"""
The file in which pi keeps a session: made fit for another child that goes on with it.

In: a file as a child left it, however its run ended, and the directory to work in.  Out: the same,
byte for byte, but for half a line at its end, the directory in its header, and an answer to every
tool call that never got one.  ValueError where it is none that pi would read as it was meant.

What pi itself leaves out of a request stays: an answer that ended with an error or was aborted.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

from pi_subagents.engines.base import ContinuedSession
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.records import as_mapping, as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Entry = Mapping[str, object]

VERSION = 3  # every pi that we support writes it
_LEFT_OUT = ("error", "aborted")  # how messages end that pi does not send again


def continued(content: bytes, cwd: str) -> ContinuedSession:
    """Return the session as a child in that directory can go on with it."""
    *lines, rest = content.split(b"\n")
    if _entry(rest) is not None:  # whole, only its end of line is missing
        lines.append(rest)
    header, *others = _checked(map(_entry, lines))
    if not any(_role(each) in ("user", "assistant") for each in others):
        raise ValueError(messages.SESSION_IS_EMPTY)
    was_in = as_text(header["cwd"])
    if moved := was_in != cwd:
        lines[0] = _line({**header, "cwd": cwd})
    lines += map(_line, _missing_results(others))
    return ContinuedSession(b"\n".join([*lines, b""]), moved_from=was_in if moved else "")


def _entry(line: bytes) -> Entry | None:
    """Return a line as an object; None where it is none, to JavaScript as well."""
    try:
        entry = json.loads(line.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _checked(entries: Iterable[Entry | None]) -> list[Entry]:
    """Return header and entries, each a child of one before it; else pi would lose the rest."""
    found: list[Entry] = []
    ids: set[object] = {None}
    for entry in entries:
        match entry:
            case {"type": "session", "version": version, "id": str(), "cwd": str()} if (
                not found and version == VERSION
            ):
                pass
            case {"type": str(kind), "id": str(own), "parentId": None | str() as parent} if (
                found and kind != "session" and parent in ids and own not in ids
            ):
                ids.add(own)
            case _:
                raise ValueError(messages.SESSION_IS_DAMAGED)
        found.append(entry or {})
    if not found:
        raise ValueError(messages.SESSION_IS_EMPTY)
    return found


def _missing_results(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield an answer to each tool call at the end of the session that has none."""
    answered: set[str] = set()
    for entry in _from_the_end(entries):
        message = as_mapping(entry.get("message"))
        match _role(entry):
            case "toolResult":
                answered.add(as_text(message.get("toolCallId")))
            case "assistant" if message.get("stopReason") not in _LEFT_OUT:
                calls = [each for each in _calls(message) if each["id"] not in answered]
                yield from _results(calls, entry, entries)
                return
            case "":
                if entry["type"] not in ("custom", "model_change", "thinking_level_change"):
                    return  # pi itself answers what is before it
            case _:
                return


def _from_the_end(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield the last entry, its parent, and so on: what pi takes for the conversation."""
    by_id = {each["id"]: each for each in entries}
    entry = entries[-1] if entries else None
    while entry is not None:
        yield entry
        entry = by_id.get(entry["parentId"])


def _calls(message: Entry) -> Iterator[dict[str, str]]:
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        match block:
            case {"type": "toolCall", "id": str(call_id), "name": str(name)}:
                yield {"id": call_id, "name": name}


def _results(
    calls: Sequence[Mapping[str, str]], asked: Entry, entries: Sequence[Entry]
) -> Iterator[Entry]:
    """Yield results in the form of pi, as of when the calls were made."""
    taken = {each["id"] for each in entries}
    free = (name for number in range(len(taken) + len(calls)) if (name := f"{number:08x}"))
    parent = entries[-1]["id"]
    for call in calls:
        own = next(name for name in free if name not in taken)
        yield {
            "type": "message",
            "id": own,
            "parentId": parent,
            "timestamp": asked.get("timestamp"),
            "message": {
                "role": "toolResult",
                "toolCallId": call["id"],
                "toolName": call["name"],
                "content": [{"type": "text", "text": messages.CALL_WAS_CUT_SHORT}],
                "isError": True,
                "timestamp": as_mapping(asked.get("message")).get("timestamp"),
            },
        }
        parent = own


def _role(entry: Entry) -> str:
    """Return whose message an entry is; nothing where it is none."""
    return as_text(as_mapping(entry.get("message")).get("role"))


def _line(entry: Entry) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode("ascii")
