"""What `faces/bridge` says to people."""

from __future__ import annotations

from pi_subagents.core.profile.questions import SKIPS

RPC_CALL_UNDER_WAY = "is the id of a call that is still running"
RPC_ENDING = "the core is shutting down"
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

# What pi offers at a slash.
COMMANDS = {
    "profile": "Manage sub-agent profiles: list, show, create, edit, delete",
    "agents": "Sub-agents at work: read, steer or stop one",
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
SKIPS_FIELD = "skip this field; twice in a row: go back or quit"
PROFILE_NEEDS_TERMINAL = (
    "/profile needs a terminal: start pi without -p, or use `subagents profile` in a shell."
)


def entry_not_kept(reason: str) -> str:
    """Return that a run's end is not in the host's log, which the host could not write."""
    return f"A sub-agent's session could not be saved in this conversation: {reason}"


def background_ended(name: str, word: str, run_id: str, error_message: str) -> str:
    """Return what a person reads once, when a background run ended."""
    why = f": {error_message}" if error_message else ""
    return f"Background agent {name} {word} (run {run_id}){why}"


def background_end_message(ended: str, task: str, facts: list[str], output: str) -> str:
    """Return the message about it in the conversation."""
    known = "\n".join([ended, f"Task: {task}", *facts])
    return known + (f"\n\n{output}" if output else "")


ASK_TITLE = "Sub-agents: a definition of this project"


# The list of `/agents`.
AGENTS_TITLE = "Sub-agents at work"
NO_AGENTS = "No sub-agents are at work here."
AGENT_ACTIONS = ("Read", "Steer", "Stop", "Back")
ANSWER_ACTION = "Answer"
STOP_OR_CANCEL = ("Stop", "Cancel")
AGENT_SAID_NOTHING = "It has not said or done anything yet."


def agent_task(task: str) -> str:
    """Return the whole task of a run, where it is read."""
    return f"Task: {task}"


def earlier_lines(count: int, run_id: str) -> str:
    """Return where the lines are that stand before those that are shown."""
    return f"{count} earlier lines: `subagents show {run_id}` in a shell."


def agent_steer_title(name: str) -> str:
    """Return what is asked before a message is sent."""
    return f"Message for {name}"


def agent_steering(name: str, wait_s: float) -> str:
    """Return what is shown until a message was read."""
    return f"Waiting until {name} has read it, for {wait_s:g} s at most."


def agent_asks_title(name: str, text: str) -> str:
    """Return what a sub-agent asks, above the answers to it."""
    return f"{name} asks: {text}"


def agent_stop_title(name: str, run_id: str) -> str:
    """Return what is asked before a run is stopped."""
    return f"Stop {name} (run {run_id})?"


def agent_stopping(name: str) -> str:
    """Return what is shown until a run has ended."""
    return f"Stopping {name}."


def escape_hint(escape: str) -> str:
    """Return what Escape does in a dialog."""
    return f"(Escape: {SKIPS_FIELD if escape == SKIPS else escape})"
