"""
The call a main model makes next: tool and arguments, to be copied as they are.

In: what is known of a session.  Out: a line, such as `get_subagent_output {"sessionId": "..."}`.
Only a tool that is offered is named.
"""

from __future__ import annotations

import json

from pi_subagents.core import messages
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.settings import PRESET_TOOLS
from pi_subagents.core.task.request import MAX_TIMEOUT_S

MAX_READ = 16_384  # characters that a call for the rest of a text asks for
_MAX_NAME = 60


def read_on(session_id: str, offset: int, left: int) -> str:
    """Return the call that reads a session's answer from there on."""
    limit = min(left, MAX_READ)
    return call_of("get_subagent_output", sessionId=session_id, offset=offset, limit=limit)


def go_on(
    session_id: str,
    name: str,
    family: str,
    *,
    error_message: str = "",
    timeout_s: float | None = None,
) -> str:
    """Return the call that goes on with a session whose run ended without an answer."""
    if family == PRESET_TOOLS:  # none of them can resume
        return call_of("get_subagent_session", sessionId=session_id)
    task: dict[str, object] = {"name": one_line(name, _MAX_NAME), "prompt": messages.GO_ON}
    task["resume"] = session_id
    if timeout_s and error_message == messages.timed_out(timeout_s):
        longer = min(2 * timeout_s, MAX_TIMEOUT_S)
        task["timeout"] = int(longer) if longer == int(longer) else longer
    return call_of("delegate_to_subagents", tasks=[task])


def call_of(tool: str, **arguments: object) -> str:
    """Return a call of a tool with these arguments."""
    return f"{tool} {json.dumps(arguments, ensure_ascii=False)}"
