"""Print how a cluster stands: who works, what waits, what stands still, what was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.core.plain_text import one_line
from pi_subagents.faces.cli.cluster import messages
from pi_subagents.faces.cli.table import print_table
from pi_subagents.view.time_spent import age, length

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console

HEADINGS = ("WORKER", "HOST", "BUSY", "TAGS", "VERSION", "SEEN", "STATE")
QUIET_MS = 30_000  # after which a worker counts as dead
SHORT = 8  # characters of an id


def print_status(console: Console, shown: str, found: dict[str, Any]) -> None:
    """Print how a cluster stands."""
    console.answer(messages.heading(shown, _size(found["bytes"])), bold=True)
    rows, styles = [], []
    for each in found["workers"]:
        dead = each["seenAgoMs"] > QUIET_MS
        state = "not heard of" if dead else "draining" if each["draining"] else "ready"
        words = (each["name"], each["host"], f"{each['busy']}/{each['concurrency']}",
            ",".join(each["tags"]), each["versions"].get("pi-subagents", "?"),
            f"{age(each['seenAgoMs'])} ago", state)  # fmt: skip
        rows.append([one_line(word, 40) for word in words])
        styles.append({"fg": "red"} if dead else {"fg": "yellow"} if each["draining"] else {})
    if rows:
        print_table(console, HEADINGS, rows, styles)
    else:
        console.answer(messages.NO_WORKERS)
    for each in found["queue"]:
        oldest = length(each["oldestMs"])
        console.answer(messages.waiting(each["tag"], each["queued"], each["atWork"], oldest))
    if not found["queue"]:
        console.answer(messages.NO_QUEUE)
    rates = found["rates"]
    console.answer(
        messages.rates(
            rates["submittedLastMinute"],
            rates["endedLastMinute"],
            rates["endedLastHour"],
            rates["lostLastDay"],
        )
    )
    for each in found["stalled"]:
        quiet = length(each["quietMs"])
        line = messages.stalled(each["run"][:SHORT], each["name"], each["worker"], quiet)
        console.answer(one_line(line, 300), fg="yellow")
    for each in found["refused"]:
        line = messages.refused(
            each["run"][:SHORT], each["submitter"], each["refusedBy"], each["reason"]
        )
        console.answer(one_line(line, 300), fg="red")
    for each in found["runs"]:
        facts = (each["run"][:SHORT], each["state"], each["tag"], each["submitter"], each["name"])
        console.answer(one_line("  ".join(facts), 300), dim=True)


def _size(count: int) -> str:
    return f"{count / 1024**2:.1f} MiB"
