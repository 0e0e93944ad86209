"""
`subagents sessions`, `output`, `session` and `steer`: list sessions, read one, send a message.

In: a session id; `steer` also takes a run's.  Out: a table, or the answer of the tool that hosts
call for the same purpose.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.session.recent import MAX_SESSIONS
from pi_subagents.core.usage import usage_to_json
from pi_subagents.faces.cli import messages, options
from pi_subagents.faces.cli.given import text_or_typed
from pi_subagents.faces.cli.main import EXIT_FAILED, EXIT_REFUSED
from pi_subagents.faces.cli.table import duration, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.session.recent import Session
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.call import Options

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
def sessions(console: Console, *, show_all: bool, limit: int | None, as_json: bool) -> None:
    """
    List the sessions of this project, newest first, each with its latest 10 runs.

    A SESSION id is what `output` and `session` ask for.
    """
    from pi_subagents.service.runs import Runs
    from pi_subagents.service.sessions import session_list

    if show_all and limit:
        raise click.UsageError("--all and --limit contradict each other.")
    listed = session_list(Runs(), most=None if show_all else limit or MAX_SESSIONS)
    shown = listed.sessions
    if as_json:
        rows = [_session_to_json(each) for each in shown]
        console.json({"total": listed.total, "sessions": rows})
    elif shown:
        _table(console, shown)
    else:
        console.answer(messages.NO_SESSIONS_YET)
    if len(shown) < listed.total:
        console.notice(messages.sessions_left_out(len(shown), listed.total))


@click.command("output")
@click.argument("session_id", metavar="SESSION")
@options.wait_option(0.0, "Wait so many seconds for its end.")
@options.json_option
@click.pass_obj
def output(console: Console, *, session_id: str, wait_s: float, as_json: bool) -> int:
    """
    Print the final text of a SESSION: what its latest run answered, whole.

    SESSION is an id from a summary line. Exit code: 0 completed, 1 ended in an error or is still
    running (which is said on standard error), 2 not found.
    """
    parameters = {"sessionId": session_id, "waitSeconds": wait_s}
    return _print_session(console, "get_subagent_output", parameters, as_json=as_json)


@click.command("session")
@click.argument("session_id", metavar="SESSION")
@options.json_option
@click.pass_obj
def session(console: Console, *, session_id: str, as_json: bool) -> int:
    """
    Print the transcript of a SESSION: all runs with messages, tool calls and tool results.

    Tool results are shortened; `subagents show RUN` names the files that have everything.
    """
    parameters = {"sessionId": session_id}
    return _print_session(console, "get_subagent_session", parameters, as_json=as_json)


@click.command("steer")
@click.argument("any_id", metavar="ID")
@click.argument("text", metavar="[TEXT|-]", default="-")
@options.wait_option(30.0, "Wait so many seconds until it has read it (default: 30).")
@options.json_option
@click.pass_obj
def steer(console: Console, *, any_id: str, text: str, wait_s: float, as_json: bool) -> int:
    """
    Send TEXT to a sub-agent that is at work, in the foreground or the background.

    ID is a session id, or a run id from `subagents runs` or its first characters. Without TEXT, or
    with `-`, the message is read from standard input. The sub-agent reads it when the tool calls it
    is at are done, and goes on with it in mind. One that has not begun yet reads it then; one that
    has finished reads nothing any more: `subagents run --resume` goes on with its session.

    Exit code: 0 it has read the message, or will after its current step (which one is said), 1 it
    will not, 2 not found.

    \b
    Examples:
      subagents steer 3f9c "Look at the tests only."
      git diff | subagents steer 3f9c -
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    message = text_or_typed(console, text, "the message")
    parameters = {"sessionId": any_id, "message": message, "waitSeconds": wait_s}
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
    console: Console, tool: str, parameters: Mapping[str, object], *, as_json: bool
) -> int:
    """Print the answer, and return the exit code that goes with the session's status."""
    details = print_answer(console, tool, parameters, as_json=as_json)
    if details["status"] != "completed":
        console.notice(f"Session {details['sessionId']}: {details['status']}")
        return EXIT_FAILED
    return 0


def _session_to_json(session: Session) -> dict[str, object]:
    """Return one session for a script, in the words of the retrieval tools."""
    from pi_subagents.core.session.history import run_to_json

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
    now_ms = time.time_ns() // 1_000_000
    with_cost = any(session.usage.cost for session in sessions)
    headings = (*HEADINGS, *(("COST",) if with_cost else ()), "TASK")
    rows = [_row(session, now_ms, with_cost=with_cost) for session in sessions]
    print_table(console, headings, rows, COLOURS)


def _row(session: Session, now_ms: int, *, with_cost: bool) -> tuple[str, ...]:
    latest = session.latest
    cost = f"{session.usage.cost:.4f}" if session.usage.cost else "-"
    return (
        one_line(session.session_id, MAX_ID),
        str(len(session.runs)),
        latest.tool_status,
        duration(now_ms - latest.begun_at_ms) if latest.begun_at_ms else "-",
        one_line(latest.model, MAX_MODEL) or "-",
        *((cost,) if with_cost else ()),
        one_line(latest.name, MAX_NAME),
    )
