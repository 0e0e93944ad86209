"""
The tool calls of one turn, as events: each begins once and ends once, whatever order it is told in.

In: `tool_call`, `tool_call_update` and the calls of permission requests.  Out: events.  A call is
known on first sight from any of the three, and begins when it is carried out or asked about: before
that its arguments are not whole.  Its kind, locations and diffs become the names and arguments by
which every face shows calls.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run import events as ev
from pi_subagents.core.value import replace
from pi_subagents.engines.acp import messages
from pi_subagents.engines.acp.reading import (
    as_object,
    as_objects,
    as_text,
    block_text,
    member,
    storable,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MAX_OUTPUT = 256 * 1024  # characters of what a call printed bit by bit
MAX_NAME = 120
MAX_CALLS = 4096  # of one turn that are kept in mind
_FINAL = ("completed", "failed")
# Kinds of the protocol, as the permissions of a profile have them.
KINDS = {
    **dict.fromkeys(("read", "search"), "read"),
    **dict.fromkeys(("edit", "delete", "move"), "edit"),
    "execute": "execute",
    "fetch": "fetch",
}
_TOOL_NAME = re.compile(r"[\w.:/-]{1,120}")
_PATHS = ("path", "file_path", "filePath", "abs_path", "absolute_path")
_OLD, _NEW = ("old_string", "oldString", "oldText"), ("new_string", "newString", "newText")


class KnownCall:
    """What is known of one call by now."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.fields: dict[str, Any] = {}
        self.output = self.shown_as = ""
        self.begun = self.ended = self.allowed = self.refused = False

    def merge(self, update: Mapping[str, Any]) -> None:
        """Take what is new: an absent field is unchanged, content replaces, output is added."""
        given = {key: each for key, each in update.items() if each is not None and key != "_meta"}
        if not given.get("rawInput", True):
            del given["rawInput"]
        meta = as_object(update.get("_meta"))
        self.fields |= given
        self.fields["_meta"] = {**as_object(self.fields.get("_meta")), **meta}
        for key in ("terminal_output", "terminal_output_delta"):
            self.output = (self.output + as_text(member(meta, key, "data")))[:MAX_OUTPUT]

    def end(self) -> None:
        """Keep of it only what it was and whether it was allowed: its output may be large."""
        meta = {"toolName": self.tool}
        self.fields = {"kind": self.kind, "title": self.title, "_meta": meta}
        self.output, self.ended = "", True

    @property
    def kind(self) -> str:
        """Of which kind it is, in words of the protocol."""
        return as_text(self.fields.get("kind")) or "other"

    @property
    def group(self) -> str:
        """Of which kind it is, in words of permissions."""
        return KINDS.get(self.kind, "other")

    @property
    def title(self) -> str:
        """What it says it does."""
        return one_line(as_text(self.fields.get("title")), MAX_NAME) or self.kind

    @property
    def tool(self) -> str:
        """The name of its tool, where the agent tells it."""
        meta = as_object(self.fields.get("_meta"))
        claude = member(meta, "claudeCode", "toolName")
        found = (self.fields.get("name"), meta.get("toolName"), claude)
        return next((one_line(each, MAX_NAME) for each in map(as_text, found) if each), "")

    def tool_is_one_of(self, own_tools: Collection[str]) -> bool:
        """Return whether it calls a tool of ours: agents name its server first."""
        found = self.tool or self.title
        if self.group != "other" or not _TOOL_NAME.fullmatch(found):
            return False  # a title may be a command, which says whatever a model wants
        return any(found == each or found.endswith((f"_{each}", f".{each}")) for each in own_tools)

    def as_call(self) -> ev.ToolCall:
        """Return the call, by the names that faces know."""
        try:
            raw = storable(dict(as_object(self.fields.get("rawInput"))))
        except (ValueError, RecursionError):
            return ev.ToolCall(self.call_id, self.tool or self.title, None)
        arguments: dict[str, object] = raw if isinstance(raw, dict) else {}
        match self.kind:
            case "execute":
                return self._as_command(arguments)
            case "read" if path := self._path(arguments):
                return ev.ToolCall(self.call_id, "read", {**arguments, "path": path})
            case "edit" if path := self._path(arguments):
                return self._as_edit(arguments, path)
        if not arguments and (path := self._path(arguments)):
            arguments = {"path": path}
        return ev.ToolCall(self.call_id, self.tool or self.title, arguments)

    def result(self) -> ev.ToolFinished:
        """Return how it ended: a command that failed has failed, whatever its agent says."""
        codes = (
            member(self.fields, "rawOutput", "metadata", "exit"),
            member(self.fields, "_meta", "terminal_exit", "exit_code"),
        )
        bad = any(isinstance(code, int) and code != 0 for code in codes)
        failed = self.fields.get("status") != "completed" or bad
        return ev.ToolFinished(self.call_id, self.shown_as, self._text(), failed)

    def _as_command(self, arguments: dict[str, object]) -> ev.ToolCall:
        given = arguments.get("command", arguments.get("cmd"))
        if isinstance(given, list):
            given = " ".join(map(str, given))
        command = given if isinstance(given, str) and given else as_text(self.fields.get("title"))
        return ev.ToolCall(self.call_id, "bash", {**arguments, "command": command})

    def _as_edit(self, arguments: dict[str, object], path: str) -> ev.ToolCall:
        edits = [
            {"oldText": as_text(each.get("oldText")), "newText": as_text(each.get("newText"))}
            for each in as_objects(self.fields.get("content"))
            if each.get("type") == "diff" and each.get("path") in (path, None)
        ]
        olds, news = ([arguments[key] for key in keys if key in arguments] for keys in (_OLD, _NEW))
        if isinstance(arguments.get("content"), str):
            return ev.ToolCall(self.call_id, "write", {**arguments, "path": path})
        if isinstance(arguments.get("edits"), list):
            return ev.ToolCall(self.call_id, "edit", {**arguments, "path": path})
        if olds and news:
            edits = [{"oldText": as_text(olds[0]), "newText": as_text(news[0])}]
        if len(edits) == 1 and not edits[0]["oldText"]:
            return ev.ToolCall(
                self.call_id, "write", {"path": path, "content": edits[0]["newText"]}
            )
        return ev.ToolCall(self.call_id, "edit", {**arguments, "path": path, "edits": edits})

    def _path(self, arguments: Mapping[str, object]) -> str:
        places = [each.get("path") for each in as_objects(self.fields.get("locations"))]
        diffs = [each.get("path") for each in as_objects(self.fields.get("content"))]
        found = [*(arguments.get(key) for key in _PATHS), *places, *diffs]
        return next((each for each in map(as_text, found) if each), "")

    def _text(self) -> str:
        said = []
        for each in as_objects(self.fields.get("content")):
            if each.get("type") == "diff":
                said.append(messages.changed(as_text(each.get("path"))))
            elif text := block_text(each.get("content")):
                said.append(text)
        raw = self.fields.get("rawOutput")
        plain = as_text(raw) or as_text(member(raw, "output"))
        return "\n".join(said) or self.output or plain


class CallBook:
    """The calls of one turn: ids repeat in other turns."""

    def __init__(self) -> None:
        self._calls: dict[str, KnownCall] = {}

    @property
    def at_work(self) -> bool:
        """Return whether a call was begun that has not ended."""
        return any(call.begun and not call.ended for call in self._calls.values())

    @property
    def refused(self) -> bool:
        """Return whether one was not allowed."""
        return any(call.refused for call in self._calls.values())

    def heard(self, update: Mapping[str, Any], *, announces: bool) -> tuple[ev.Event, ...]:
        """Take an update; return what began or ended with it."""
        call_id = as_text(update.get("toolCallId"))
        call = self._calls.get(call_id)
        if call is None or (announces and call.ended):
            call = self._calls[call_id] = KnownCall(call_id)
            self._forget_one(call)
        if call.ended:
            return ()  # it comes too late to be shown
        call.merge(update)
        status = call.fields.get("status")
        began = self._begin(call) if status in ("in_progress", *_FINAL) else ()
        if status not in _FINAL:
            return began
        result = call.result()
        call.end()
        return (*began, result)

    def asked(self, given: Mapping[str, Any]) -> tuple[KnownCall, tuple[ev.Event, ...]]:
        """Take a call that somebody is asked about; return it, and that it began."""
        self.heard({**given, "status": None}, announces=True)
        call = self._calls[as_text(given.get("toolCallId"))]
        return call, self._begin(call)

    def known(self, call_id: str) -> KnownCall | None:
        """Return a call of this turn."""
        return self._calls.get(call_id)

    def close(self) -> tuple[ev.Event, ...]:
        """Return how the calls end that nobody ended."""
        found = []
        for call in self._calls.values():
            if call.begun and not call.ended:
                result = call.result()
                text = result.text or messages.NO_RESULT
                found.append(replace(result, text=text, failed=True))
        self._calls.clear()
        return tuple(found)

    def _forget_one(self, but: KnownCall) -> None:
        """Make room: for the oldest one that has ended, or where none has, for the oldest."""
        if len(self._calls) > MAX_CALLS:
            others = [call for call in self._calls.values() if call is not but]
            oldest = next((call for call in others if call.ended), others[0])
            del self._calls[oldest.call_id]

    @staticmethod
    def _begin(call: KnownCall) -> tuple[ev.Event, ...]:
        if call.begun:
            return ()
        call.begun, shown = True, call.as_call()
        call.shown_as = shown.name
        return (ev.ToolStarted(shown),)
