"""What `faces/bridge` says to people."""

from __future__ import annotations

RPC_CALL_UNDER_WAY = "names a call that is under way"
RPC_ENDING = "the core is ending"
SHIM_WORDS = {
    "noSession": "Sub-agents are not available before a session has started.",
    "notStarted": (
        "The core of pi-subagents could not be started: {}. Run `subagents install pi` again, or "
        "set PI_SUBAGENTS_CORE to the command that starts `subagents`."
    ),
    "died": (
        "The core of pi-subagents ended unexpectedly ({}). Its sub-agents were stopped; what had "
        "finished is kept."
    ),
    "startedAgain": "{} It has been started again.",
    "untilReload": "{} `/reload` starts it again.",
    "unanswered": (
        "The core of pi-subagents has not answered for {} s since Escape. Sub-agents may still be "
        "running: `subagents runs` in a shell lists them. `/reload` starts the core again."
    ),
}

# What can be wrong with the parameters of a request.
MUST_BE_LIST = "must be a list"
MUST_BE_TEXTS = "must be a list of strings, or null"
MUST_BE_COLUMNS = "must be a whole number, or null"


def rpc_line_too_long(size: int, limit: int) -> str:
    """Return why a line was not read."""
    return f"a line of {size} bytes was skipped: the limit is {limit} bytes"


def rpc_unknown_method(method: str) -> str:
    """Return which method nobody serves."""
    return f'unknown method "{method}"'


def bridge_protocol_unknown(spoken: object, ours: int) -> str:
    """Return why the shim and the core do not understand each other, and what to update."""
    what = (
        "Update pi-subagents"
        if isinstance(spoken, int) and spoken > ours
        else "Run `subagents install pi` again, then /reload in pi"
    )
    return (
        f"The extension in pi speaks version {spoken} of the bridge protocol, and pi-subagents "
        f"speaks version {ours}. {what}."
    )


PROFILE_USAGE = "Usage: /profile [list|show <name>|create <name>|edit <name>|delete <name>]"
PROFILE_NEEDS_TERMINAL = (
    "/profile needs a terminal: start pi without -p, or use `subagents profile` in a shell."
)


def entry_not_kept(reason: str) -> str:
    """Return that a run's end is not in the host's log, which the host could not write."""
    return f"A sub-agent's session could not be kept in this conversation: {reason}"


def background_ended(preset: str, status: str, run_id: str, error_message: str) -> str:
    """Return what a person reads once, when a background run ended."""
    why = f": {error_message}" if error_message else ""
    return f"Background agent {preset} {status} (run {run_id}){why}"


def background_end_message(ended: str, task: str, output: str) -> str:
    """Return the message about it in the conversation, which begins no turn."""
    return f"{ended}\nTask: {task}" + (f"\n\n{output}" if output else "")


ASK_TITLE = "Sub-agents: a definition of this project"
