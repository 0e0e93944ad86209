"""`subagents sessions`: which sessions there are, to read them or to go on with them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.table import print_table

if TYPE_CHECKING:
    from pi_subagents.core.session.recent import Session
    from pi_subagents.faces.cli.console import Console

COLOURS = {"completed": "green", "error": "red"}
HEADINGS = ("SESSION", "RUNS", "STATUS", "AGE", "MODEL")
MAX_ID = 32
MAX_MODEL = 16
MAX_NAME = 50


@click.command("sessions")
@click.option("-a", "--all", "show_all", is_flag=True, help="All of them, not only the newest 32.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="The newest N, and those still running.",
)
@options.json_option
@click.pass_obj
def command(console: Console, *, show_all: bool, limit: int | None, as_json: bool) -> None:
    """
    List the sessions of this project, newest first, each with its latest 10 runs.

    A SESSION id is what `output` and `session` ask for.
    """
    from pi_subagents.core.session.recent import MAX_SESSIONS
    from pi_subagents.faces.cli import messages
    from pi_subagents.service.runs import Runs
    from pi_subagents.service.sessions import session_list

    if show_all and limit:
        raise click.UsageError("--all and --limit contradict each other.")
    listed = session_list(Runs(), most=None if show_all else limit or MAX_SESSIONS)
    shown = listed.sessions
    if as_json:
        console.json({"total": listed.total, "sessions": [session_to_json(each) for each in shown]})
    elif shown:
        _table(console, shown)
    else:
        console.answer(messages.NO_SESSIONS_YET)
    if len(shown) < listed.total:
        console.notice(messages.sessions_left_out(len(shown), listed.total))


def session_to_json(session: Session) -> dict[str, object]:
    """Return one session for a script; its own words are those of the retrieval tools."""
    from pi_subagents.core.session.log_entry import run_to_json
    from pi_subagents.core.usage import usage_to_json

    latest = session.latest
    return {
        "sessionId": session.session_id,
        "status": latest.tool_status,
        "taskName": latest.name,
        "model": latest.model or None,
        "startedAt": latest.begun_at_ms,
        "usage": usage_to_json(session.usage),
        "runCount": len(session.runs),
        "runs": [run_to_json(run) for run in session.runs],
    }


def _table(console: Console, sessions: tuple[Session, ...]) -> None:
    from pi_subagents.core.plain_text import one_line

    now_ms = time.time_ns() // 1_000_000
    costly = any(session.usage.cost for session in sessions)
    headings = (*HEADINGS, "COST") if costly else HEADINGS
    rows = [
        (*_cells(session, now_ms), *((_cost(session),) if costly else ())) for session in sessions
    ]
    names = [one_line(each.latest.name, MAX_NAME) for each in sessions]
    whole = [(*row, name) for row, name in zip(rows, names, strict=True)]
    print_table(console, (*headings, "TASK"), whole, COLOURS)


def _cells(session: Session, now_ms: int) -> tuple[str, ...]:
    from pi_subagents.core.plain_text import one_line
    from pi_subagents.faces.cli.look.runs import duration

    latest = session.latest
    return (
        one_line(session.session_id, MAX_ID),
        str(len(session.runs)),
        latest.tool_status,
        duration(now_ms - latest.begun_at_ms) if latest.begun_at_ms else "-",
        one_line(latest.model, MAX_MODEL) or "-",
    )


def _cost(session: Session) -> str:
    return f"{session.usage.cost:.4f}" if session.usage.cost else "-"
