"""What `service` reports to people."""

from __future__ import annotations

# What can be wrong with a parameter (InvalidRequest puts the place in front), a setting or a file.

MUST_BE_CONCURRENCY = "must be a whole number from 1 to 16"
MUST_BE_RUNNER = 'must be "process" or "tmux"'
NO_SCRIPT_IN_BACKGROUND = "a script needs somebody to serve it; background runs take the rules only"
NOT_A_PRIVATE_FILE = "it must be a file of your own that nobody else can read (mode 0600)"


def must_be_engine(known: tuple[str, ...]) -> str:
    """Return which engines there are."""
    return f"must be one of: {', '.join(known)}"


# Notices: once, before the work begins.

NOTICE_OFFLINE = (
    "Offline: the built-in model stands in for provider and model. It follows simple rules "
    "(list, count, find, search, read, summarise headings) and is not a language model."
)
NOTICE_OFFLINE_SCRIPT = (
    "Offline: a script stands in for provider and model. It is not a language model."
)

# Runs: messages to them, and their ends.

STEER_AFTER_THIS_STEP = "The sub-agent reads it after its current step."
STEER_AT_ITS_START = "The sub-agent has not begun yet; it reads it when it does."
STEER_NOBODY_LISTENS = "Nobody takes messages for this sub-agent."
PROMPT_IS_EMPTY = "Nothing to go on with: the prompt is empty."
RUN_IS_OVER = "It is over already."
RUN_DIRECTORY_GONE = "The run directory is gone, and with it how the run ended"


def token_too_short(least: int) -> str:
    """Return what a token must look like."""
    return f"it must hold one word of at least {least} characters"


def steer_after_end(status: str, session_id: str) -> str:
    """Return why a message for a run that is over is not kept."""
    return (
        f"The sub-agent is not at work any more (status: {status}). To go on with what it did, "
        f"delegate a task that resumes session {session_id}."
    )


def steer_not_kept(reason: str) -> str:
    """Return that a message could not be handed over."""
    return f"The message could not be handed over: {reason}"


def old_runs_removed(for_age: int, days: float, for_space: int, megabytes: float) -> str:
    """Return the notice on runs that were removed by themselves, and how to have it otherwise."""
    parts = [
        f"{count} {'run' if count == 1 else 'runs'} of this project {why}"
        for count, why in (
            (for_age, f"older than {days:g} days (subagents.retention_days)"),
            (for_space, f"beyond {megabytes:g} MiB (subagents.retention_megabytes)"),
        )
        if count
    ]
    return f"Removed {' and '.join(parts)}."


def index_unusable(reason: str) -> str:
    """Return the notice that runs are kept but could not be entered in the index."""
    return (
        f"The index of runs cannot be written ({reason}): these runs are not found by id from "
        "elsewhere, and not recovered after a crash."
    )


def stopped(name: str, status: str) -> str:
    """Return how a run that was stopped ended."""
    return f"{name}: {status}"


def resumed(name: str) -> str:
    """Return that a session is resumed."""
    return f"{name} goes on as a new run. It does so even if you leave."


def without_preset(preset: str) -> str:
    """Return that a session is resumed without the preset it began with."""
    return f"It goes on without the preset {preset}."


def not_resumed(reason: str) -> str:
    """Return why a session is not resumed."""
    return f"Not resumed: {reason}"


# Messages of outcomes: values in a result, not exceptions.  Hosts and prompts rely on their words.


def cwd_missing(cwd: str) -> str:
    """Return why a task could not start in its directory."""
    return f"cwd does not exist or is not a directory: {cwd}"


def unknown_profile(name: str, available: tuple[str, ...]) -> str:
    """Return why a task could not start with its profile."""
    return f'Unknown profile: "{name}". Available profiles: {", ".join(available) or "(none)"}'


def field_not_honoured(profile: str, field: str, engine: str) -> str:
    """Return why a profile cannot be used with an engine."""
    return f'Profile "{profile}" sets "{field}", which the engine "{engine}" cannot honour.'


def note_profile_left(name: str) -> str:
    """Return the note on a session that is resumed without the profile it had."""
    return f'This session ran with the profile "{name}" before; this run has none. Name it again.'


# Definitions of projects that are not trusted (subagents.project_definitions)


def ask_foreign(kind: str, name: str, path: str) -> str:
    """Return the question whether a definition may be used."""
    return (
        f'The {kind} "{name}" is this project\'s own, and the project is not trusted. It may '
        f"choose model, tools and prompt: {path}. Use it?"
    )


def note_untrusted_profile(name: str, left_out: tuple[str, ...]) -> str:
    """Return the note on what a project's own profile may not decide."""
    return (
        f'The project\'s profile "{name}" may not set {", ".join(left_out)}: the project is not '
        "trusted. Trust it in pi (/trust), or with --trust-project, if you have read the file."
    )
