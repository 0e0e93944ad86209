"""
The session that the host has open: what its log has of sub-agents, and what is appended to it.

In: the entries of the log, then what happens.  Out: notifications to the host (entries, the footer,
the end of background runs), each with the session it belongs to.  Watching goes on only while a
background run does, and never after the session was closed: an end is reported once, so somebody
must be there to read it.  A watcher that fails never takes the bridge along.

Runs that are active together are a batch.  With `wake_parent` the report of the one that ends last
begins a turn: an end is reported once, so a batch begins one turn, whoever reports its other ends.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.core.session.history import ENTRY_TYPE, entry_of
from pi_subagents.core.usage import Usage
from pi_subagents.faces.bridge import messages
from pi_subagents.faces.bridge.peer import reason_of
from pi_subagents.service.call import settings_of, trust_of
from pi_subagents.service.host_log import open_host_log
from pi_subagents.service.tools.offer import offered_tools
from pi_subagents.view import messages as view_messages
from pi_subagents.view.at_work import SEPARATOR, called
from pi_subagents.view.background import (
    END_MESSAGE,
    MAX_ENTRY_OUTPUT,
    UPDATE_ENTRY,
    background_status,
    counts,
    ending_facts,
    footer,
    usage_counted,
    usage_entry,
)
from pi_subagents.view.failure import explain_failure
from pi_subagents.view.picture import part_to_json
from pi_subagents.view.states import state_of
from pi_subagents.view.window_picture import end_picture

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.json_rpc import Params
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.faces.bridge.params import HostSession
    from pi_subagents.faces.bridge.peer import HostPeer
    from pi_subagents.service.call import Options
    from pi_subagents.service.host_log import LogEntry

POLL_S = 0.25
_LEVELS = {"completed": "info", "aborted": "warning"}
_SHOWN = 200


class OpenSession:
    """One session of the host; close it before another is opened."""

    def __init__(self, host: HostPeer, env: Mapping[str, str], opened: HostSession) -> None:
        self._host = host
        self._env = env
        self._opened = opened
        self._offer: dict[str, object] | None = None
        self._is_open = True
        self.host_program = opened.pi
        self._settings = settings_of({"cwd": Path(opened.cwd), "env": env})
        log = open_host_log(Path(opened.cwd), env, opened.entries)
        self.view, self.registry = log.sessions, log.background
        self._usage_counted = usage_counted(opened.entries)
        self._reported: set[str] = set()  # the runs whose end it was
        self._unsaid: list[RunRecord] = []  # ends that are reported, and about to be shown
        self._shown = set(opened.ends_shown or ())
        # A host that does not name the ends it shows is not shown any of them again.
        known = () if opened.ends_shown is None else self.registry.all()
        self._perhaps_lost = {run.run_id for run in known if not run.active}
        self._footer: str | None = None
        self._notices: set[str] = set()
        self._complaint = ""
        self._watcher: asyncio.Task[None] | None = None
        self._changed()

    def is_same(self, other: HostSession) -> bool:
        """Return whether the host opens again what it has open: some modes of pi greet twice."""
        own, same = ((each.session_id, len(each.entries)) for each in (self._opened, other))
        return self._is_open and own == same

    def greet_again(self) -> None:
        """Show the footer once more: the host may have cleared it."""
        if self._footer is not None:
            self._notify("status", {"text": self._footer})

    def background(self) -> dict[str, object]:
        """Return how many background runs there are, and the line that shows it."""
        counted = counts(self.registry.all())
        return {"running": counted["running"], "total": counted["total"], "text": self._footer}

    async def offer(self) -> dict[str, object]:
        """Return which tools there are for the main model, and how they are described to it."""
        # Said twice, it is the same: a model's provider caches what it has read.
        if self._offer is None:
            self._offer = await asyncio.to_thread(self._make_offer)
        return self._offer

    def keep(self, run: RunRecord) -> None:
        """Keep a run that ended, here and in the host's log."""
        self.view.register(run)
        self._append({"customType": ENTRY_TYPE, "data": entry_of(run)})

    def begin(self, run: RunRecord) -> None:
        """Take a background run that was just started."""
        self._append(self.registry.add(run))
        self._changed()

    def refresh(self) -> list[RunRecord]:
        """Return how the background runs stand now, the newest first."""
        for entry in self.registry.refresh():
            self._append(entry)
        self._changed()
        return self.registry.all()[::-1]

    def take_usage(self) -> Usage:
        """Return what ended background runs used, each of them once in this session."""
        used = Usage()
        for run in self.registry.all():
            if not run.active and run.run_id not in self._usage_counted:
                self._usage_counted.add(run.run_id)
                self._append({"customType": UPDATE_ENTRY, "data": usage_entry(run)})
                used += run.usage
        return used

    def notice(self, text: str) -> None:
        """Show something beside an answer, once in a session."""
        if text not in self._notices:
            self._notices.add(text)
            self.warn(text)

    def say(self, text: str) -> None:
        """Show something while a command goes on."""
        self._notify("notify", {"message": text, "level": "info"})

    def warn(self, text: str) -> None:
        """Show that something is not as it should be."""
        self._notify("notify", {"message": text, "level": "warning"})

    async def close(self) -> None:
        """Watch no longer; calls that are under way may still append what ends."""
        self._is_open = False
        if self._watcher is not None:
            self._watcher.cancel()
            with suppress(asyncio.CancelledError):
                await self._watcher

    def _make_offer(self) -> dict[str, object]:
        try:
            cwd, decided = Path(self._opened.cwd), self._opened.trusted
            host: Options = {"cwd": cwd, "env": self._env, "host_trusts": decided}
            offer = offered_tools(cwd, self._env, trusted=trust_of(host)(cwd))
        except Exception as error:  # noqa: BLE001 - without a list the tools work as well
            self._complain(reason_of(error))
            return {}
        tools = {tool.name: tool.description for tool in offer.tools}
        return {"tools": tools, "modelsRoom": offer.models_room}

    def _notify(self, method: str, params: Params) -> None:
        """Notify the host of something that is for no other session than this one."""
        self._host.notify(method, {"sessionId": self._opened.session_id, **params})

    def _append(self, entry: LogEntry) -> None:
        self._notify("entry", entry)

    def _changed(self) -> None:
        """Send the footer if it is another now, and watch if there is anything to watch."""
        counted = counts(self.registry.all())
        text = _footer(self.registry.all()) if counted["running"] else None
        if text != self._footer:
            self._footer = text
            self._notify("status", {"text": text})
        is_watched = self._watcher is not None and not self._watcher.done()
        if self._is_open and counted["total"] > len(self._reported) and not is_watched:
            self._watcher = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while self._look():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(POLL_S)

    def _look(self) -> bool:
        """Look after the background runs once; return whether to look again."""
        try:
            look_again = self._take_ends()
            self._show_ends(is_last=not look_again)
            self._show_what_was_lost()
            self._changed()
        except Exception as error:  # noqa: BLE001 - the bridge outlives whatever happens here
            self._complain(reason_of(error))
            return True
        return look_again

    def _take_ends(self) -> bool:
        """Look until there is no news, so that all that is known is of one time."""
        known, look_again = -1, True
        while known != len(self._unsaid):
            known = len(self._unsaid)
            look_again = self.registry.look(self._append, self._unsaid.append, self._reported)
        return look_again

    def _show_ends(self, *, is_last: bool) -> None:
        """Show ends in the conversation, and notify who does not see it; the last begins a turn."""
        ends, self._unsaid = self._unsaid, []
        for number, run in enumerate(ends, 1):
            notice = {"message": _ending(run), "level": _LEVELS.get(run.status, "error")}
            wakes = self._settings.wake_parent and is_last and number == len(ends)
            self._show(run, {"notice": notice}, wakes=wakes)

    def _show_what_was_lost(self) -> None:
        """Show ends that were reported but never logged: a host that ends in a turn loses them."""
        lost = self._perhaps_lost & self._reported - self._shown
        runs = self.refresh() if lost else []  # of a long answer the log has the beginning only
        # A turn that was begun is in the log with its message, so none is begun twice.
        is_over = self._settings.wake_parent and not any(run.active for run in runs)
        last = max(runs, key=_finished_at_ms) if is_over and runs else None
        for run in reversed(runs):
            if run.run_id in lost:
                self._show(run, {}, wakes=run is last)

    def _show(self, run: RunRecord, beside: Params, *, wakes: bool) -> None:
        """Put an end into the conversation."""
        self._shown.add(run.run_id)
        output = printable(run.output[:MAX_ENTRY_OUTPUT])
        if len(run.output) > MAX_ENTRY_OUTPUT:
            shown, whole = MAX_ENTRY_OUTPUT, len(run.output)
            output += f"\n{view_messages.background_output_cut(shown, whole, run.session_id)}"
        details = {
            "runId": run.run_id,
            "sessionId": run.session_id,
            "preset": run.meta.preset,
            "status": background_status(run),
            "durationMs": run.duration_ms,
            "picture": [part_to_json(part) for part in end_picture(run, output)],
        }
        task = one_line(run.meta.task, _SHOWN)
        facts = ending_facts(run, self._settings.tools)
        content = messages.background_end_message(_ending(run), task, facts, output)
        said = {"customType": END_MESSAGE, "content": content, "details": details}
        self._notify("message", {**said, **beside, **({"wakes": True} if wakes else {})})

    def _complain(self, reason: str) -> None:
        """Print on standard error why watching fails, once for each reason."""
        if reason != self._complaint:
            self._complaint = reason
            print(reason, file=sys.stderr, flush=True)  # noqa: T201 - it is for people


def _footer(runs: Sequence[RunRecord]) -> str:
    """Return the line that a host keeps in view while background runs are at work."""
    text, active = footer(counts(runs)), [run for run in runs if run.active]
    return f"{text}{SEPARATOR}{called(active[0])}" if len(active) == 1 else text


def _finished_at_ms(run: RunRecord) -> int:
    return run.result.finished_at_ms if run.result else 0


def _ending(run: RunRecord) -> str:
    name = one_line(run.meta.preset, _SHOWN) or called(run)
    why = one_line(explain_failure(run.error_message).what, _SHOWN)
    word = state_of(run).word
    return messages.background_ended(name, word, run.short_id, why)
