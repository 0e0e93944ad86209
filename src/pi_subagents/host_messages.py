"""What hosts are told beside the tools' answers: work that goes on, where a long text ends."""

from __future__ import annotations

MCP_INSTRUCTIONS = (
    "Hands tasks to parallel sub-agents, each a process with a context window of its own. "
    "A delegation that takes longer than this server may keep you waiting goes on by itself: the "
    "answer says so and names session ids; get the rest with get_subagent_output and waitSeconds."
)


def still_running(after_s: float, running: int, total: int) -> str:
    """Return the first line of an answer that had to be given before the work was done."""
    return f"Still running after {after_s:.0f} s: {running} of {total}. The work goes on by itself."


def how_to_get_the_rest(wait_s: float, *, can_stop: bool = True) -> str:
    """Return the last line of such an answer; a tool that is switched off is not named."""
    stop = "To stop one: background_agent_stop with its session id as runId. "
    return (
        "To get the rest: get_subagent_output with a session id and waitSeconds "
        f"(up to {wait_s:g}). {stop if can_stop else ''}To tell one something: steer_subagent."
    )


def session_goes_on(wait_s: float) -> str:
    """Return that a text is not the last one, since its session is at work."""
    return f"(This session is still running. To wait for its end: waitSeconds, up to {wait_s:g}.)"


def session_failed(error_message: str) -> str:
    """Return why a session has no more to say."""
    return f"(It ended with an error: {error_message})"


def text_goes_on(start: int, end: int, total: int) -> str:
    """Return which part of a session's text was shown, and how to see more of it."""
    return f"(Characters {start} to {end} of {total}; for more: offset {end}.)"


def transcript_goes_on(shown: int, total: int, session_id: str) -> str:
    """Return where the rest of a long transcript is."""
    return (
        f"(The first {shown} of {total} characters; the whole: `subagents session {session_id}`, "
        f"or the resource subagents://sessions/{session_id}.)"
    )


def note(text: str) -> str:
    """Return something said beside an answer."""
    return f"Note: {text}"


# What `subagents bridge` says to the shim in pi that speaks with it.

BRIDGE_IS_FOR_PI = "This is for pi's extension, which starts it by itself. Ctrl+D ends it."
RPC_NOT_JSON = "the line is not JSON"
RPC_NOT_A_MESSAGE = "the line is no request, notification or response of JSON-RPC 2.0"
RPC_NEEDS_NAMED_PARAMS = "params must be an object"
RPC_MUST_BE_LIST = "must be a list"
RPC_MUST_BE_TEXTS = "must be a list of strings, or null"
RPC_MUST_BE_COLUMNS = "must be a whole number, or null"
RPC_CALL_UNDER_WAY = "names a call that is under way"
RPC_ENDING = "the core is ending"


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


# What the shim says by itself, since there is no core to say it; `{}` is what happened.

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

# What is said in pi beside the answers of the tools.

PROFILE_USAGE = "Usage: /profile [list|show <name>|create <name>|edit <name>|delete <name>]"
PROFILE_NEEDS_TERMINAL = (
    "/profile needs a terminal: start pi without -p, or use `subagents profile` in a shell."
)


TAKES_NO_PARAMETERS = "must be empty: the tool takes no parameters"
SESSION_IDS = "Session IDs (use with get_subagent_output):"
MORE_LINES = ("... ({} more line)", "... ({} more lines)")
CALL_SUB_AGENTS = ("{} sub-agent", "{} sub-agents")
CALL_DEFAULT_PROFILE = "(default profile: {})"
CALL_PROFILES = "profiles: [{}]"


def other_pi_than_the_host(used: str, chosen_by: str, host: str) -> str:
    """Return that sub-agents run on another pi than the one that delegates, and who chose it."""
    return f"Sub-agents run on pi {used}, from {chosen_by}. You work in pi {host}."


def entry_not_kept(reason: str) -> str:
    """Return that what ended is not in the host's log, which the host could not write."""
    return f"A sub-agent's session could not be kept in this conversation: {reason}"


def window_error(error_message: str) -> str:
    """Return the line below a window that says why its task failed."""
    return f"Error: {error_message}"


def background_header(status: str, seconds: int, run_id: str) -> str:
    """Return what stands behind the preset above the end of a background run."""
    return f" • {status} in the background • {seconds}s • run {run_id}"


def background_ended(preset: str, status: str, run_id: str, error_message: str) -> str:
    """Return what a person is told once, when a background run ended."""
    why = f": {error_message}" if error_message else ""
    return f"Background agent {preset} {status} (run {run_id}){why}"


def background_end_told(ended: str, task: str, output: str) -> str:
    """Return the message about it in the conversation, which begins no turn."""
    return f"{ended}\nTask: {task}" + (f"\n\n{output}" if output else "")


# Errors of the Model Context Protocol.

NOT_JSON_RPC = "This line is no JSON-RPC 2.0 message."


def message_too_long(size: int, most: int) -> str:
    """Return why a line was passed over."""
    return f"A message of {size} bytes was passed over: at most {most} are read."


def unknown_tool(name: str) -> str:
    """Return that a host called something that is not there."""
    return f"Unknown tool: {name}"


def unknown_resource(uri: str) -> str:
    """Return that there is nothing at an address."""
    return f"There is no resource {uri}"


def unknown_prompt(name: str) -> str:
    """Return that a host asked for a prompt that is not there."""
    return f"Unknown prompt: {name}"


def prompt_needs(name: str, argument: str) -> str:
    """Return which argument of a prompt is missing."""
    return f"The prompt {name} needs the argument {argument}."


# The server over HTTP.

NOT_A_PRIVATE_FILE = "it must be a file of your own that nobody else can read (mode 0600)"
WRONG_HOST = "This server answers on loopback only."
WRONG_ORIGIN = "This server answers no web page."
NEEDS_BEARER = "A valid bearer token is needed."
BODY_TOO_LARGE = "The body of a request must not be larger than 4 MiB."
BODY_TOO_SLOW = "The body of the request did not arrive in time."
MCP_NEEDS_HOST = (
    "This speaks the Model Context Protocol on standard input and output, for a host that starts "
    "it (`subagents install --help`). Ctrl+D ends it."
)


def token_too_short(least: int) -> str:
    """Return what a token must look like."""
    return f"it must hold one word of at least {least} characters"


def serving_mcp(url: str, token_file: str) -> str:
    """Return where the server is."""
    return f"Serving MCP at {url}, bearer token in {token_file} (Ctrl+C ends it)"


# `subagents install pi` and `subagents uninstall pi`.

PI_EXTENSION_NEXT = (
    "Start pi and ask it to delegate something; /profile manages profiles. In a pi that is "
    "running: /reload."
)
PI_PROJECT_NOT_TRUSTED = (
    "pi loads it only in a project you trust: start pi here and type /trust, then restart pi."
)


def pi_extension_installed(settings: str, folder: str) -> str:
    """Return that pi loads the extension from now on, and what says so."""
    return f"pi loads {folder} now: {settings} names it."


def pi_extension_removed(settings: str, *, removed: bool) -> str:
    """Return that pi does not load the extension, and whether it did."""
    if removed:
        return f"pi does not load the extension any more: it is no longer in {settings}."
    return f"There was nothing to remove: {settings} does not name the extension."


def pi_rival_installed(source: str) -> str:
    """Return that another package has tools of the same names."""
    return (
        f"{source} is installed too, and its tools have the same names, so that pi can use only "
        f"one of them. To remove it: pi remove {source}"
    )
