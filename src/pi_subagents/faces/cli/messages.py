"""What `faces/cli` says to people."""

from __future__ import annotations

BRIDGE_IS_FOR_PI = "This serves pi's extension, which starts it itself. Press Ctrl+D to quit."
MCP_NEEDS_HOST = (
    "This speaks the Model Context Protocol on standard input and output, for a host that starts "
    "it (`subagents install --help`). Press Ctrl+D to quit."
)
PI_EXTENSION_NEXT = (
    "Start pi and ask it to delegate something; /profile manages profiles. In a pi that is "
    "already running, type /reload."
)
PI_PROJECT_NOT_TRUSTED = (
    "pi loads it only in a project you trust: start pi here and type /trust, then restart pi."
)
NOTHING_TO_PAINT_ON = (
    "Not a terminal, so this is the list as of now. `subagents watch --web` shows it live."
)

# What can be wrong with a parameter, a setting or a file: limits, names and reasons.

CWD_GONE = "The current directory no longer exists. Change to another directory."

# Lists: what is said where there is nothing to list, or more.

WORK_HEADING = "WORK"
NO_RUNS_YET = 'No runs here yet. Try: subagents run --offline "List the files"'
NO_SESSIONS_YET = 'No sessions here yet. Try: subagents run --offline "List the files"'
NOTHING_RUNNING = "Nothing is running."
NO_BACKGROUND_RUNS = 'No background runs. Start one: subagents run --background "..."'

# What a display of windows says around them.

DISPLAY_STOPPING = "Stopping every sub-agent. Press Ctrl+C again to force it."

# What is said of the profile a task names.

CANNOT_CONFIRM = "Cannot ask for confirmation without a terminal; add --yes."
DELETES_NOTHING = "delete nothing"
NOTHING_SAVED = "Nothing was saved."
NOTHING_CHANGED = "Nothing changed: the file is as it was."

# What is said of profiles and presets of a project that is not trusted.

ASKS_FIRST = "project, you are asked before it is used"
PROJECTS_NOT_USED = "the project's is not used"

# What is said of presets.

NO_PRESETS = (
    "No presets found. Add .md files to ~/.pi/agent/subagents/ or .pi/subagents/ of the project."
)
NO_AGENTS_FOUND = (
    "No agents of Claude Code, opencode, Codex or Gemini CLI found in this project or your home."
)
NO_AGENTS_THERE = "There are no files of agents (.md, .toml)."
NOTHING_IMPORTED = "Nothing was imported."
IMPORT_NOTHING = "import nothing"
ADD_PRESET = "Or begin with one of ours: subagents preset add scout (or reviewer, worker)"
ADD_PROFILE = (
    "Or begin with one of ours: subagents profile add scout (or reviewer, worker); in pi: "
    "/profile add scout"
)
ON_OR_RUNNER = "--on and --runner both say where sub-agents run: give one of them."


def definition_added(noun: str, name: str, path: str) -> str:
    """Return that a file was written, and where it is."""
    return f'Added the {noun} "{name}": {path}'


def use_definition(noun: str, name: str) -> str:
    """Return how to use a profile or preset."""
    if noun == "profile":
        return use_profile(name)
    return f'Use it: subagents background start {name} "...", or name it in the tool subagent.'


def no_model_yet(noun: str, template: str) -> str:
    """Return what a definition without a model comes to, and how to give it one."""
    if noun == "profile":
        return "It runs with the model that pi is configured with; --model chooses another."
    return (
        "It names no model, so each call must name one (--model PROVIDER/ID). To write it into the "
        f"file: subagents preset add {template} --model PROVIDER/ID --force"
    )


def type_it(what: str) -> str:
    """Return what to do at a terminal that is waited for."""
    return f"Type {what}, then press Ctrl+D."


def serving_mcp(url: str, token_file: str) -> str:
    """Return where the server is."""
    return f"Serving MCP at {url}, bearer token in {token_file} (Ctrl+C stops it)"


def pi_extension_installed(settings: str, folder: str) -> str:
    """Return that pi loads the extension from now on, and what says so."""
    return f"pi now loads {folder}: it is listed in {settings}."


def pi_extension_removed(settings: str, *, removed: bool) -> str:
    """Return that pi does not load the extension, and whether it did."""
    if removed:
        return f"pi no longer loads the extension: it was removed from {settings}."
    return f"Nothing to remove: {settings} does not list the extension."


def pi_rival_installed(source: str) -> str:
    """Return that another package has tools of the same names."""
    return (
        f"{source} is installed too, and its tools have the same names, so pi can use only "
        f"one of them. To remove it: pi remove {source}"
    )


def background_started(name: str, run: str) -> str:
    """Return which run a task has become, and the command that shows its status."""
    return (
        f"Started {name} in the background as run {run}.\n"
        f"Status and answer: subagents background status {run}"
    )


# What can be wrong with a parameter, a setting or a file: limits, names and reasons.


def not_json(reason: str) -> str:
    """Return why parameters could not be read."""
    return f"parameters: must be JSON: {reason}"


# Lists: what is said where there is nothing to list, or more.


def left_out(shown: int, total: int, what: str) -> str:
    """Return the notice that a list of runs or sessions is not all of them."""
    return f"{shown} of {total} {what}; --limit N or --all shows more."


def ended_left_out(shown: int, total: int) -> str:
    """Return the notice that a list has only what is active."""
    return f"{shown} of {total} background runs; --all shows those that ended, too."


def more_than_prompts(given: int, what: str, prompts: int) -> str:
    """Return that something was given more often than there are prompts for it."""
    return f"{given} {what}s for {prompts} prompt{'s' * (prompts != 1)}."


def steer_waits(wait_s: float) -> str:
    """Return what a sender waits for."""
    return f"Waiting until it has read the message (up to {wait_s:g} s)..."


def models_listed(shown: int, total: int, age: str) -> str:
    """Return how many models are listed, of how many, and when pi was asked."""
    count = f"{total} model{'' if total == 1 else 's'}"
    if shown != total:
        count = f"{shown} of {count}"
    when = f"asked pi {age} ago; --refresh asks again" if age else "asked pi just now"
    return f"{count}, {when}."


def models_not_checked(reason: str) -> str:
    """Return why lint says nothing about models."""
    return f"Providers and models were not checked. {reason}"


# What is said of the profile a task names.


def profile_saved(name: str, scope: str) -> str:
    """Return that a profile was written, and where to."""
    return f'Profile "{name}" saved to {scope} agent-profiles.'


def use_profile(name: str) -> str:
    """Return the command that uses a profile."""
    return f'Use it: subagents run --profile {name} "..."'


def note_hidden(noun: str, name: str, scope: str, path: str) -> str:
    """Return the note on a profile or preset that is not the one in use here."""
    whose = "the project's" if scope == "project" else "your own"
    return f'Tasks in this directory use {whose} {noun} "{name}" instead: {path}'


def fields_left_out(keys: tuple[str, ...]) -> str:
    """Return which fields a profile had and will have no more."""
    return f"No longer set: {', '.join(keys)}"


# `subagents setup --remove`.
NOTHING_REMOVED = "Nothing was removed."


def remove_question(directory: str) -> str:
    """Return what is asked before the managed pi goes."""
    return f"Remove the pi and Node of sub-agents from {directory}?"


def remove_hosts_question(hosts: str) -> str:
    """Return what is asked about the hosts that start us."""
    return f"Also take our entries out of {hosts}? (Needed before you uninstall subagents itself.)"


def host_entry_removed(title: str, path: str) -> str:
    """Return that a host no longer starts us."""
    return f"removed from {title}: {path}"


def host_still_starts_us(title: str, path: str, how: str) -> str:
    """Return which host still starts us, and how to change that: the words after `uninstall`."""
    return (
        f"{title} still starts subagents: {path}. Before you uninstall it: "
        f"`subagents uninstall {how}`."
    )


# What is said of other programs' agents.


def agent_becomes(path: str, program: str, kind: str, name: str) -> str:
    """Return the heading of what becomes of an agent."""
    return f'{path} ({program}) becomes the {kind} "{name}":'


def agent_unreadable(path: str, program: str, problem: str) -> str:
    """Return why an agent is not imported."""
    return f"{path} ({program}) cannot be imported: {problem}"


def write_imported(count: int, kind: str) -> str:
    """Return the question whether to write files."""
    return f"Write this {kind}?" if count == 1 else f"Write these {count} {kind}s?"


NO_NAME = "(none)"


def spent_in_all(runs: int, tokens: str, cost: str) -> str:
    """Return the sum below what was spent."""
    paid = f", {cost}" if cost else ""
    return f"{runs:,} run{'s' * (runs != 1)}, {tokens} tokens{paid}"


def ledger_incomplete(day: str) -> str:
    """Return that what was spent before a day may not all be known."""
    return f"Incomplete: made anew on {day} from the runs that still existed."


def what_next(default: str) -> str:
    """Return the question what a sub-agent that goes on is to do."""
    return f"What next? (Enter: {default}) "


# Engines

NOT_FOUND = "not found"
LOGGED_IN = "yes"


def how_to_log_in(how: str) -> str:
    """Return that no login was seen, and how one is made."""
    return f"? ({how})" if how else "?"


def not_logged_in(how: str) -> str:
    """Return that there is none."""
    return f"no ({how})" if how else "no"


def engine_failed(name: str, problem: str, fix: str) -> str:
    """Return what came of starting an engine."""
    return f"{name}: {problem} {fix}".rstrip()
