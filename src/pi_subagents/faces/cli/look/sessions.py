"""
`subagents sessions`, `output`, `session` and `steer`: list sessions, read one, send a message.

In: any id of a session or a run, the beginning of one, a task's name, or `last`.  Out: a table, or
the answer of the tool that hosts call for the same purpose.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.core.run.question import waiting_part
from pi_subagents.core.run.record import short_id
from pi_subagents.core.session.recent import MAX_SESSIONS
from pi_subagents.core.usage import usage_to_json
from pi_subagents.faces.cli import messages, options
from pi_subagents.faces.cli.given import text_or_typed
from pi_subagents.faces.cli.main import EXIT_FAILED, EXIT_REFUSED
from pi_subagents.faces.cli.table import print_table, status_cell, style_of
from pi_subagents.view.amounts import large
from pi_subagents.view.failure import ending_lines
from pi_subagents.view.states import state_of
from pi_subagents.view.time_spent import age

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.session.recent import Session
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.call import Options

HEADINGS = ("SESSION", "RUNS", "STATUS", "AGE", "MODEL")
MAX_MODEL = 16


@click.command("sessions")
@options.all_option("All of them, not only the newest 32.")
@options.limit_option("The newest N, and those still running.")
@options.json_option
@click.pass_obj
def sessions(console: Console, *, show_all: bool, limit: int | None, as_json: bool) -> None:
    """
    List the sessions of this project, newest first, each with its latest 10 runs.

    Every other command takes the short ids under SESSION.
    """
    from pi_subagents.service.runs import Runs
    from pi_subagents.service.sessions import session_list

    most = options.most_of(show_all=show_all, limit=limit, default=MAX_SESSIONS)
    listed = session_list(Runs(), most=most)
    shown = listed.sessions
    if as_json:
        rows = [_session_to_json(each) for each in shown]
        console.json({"total": listed.total, "sessions": rows})
    elif shown:
        _table(console, shown)
    else:
        console.answer(messages.NO_SESSIONS_YET)
    if len(shown) < listed.total:
        console.notice(messages.left_out(len(shown), listed.total, "sessions"))


@click.command("output")
@options.id_argument("session_id", "SESSION")
@options.wait_option(0.0, "Wait up to SECONDS for its end.")
@options.part_options
@options.json_option
@click.pass_obj
def output(
    console: Console, *, session_id: str, wait_s: float, part: Mapping[str, object], as_json: bool
) -> int:
    """
    Print the final text of a SESSION: what its latest run answered, whole or in part.

    SESSION is any id of a session or a run, or its first characters, the name of a task, or
    `last`. Exit code: 0 completed, 1 it did not complete or is still running (standard
    error says which), 2 not found.
    """
    parameters = {"sessionId": session_id, "waitSeconds": wait_s, **part}
    return _print_session(console, "get_subagent_output", parameters, as_json=as_json)


@click.command("session")
@options.id_argument("session_id", "SESSION")
@options.part_options
@options.json_option
@click.pass_obj
def session(console: Console, *, session_id: str, part: Mapping[str, object], as_json: bool) -> int:
    """
    Print the transcript of a SESSION: all runs with messages, tool calls and tool results.

    SESSION is any id of a session or a run, or its first characters, the name of a task, or
    `last`. Tool results are shortened; `subagents show RUN` names the files that have
    everything.
    """
    parameters = {"sessionId": session_id, **part}
    # A transcript ends with why it failed.
    return _print_session(
        console, "get_subagent_session", parameters, as_json=as_json, why_is_said=True
    )


@click.command("steer")
@options.id_argument("any_id", "ID")
@click.argument("text", metavar="[TEXT|-]", default="-")
@options.wait_option(30.0, "Wait up to SECONDS until it has read it (default: 30).")
@options.json_option
@click.pass_obj
def steer(console: Console, *, any_id: str, text: str, wait_s: float, as_json: bool) -> int:
    """
    Send TEXT to a sub-agent that is at work, in the foreground or the background.

    ID is any id of a run or a session, or its first characters, the name of a task, or `last`.
    Without TEXT, or with `-`, the message is read from standard input. The sub-agent reads it when
    its current tool calls are done, and goes on with it in mind. One that has not begun yet reads
    it when it does; one that has ended reads nothing any more: `subagents run --resume` goes on
    with its session.

    Exit code: 0 it has read the message, or will after its current step (the answer says which), 1
    it will not, 2 not found.

    \b
    Examples:
      subagents steer 3f9c "Look at the tests only."
      git diff | subagents steer 3f9c -
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    message = text_or_typed(console, text, "the message")
    parameters = {"sessionId": any_id, "message": message, "waitSeconds": wait_s}
    if wait_s and on_a_terminal() and _is_active(any_id):
        console.progress(messages.steer_waits(wait_s))
    details = print_answer(console, "steer_subagent", parameters, as_json=as_json)
    return EXIT_FAILED if details["status"] == "refused" else 0


def print_answer(
    console: Console,
    tool: str,
    parameters: Mapping[str, object],
    options: Options | None = None,
    *,
    as_json: bool,
) -> dict[str, Any]:
    """Print what a tool answers and return its details; where it refuses, the verb ends."""
    import asyncio

    from pi_subagents import api

    answer: dict[str, Any] = asyncio.run(api.call_tool(tool, parameters, **(options or {})))
    text = answer["content"][0]["text"]
    if as_json:
        console.json(answer)
    elif answer["isError"]:
        raise click.ClickException(text)
    else:
        console.answer(text)
    if answer["isError"]:
        raise click.exceptions.Exit(EXIT_REFUSED)
    details: dict[str, Any] = answer["details"]
    return details


def _print_session(
    console: Console,
    tool: str,
    parameters: Mapping[str, object],
    *,
    as_json: bool,
    why_is_said: bool = False,
) -> int:
    """Print the answer, and return the exit code that goes with the session's status."""
    details = print_answer(console, tool, parameters, as_json=as_json)
    if details["status"] != "completed":
        for line in _standing(details, why_is_said=why_is_said):
            console.notice(line)
        return EXIT_FAILED
    return 0


def on_a_terminal() -> bool:
    """Return whether somebody sees that we wait."""
    return sys.stderr.isatty()


def _is_active(any_id: str) -> bool:
    """Return whether there is somebody to wait for; what is not found is refused elsewhere."""
    from contextlib import suppress

    from pi_subagents.errors import StoreError
    from pi_subagents.service.runs import Runs

    with suppress(StoreError):
        return Runs().find(any_id).active
    return False


def _standing(details: Mapping[str, Any], *, why_is_said: bool) -> tuple[str, ...]:
    """Return how a session stands that is not completed, why, and what to do about it."""
    from pi_subagents.service.runs import Runs

    latest = Runs().find(details["sessionId"])
    notes = latest.result.notes if latest.result else ()
    why = ending_lines(latest.error_message, notes)
    if why_is_said:
        why = tuple(line for line in why if line != latest.error_message)
    return (f"Session {short_id(latest.session_id)}: {state_of(latest).word}", *why)


def _session_to_json(session: Session) -> dict[str, object]:
    """Return one session for a script, in the words of the retrieval tools."""
    from pi_subagents.core.session.history import run_to_json

    latest = session.latest
    return {
        "sessionId": session.session_id,
        "status": latest.tool_status,
        "taskName": latest.name,
        **waiting_part(latest.waiting_for),
        "model": latest.model or None,
        "startedAt": latest.begun_at_ms,
        "usage": usage_to_json(session.usage),
        "runCount": len(session.runs),
        "runs": [run_to_json(run) for run in session.runs],
    }


def _table(console: Console, sessions: tuple[Session, ...]) -> None:
    now_ms = time.time_ns() // 1_000_000
    with_cost = any(session.usage.cost for session in sessions)
    headings = (*HEADINGS, *(("COST",) if with_cost else ()), "TASK")
    rows = [_row(session, now_ms, with_cost=with_cost) for session in sessions]
    print_table(console, headings, rows, [style_of(each.latest) for each in sessions])


def _row(session: Session, now_ms: int, *, with_cost: bool) -> tuple[str, ...]:
    latest = session.latest
    cost = f"{session.usage.cost:.4f}" if session.usage.cost else "-"
    return (
        printable(short_id(session.session_id)),
        str(len(session.runs)),
        status_cell(latest),
        age(now_ms - latest.begun_at_ms) if latest.begun_at_ms else "-",
        one_line(latest.model, MAX_MODEL) or "-",
        *((cost,) if with_cost else ()),
        f"{large(session.usage)} {latest.title}".lstrip(),
    )
