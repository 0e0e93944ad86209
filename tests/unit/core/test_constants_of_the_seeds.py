"""The numbers and names that the specifications give, by value: a limit that moves is seen here."""

from __future__ import annotations

from pi_subagents.config import definition_dir
from pi_subagents.core.limits import ladder
from pi_subagents.core.session import (
    history as session,
)
from pi_subagents.core.session import (
    recent as session_view,
)
from pi_subagents.core.settings import Settings
from pi_subagents.core.task import attachment, request
from pi_subagents.faces.bridge import live_call
from pi_subagents.faces.terminal import display
from pi_subagents.view import background, window
from pi_subagents.view.window import WindowTitle


def test_the_constants_are_those_of_the_seeds() -> None:
    assert {
        "tasks in a call": request.MAX_TASKS,
        "sub-agents at once": Settings().max_concurrency,
        "sessions at hand": session_view.MAX_SESSIONS,
        "runs of a session at hand": session_view.MAX_RUNS,
        "messages kept of a run": session.MAX_MESSAGES,
        "lines of a history": window.MAX_HISTORY,
        "lines of a window": Settings().max_lines_per_window,
        "characters of arguments": session.MAX_ARGUMENTS,
        "characters of a tool's result": session.MAX_TOOL_RESULT,
        "bytes of a file": attachment.MAX_FILE_BYTES,
        "seconds of a task": (request.DEFAULT_TIMEOUT_S, WindowTitle("t").timeout_s),
        "least seconds of a task": request.MIN_TIMEOUT_S,
        "seconds from SIGTERM to SIGKILL": ladder.STOP_GRACE_S,
        "seconds for which profiles are kept": definition_dir.CACHE_S,
        "least seconds between two pictures": (live_call.INTERVAL_S, display.GATHER_S),
    } == {
        "tasks in a call": 16,
        "sub-agents at once": 4,
        "sessions at hand": 32,
        "runs of a session at hand": 10,
        "messages kept of a run": 500,
        "lines of a history": 500,
        "lines of a window": 15,
        "characters of arguments": 120,
        "characters of a tool's result": 500,
        "bytes of a file": 1024 * 1024,
        "seconds of a task": (600, 600),
        "least seconds of a task": 1,
        "seconds from SIGTERM to SIGKILL": 5,
        "seconds for which profiles are kept": 5,
        "least seconds between two pictures": (0.05, 0.05),
    }


def test_the_entries_of_a_hosts_log_have_the_names_of_the_seeds() -> None:
    assert (session.ENTRY_TYPE, background.RUN_ENTRY, background.UPDATE_ENTRY) == (
        "pi-subagents",
        "pi-subagents:bg-run",
        "pi-subagents:bg-update",
    )
