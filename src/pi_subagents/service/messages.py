"""What `service` reports to people."""

from __future__ import annotations

from pi_subagents.core.run.record import short_id

# What can be wrong with a parameter (InvalidRequest puts the place in front), a setting or a file.

MUST_BE_CONCURRENCY = "must be a whole number from 1 to 16"
MUST_BE_CALLABLE = "must be a function"
MUST_BE_PATH = "must be a path"
MUST_BE_MAPPING = "must be a mapping of names to texts"
MUST_BE_NUMBER = "must be a whole number"
MUST_BE_SWITCH = "must be a StopSwitch"
MUST_BE_POOL = "must be a Pool"
MUST_BE_SCRIPT = "must be true, false, or what parse_script returns"
NO_SCRIPT_IN_BACKGROUND = (
    "a script needs a caller to serve it; background runs can only follow the rules"
)
NOT_A_PRIVATE_FILE = "it must be a file of your own that nobody else can read (mode 0600)"


def must_be_runner(known: tuple[str, ...]) -> str:
    """Return which runners there are."""
    return "must be " + " or ".join(f'"{name}"' for name in known)


def usage_not_reported(whose: str, engine: str, reports: str) -> str:
    """Return why a budget of tokens or cost cannot be kept with an engine."""
    when = "never reports what it uses" if reports == "never" else f"reports that once a {reports}"
    return (
        f"the one {whose} cannot be kept: {engine} {when}, and it has to do so with every message. "
        "Limit turns or time instead."
    )


def estimate_passes_budget(expected: int, whose: str, limit: str) -> str:
    """Return why a task does not begin: what it reads first is too much."""
    return (
        f"Not started: it would begin with about {expected:,} tokens (prompt, files, skills, "
        f"tools), and the budget {whose} is {limit}."
    )


def agents_found(agents: tuple[str, ...]) -> str:
    """Return which agents of other programs can be engines."""
    return f"{', '.join(agents)} (`subagents engines` says what each can do)"


# Notices: once, before the work begins.

NOTICE_OFFLINE = (
    "Offline: the built-in model stands in for provider and model. It follows simple rules "
    "(list, count, find, search, read, summarise headings) and is not a language model."
)
NOTICE_OFFLINE_SCRIPT = (
    "Offline: a script stands in for provider and model. It is not a language model."
)

# Runs: messages to them, and their ends.

STEER_AFTER_THIS_STEP = "The sub-agent will read it after its current step."
STEER_AT_ITS_START = "The sub-agent has not started yet; it will read it when it does."
STEER_NOBODY_LISTENS = "This sub-agent cannot receive messages."
PROMPT_IS_EMPTY = "The prompt is empty."
RUN_IS_OVER = "It has already ended."
RUN_DIRECTORY_GONE = "The run directory is gone, so it is not known how the run ended"


def token_too_short(least: int) -> str:
    """Return what a token must look like."""
    return f"it must contain one word of at least {least} characters"


def steer_after_end(status: str, session_id: str) -> str:
    """Return why a message for a run that is over is not kept."""
    return (
        f"The sub-agent has already ended (status: {status}). To continue its work, resume "
        f"session {short_id(session_id)}."
    )


ASKS_NOTHING = "It asks nothing now."


def answer_not_kept(reason: str) -> str:
    """Return why an answer could not be handed over."""
    return f"The answer could not be kept: {reason}"


def steer_not_kept(reason: str) -> str:
    """Return that a message could not be handed over."""
    return f"The message could not be delivered: {reason}"


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
        f"The index of runs cannot be written ({reason}): these runs cannot be found by id from "
        "elsewhere, and are not recovered after a crash."
    )


def stopped(name: str, status: str) -> str:
    """Return how a run that was stopped ended."""
    return f"{name}: {status}"


def resumed(name: str) -> str:
    """Return that a session is resumed."""
    return f"{name} continues as a new run, even if you leave."


def without_preset(preset: str) -> str:
    """Return that a session is resumed without the preset it began with."""
    return f"It continues without the preset {preset}."


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
    who = f'Profile "{profile}"' if profile else "A task"
    return f'{who} sets "{field}", which the engine "{engine}" does not support.'


def note_profile_left(name: str) -> str:
    """Return the note on a session that is resumed without the profile it had."""
    return (
        f'This session ran with the profile "{name}" before; this run has none. To keep it, name '
        "it again."
    )


def note_other_profile(before: str, now: str) -> str:
    """Return the note on a session that is resumed with another profile."""
    had = f'with the profile "{before}"' if before else "without a profile"
    return f'This session ran {had} before; this run has "{now}".'


def note_preset_left(name: str, now: str) -> str:
    """Return the note on a session that is resumed without the preset it had."""
    has = f'the profile "{now}"' if now else "no preset"
    return f'This session ran with the preset "{name}" before; this run has {has}.'


# How a session goes on.

SESSION_NOT_KEPT = "none was kept"


def session_of_other_engine(name: str) -> str:
    """Return why a session cannot be continued."""
    return f"it is one of the engine {name}"


def note_retold(reason: str) -> str:
    """Return the note on a run that cannot go on in the session of the one before."""
    return (
        f"The sub-agent's own session could not be continued ({reason}): it was told what happened "
        "instead."
    )


def note_session_moved(before: str, now: str) -> str:
    """Return the note on a session that goes on in another directory."""
    return f"This session was in {before} before; it goes on in {now}."


# Definitions of projects that are not trusted (subagents.project_definitions)


def not_asked(name: str, reason: str) -> str:
    """Return that a person could not be asked what a sub-agent asks."""
    return f"What {name} asks could not be shown: {reason}. It waits for `subagents answer`."


def ask_foreign(kind: str, name: str, path: str) -> str:
    """Return the question whether a definition may be used."""
    return (
        f'The {kind} "{name}" belongs to this project, which is not trusted. It can choose the '
        f"model, the tools and the prompt: {path}. Use it?"
    )


def note_other_engine(name: str, left_out: tuple[str, ...], meant: str, engine: str) -> str:
    """Return the note on what of a profile or preset is meant for another engine."""
    words = ", ".join(left_out)
    return (
        f'"{name}" sets {words} for the engine {meant}; that is not used with {engine}, which '
        f"works with its own. To choose, set `engine: {engine}` beside it, or name a model in the "
        "task."
    )


def note_untrusted(kind: str, name: str, left_out: tuple[str, ...]) -> str:
    """Return the note on what a project's own profile or preset may not decide."""
    return (
        f'The project\'s {kind} "{name}" may not set {", ".join(left_out)}: the project is not '
        "trusted. Trust it in pi (/trust), or with --trust-project, if you have read the file."
    )


def note_not_parsed(model: str, reason: str) -> str:
    """Return the note on a value that fits the schema of a model class, but not the class."""
    return f"The value fits the schema of {model}, but {model} does not take it: {reason}"


def setup_not_trusted(command: str) -> str:
    """Return that a project's command for its worktrees does not run."""
    return (
        f"workspace_setup of the project's settings is left out ({command}): the project is not "
        "trusted. Trust it in pi (/trust), or with --trust-project."
    )


def check_not_trusted(name: str, command: str) -> str:
    """Return that a check from a file of the project does not run."""
    return (
        f'The check of task "{name}" is left out ({command}): the project is not trusted, and the '
        "task file is part of it. Trust it in pi (/trust), or with --trust-project."
    )


OF_ANOTHER_MACHINE = "a directory on another machine"


def works_in_worktree(path: str, cwd: str, *, goes_on: bool) -> str:
    """Return the line of a prompt that says where the child works."""
    state = "with your changes in it" if goes_on else "as it is now"
    return (
        f"(You work in {path}, a git worktree of your own: a copy of {cwd} {state}. "
        "Change files only there; your changes are collected when you are done.)"
    )


NO_WORKTREE = "it had no worktree of its own."
STILL_AT_WORK = "it is still at work."
NONE_PASSED = "no check of ours passed them (--passed): subagents apply takes them without it."


def left_out_unpassed(run: str, work: str) -> str:
    """Return that a run's changes were left out, since no check passed them."""
    return f"Left out: the changes of run {run} ({work or 'not checked'})"


def changes_discarded(run_id: str) -> str:
    """Return that what a run changed was thrown away."""
    return f"The changes of run {run_id[:8]} are discarded."


def written_twice(files: list[str], more: int, others: list[str]) -> str:
    """Return that other tasks of the call wrote the same files of the shared checkout."""
    left = f" and {more} more" if more > 0 else ""
    return f"Also written by {', '.join(others)}, in the same checkout: {', '.join(files)}{left}"
