"""What `faces/cli` says to people."""

from __future__ import annotations

BRIDGE_IS_FOR_PI = "This is for pi's extension, which starts it by itself. Ctrl+D ends it."
MCP_NEEDS_HOST = (
    "This speaks the Model Context Protocol on standard input and output, for a host that starts "
    "it (`subagents install --help`). Ctrl+D ends it."
)
PI_EXTENSION_NEXT = (
    "Start pi and ask it to delegate something; /profile manages profiles. In a pi that is "
    "running: /reload."
)
PI_PROJECT_NOT_TRUSTED = (
    "pi loads it only in a project you trust: start pi here and type /trust, then restart pi."
)
NOTHING_TO_PAINT_ON = (
    "No terminal to paint on: the list as it is now. `subagents watch --web` shows it live."
)

# What can be wrong with a parameter, a setting or a file: limits, names and reasons.

CWD_GONE = "The current directory does not exist any more. Change to another directory."

# Lists: what is said where there is nothing to list, or more.

NO_SESSIONS_YET = 'No sessions here yet. Try: subagents run --offline "List the files"'

# What a display of windows says around them.

DISPLAY_STOPPING = "Stopping every sub-agent. Press Ctrl+C again to force it."

# What is said of the profile a task names.

NOTHING_SAVED = "Nothing was saved."
NOTHING_CHANGED = "Nothing to change: the file is as it was."

# What is said of presets.

NO_PRESETS = (
    "No presets found. Add .md files to ~/.pi/agent/subagents/ or .pi/subagents/ of the project."
)


def type_it(what: str) -> str:
    """Return what to do at a terminal that is waited for."""
    return f"Type {what}; Ctrl+D sends it."


def serving_mcp(url: str, token_file: str) -> str:
    """Return where the server is."""
    return f"Serving MCP at {url}, bearer token in {token_file} (Ctrl+C ends it)"


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


# What can be wrong with a parameter, a setting or a file: limits, names and reasons.


def not_json(reason: str) -> str:
    """Return why parameters could not be read."""
    return f"parameters: must be JSON: {reason}"


# Lists: what is said where there is nothing to list, or more.


def sessions_left_out(shown: int, total: int) -> str:
    """Return the notice that a list of sessions is not all of them."""
    return f"{shown} of {total} sessions; --all lists every one."


def models_listed(shown: int, total: int, age: str) -> str:
    """Return how many models are listed, of how many, and when pi told them."""
    count = f"{total} model{'' if total == 1 else 's'}"
    if shown != total:
        count = f"{shown} of {count}"
    when = f"as pi told {age} ago; --refresh asks again" if age else "as pi told just now"
    return f"{count}, {when}."


# What is said of the profile a task names.


def profile_saved(name: str, scope: str) -> str:
    """Return that a profile was written, and where to."""
    return f'Profile "{name}" saved to {scope} agent-profiles.'


def use_profile(name: str) -> str:
    """Return the command that uses a profile."""
    return f'Use it: subagents run --profile {name} "..."'


def note_profile_hidden(name: str, path: str) -> str:
    """Return the note on a global profile that the project has one in front of."""
    return f'Tasks in this directory use the project\'s profile "{name}" instead: {path}'


def fields_left_out(keys: tuple[str, ...]) -> str:
    """Return which fields a profile had and will have no more."""
    return f"Left out from now on: {', '.join(keys)}"
