"""
What a page gets: first everything, then what is different, as server-sent events.

In: a fleet, followed in a thread by a hub; what the page's reader looks for.  Out: events as bytes,
a comment now and then to find out whether somebody still listens.  Texts are sent as JSON; the page
never takes them for markup.  If following breaks down, every page ends, and its starter sees why.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable
from pi_subagents.faces.watch import messages
from pi_subagents.faces.watch.once import today_ms
from pi_subagents.service.run_contents import follow_transcript, task_of
from pi_subagents.view.fleet import arranged, ending, row_to_json, totals
from pi_subagents.view.fleet_table import place, spent, totals_line
from pi_subagents.view.states import state_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.service.fleet import Fleet
    from pi_subagents.service.fleet_actions import ActionReport
    from pi_subagents.view.fleet import Wanted

PING_S = 15.0
PING = b": still here\n\n"
WIDTH = 1000
LINES_AT_ONCE = 2000
MAX_NOTICES = 20


class Hub:
    """The fleet as pages see it."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._changed = threading.Condition()
        self._version = 0
        self._notices: deque[tuple[int, ActionReport]] = deque(maxlen=MAX_NOTICES)
        self._noticed = 0
        self._over = threading.Event()
        self._failure: BaseException | None = None

    @property
    def rows(self) -> tuple[RunRecord, ...]:
        """All rows as they are now."""
        return self._fleet.rows

    @property
    def over(self) -> bool:
        """Return whether there will be no more changes."""
        return self._over.is_set()

    def start(self) -> None:
        """Begin to follow, in a thread of its own."""
        threading.Thread(target=self._follow, name="fleet", daemon=True).start()

    def wait_for_end(self) -> None:
        """Wait until following is over; raise what broke it."""
        self._over.wait()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """End, and have every page end."""
        self._fleet.close()
        self._end()

    def wait(self, version: int, timeout_s: float) -> int:
        """Return the version, once it is another than this or the time is up."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != version or self.over, timeout_s)
            return self._version

    def report(self, report: ActionReport) -> None:
        """Have every page show how an action went."""
        with self._changed:
            self._noticed += 1
            self._notices.append((self._noticed, report))
        self._bump()

    def notices(self, after: int) -> list[tuple[int, ActionReport]]:
        """Return the reports since, each with its number."""
        with self._changed:
            return [each for each in self._notices if each[0] > after]

    @property
    def last_notice(self) -> int:
        """The number of the last report."""
        return self._noticed

    def _follow(self) -> None:
        try:
            self._fleet.follow(self._bump)
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            self._failure = error
        finally:
            self._end()

    def _end(self) -> None:
        self._over.set()
        self._bump()

    def _bump(self) -> None:
        with self._changed:
            self._version += 1
            self._changed.notify_all()


def list_events(hub: Hub, wanted: Wanted) -> Iterator[bytes]:
    """Yield how the list is, then how it becomes, until the hub is over."""
    sent: dict[str, RunRecord] = {}
    before: dict[str, object] = {}
    version, notice = -1, hub.last_notice
    while not hub.over:
        version = hub.wait(version, PING_S)
        rows = hub.rows
        shown = arranged(rows, wanted)
        changed = [_row(row) for row, _ in shown if sent.get(row.run_id) != row]
        sent = {row.run_id: row for row, _ in shown}
        now: dict[str, object] = {
            "totals": totals_line(totals(rows, today_ms(), wanted.text), WIDTH),
            "none": "" if shown else messages.NOTHING_WANTED if rows else messages.NO_RUNS,
            "order": [(row.run_id, follows) for row, follows in shown],
        }
        event = {key: value for key, value in now.items() if before.get(key) != value}
        before = now
        if changed:
            event["rows"] = changed
        if new := hub.notices(notice):
            notice = new[-1][0]
            event["notices"] = [{"text": printable(each.text), "bad": each.bad} for _, each in new]
        yield _event(event) if event else PING


def transcript_events(hub: Hub, run_id: str) -> Iterator[bytes]:
    """Yield what a run said so far, then what it says, until the hub is over."""
    row = _find(hub, run_id)
    if row is None:
        return
    tail = follow_transcript(row)
    sent: RunRecord | None = None
    version = -1
    while not hub.over:
        version = hub.wait(version, PING_S)
        row = _find(hub, run_id) or row
        lines = tail.new_lines()
        if sent is None and tail.skipped:
            lines.insert(0, messages.EARLIER_LEFT_OUT)
        if sent is None:
            lines[:0] = messages.opening(task_of(row))
        if row == sent and not lines:
            yield PING
            continue
        sent = row
        for start in range(0, max(len(lines), 1), LINES_AT_ONCE):
            part = lines[start : start + LINES_AT_ONCE]
            yield _event({"row": _row(row), "lines": part})


def _find(hub: Hub, run_id: str) -> RunRecord | None:
    return next((row for row in hub.rows if row.run_id == run_id), None)


def _row(row: RunRecord) -> dict[str, object]:
    state = state_of(row)
    tokens, cost = spent(row)
    return {
        **row_to_json(row),
        "sessionId": printable(row.session_id),
        "cwd": place(row, os.environ.get("HOME", "")),
        "path": printable(row.path),
        "title": row.title,
        "word": state.word,
        "sign": state.sign,
        "role": state.role,
        "ending": ending(row),
        "tokens": tokens or "-",
        "cost": cost or "-",
    }


def _event(value: dict[str, object]) -> bytes:
    return b"data: " + json.dumps(value).encode("ascii") + b"\n\n"
