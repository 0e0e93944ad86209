"""
Every user-facing message that is not an exception's own, once.

What can be wrong with a parameter, notices before the work, messages and notes of outcomes, and
placeholders in prompts.  Hosts and prompts rely on the words of outcomes and placeholders.
"""

from __future__ import annotations

# What can be wrong with a parameter (InvalidRequest puts the place in front) or a setting.

NEEDS_TASKS = "must be an object with a list `tasks`"
NEEDS_TASK_LIST = "is required and must be a list of task objects"
NEEDS_TASK_OBJECT = "must be an object with `name` and `prompt`"
NEEDS_STRING = "is required and must be a string"
MUST_BE_STRING = "must be a string"
MUST_BE_FLAG = "must be true or false"
NEEDS_PRESET_OR_TASKS = "must be an object with `preset` and `task`, or with `tasks`"
NEEDS_PRESET_AND_TASK = "must be an object with `preset` and `task`"
NEEDS_PRESET_TASK_LIST = "must be a list of objects with `preset` and `task`"
MUST_BE_SECONDS = "must be a number of seconds"
NEEDS_OBJECT = "must be an object"
NO_SCRIPT_IN_BACKGROUND = "a script needs somebody to serve it; background runs take the rules only"
MUST_BE_COUNT = "must be a whole number of characters"
NEEDS_FILE_LIST = "must be a list of paths or objects with a `path`"
NEEDS_FILE = "must be a path, or an object with a `path`"
NEEDS_FILE_SPEC = "must be a FileSpec"
MUST_BE_CONCURRENCY = "must be a whole number from 1 to 16"
MUST_BE_RUNNER = 'must be "process" or "tmux"'
FILE_FORMS = "takes `start` and `end`, or `head`, or `tail` beside its `path`"
MUST_BE_LINE = "must be a whole number of at least 1"
START_AFTER_END = "starts after it ends"
MUST_NOT_BE_EMPTY = "must not be empty"
EMPTY_IS_NOT_ALL = "must not be empty; leave it out to stop all that are active"
MUST_NOT_HAVE_NULL = "must not contain a null byte"
SETTINGS_NOT_AN_OBJECT = "should be a JSON object; ignored"
SETTING_GLOBAL_ONLY = "ignored: it counts in the global settings file only"


# What can be wrong with a parameter, a setting or a file: limits, names and reasons.


def wrong_task_count(most: int, given: int) -> str:
    """Return why a call with too few or too many tasks is refused."""
    return f"must hold 1 to {most} tasks, not {given}"


def wrong_length(most: int) -> str:
    """Return why a text is too short or too long."""
    return f"must have 1 to {most} characters"


def wrong_timeout(least: float, most: float) -> str:
    """Return the limits of a time-out."""
    return f"must be {least:g} to {most:g} seconds"


def unknown_field(key: str, known: tuple[str, ...]) -> str:
    """Return which field is not understood, and which are."""
    return f'unknown field "{key}"; known: {", ".join(known)}'


def file_unusable(reason: str) -> str:
    """Return why a file was passed over."""
    return f"cannot be used: {reason}"


def larger_than(limit: int) -> str:
    """Return why a file was not read."""
    return f"is larger than {limit // 1024} KiB"


def index_unusable(reason: str) -> str:
    """Return the notice that runs are kept but could not be entered in the index."""
    return (
        f"The index of runs cannot be written ({reason}): these runs are not found by id from "
        "elsewhere, and not recovered after a crash."
    )


def not_json(reason: str) -> str:
    """Return why parameters could not be read."""
    return f"parameters: must be JSON: {reason}"


CWD_GONE = "The current directory does not exist any more. Change to another directory."


def internal_error(error: Exception) -> str:
    """Return the one line for a fault of ours."""
    return f"internal error, please report it: {type(error).__name__}: {error}"


def setting_of_wrong_type(expected: str, given: str) -> str:
    """Return why a setting was left at its default."""
    return f"should be {expected}, is {given}; ignored"


def setting_unknown(expected: str, given: str) -> str:
    """Return why a setting that names none of the choices was left at its default."""
    return f'should be {expected}, not "{given}"; ignored'


# Notices: said once, before the work begins.

NOTICE_OFFLINE = (
    "Offline: the built-in model stands in for provider and model. It follows simple rules "
    "(list, count, find, search, read, summarise headings) and is not a language model."
)
NOTICE_OFFLINE_SCRIPT = (
    "Offline: a script stands in for provider and model. It is not a language model."
)
NOTICE_TMUX_INSIDE = (
    "Each sub-agent shows its transcript in a window of this tmux session, named sub-<run id>. "
    "Closing a window stops its run."
)


def notice_tmux_own(attach: str) -> str:
    """Return how to watch runs whose windows are on a tmux server of our own."""
    return f"Watch the sub-agents while they run: {attach}"


# Lists: what is said where there is nothing to list, or more.

NO_SESSIONS_YET = 'No sessions here yet. Try: subagents run --offline "List the files"'


def sessions_left_out(shown: int, total: int) -> str:
    """Return the notice that a list of sessions is not all of them."""
    return f"{shown} of {total} sessions; --all lists every one."


def models_told(shown: int, total: int, age: str) -> str:
    """Return how many models are listed, of how many, and when pi told them."""
    count = f"{total} model{'' if total == 1 else 's'}"
    if shown != total:
        count = f"{shown} of {count}"
    when = f"as pi told {age} ago; --refresh asks again" if age else "as pi told just now"
    return f"{count}, {when}."


# Why the configuration of a host is left as it is.

NO_OBJECT_INSIDE = "it is not a JSON object"
NESTED_TOO_DEEPLY = "it is nested too deeply"
OTHER_FORM = "its entry is written in another form than a table of its own"
EDIT_NOT_PROVED = "the changed text would not be read as it should"
NOT_UTF_8 = "it is not UTF-8 text"
NOT_WRITABLE = "you may not write to it"
HOST_FILE_CHANGED = "it was changed by another program in the meantime; try again"


def unexpected_text(line: int, expected: str) -> str:
    """Return where a text stops being JSON."""
    return f"line {line}: expected {expected}"


def key_is_no_object(key: str) -> str:
    """Return why nothing can be put below a key."""
    return f'"{key}" is not an object'


def key_twice(key: str) -> str:
    """Return why it is not clear which of two entries counts."""
    return f'it has "{key}" twice'


# Background runs.


def background_started(preset: str, run_id: str) -> str:
    """Return what a host is told of a run that goes on without it."""
    return (
        f"Started {preset} in the background as run {run_id}. "
        "Ask with background_agent_status; nobody needs to wait."
    )


def background_not_started(preset: str, run_id: str, error_message: str) -> str:
    """Return what a host is told of a run that was over before it began."""
    return f"{preset} could not be started (run {run_id}): {error_message}"


def parallel_done(done: int, total: int) -> str:
    """Return how many of several sub-agents did their task."""
    return f"{done} of {total} sub-agents completed."


def subagent_failed(status: str, error_message: str) -> str:
    """Return what stands in place of an answer."""
    return f"Sub-agent {status}: {error_message}"


RUN_DIRECTORY_GONE = "The run directory is gone, and with it how the run ended"


def background_stopped(count: int) -> str:
    """Return how many background runs a stop has ended."""
    return f"Stopped {count} background run{'' if count == 1 else 's'}."


def background_output_cut(shown: int, total: int, session_id: str) -> str:
    """Return where the rest of a long answer is."""
    return (
        f"[{shown} of {total} characters; the rest: get_subagent_output "
        f'sessionId "{session_id}" offset {shown}]'
    )


# Messages of outcomes: values in a result, not exceptions.  Hosts and prompts rely on their words.

SPAWN_FAILED = "Failed to spawn sub-agent process"
LOOP_DETECTED = "Loop detected: sub-agent is repeating the same tool calls"
INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)"
NO_TEXT_OUTPUT = "(no text output from sub-agent)"
STOPPED_ON_REQUEST = "Stopped on request"
CHILD_REPORTED_ERROR = "The model reported an error without a message"
NOTE_NO_SUPERVISOR = "The supervisor ended without writing a result."
NOTE_HAD_ANSWERED = "The sub-agent had answered before it was interrupted."
NOTE_OUTPUT_CUT = "There was no room on disk for the whole output; its end is missing."
NOTE_NO_MODEL = (
    "pi has no model it may use. Set a provider's key (such as ANTHROPIC_API_KEY) or log in with "
    "pi itself; the README says how. `--offline` works without one."
)
NOTE_PROCESSES_LEFT = "Some processes of the sub-agent could not be ended."
NOTE_FORCED = "The process did not exit after its answer and was ended."
NOTE_LENGTH = "The answer was cut by the model's length limit."
NOTE_EMPTY_ANSWER = "The sub-agent finished without any text."


def note_window_not_started(limit_s: float) -> str:
    """Return why a run never began in its tmux window."""
    return f"Its tmux window was closed, or did nothing, for {limit_s:g} s."


def note_tmux_silent(limit_s: float) -> str:
    """Return that tmux did not open a window in time."""
    return f"tmux gave no answer within {limit_s:g} s."


def note_tmux_refused(said: str) -> str:
    """Return that tmux opened no window, and what it said."""
    return f"tmux opened no window: {said or 'it gave no reason'}"


def timed_out(timeout_s: float) -> str:
    """Return the message of a time-out, with whole seconds written whole."""
    return f"Timed out after {timeout_s:g}s. Consider resuming with a longer timeout."


def cwd_missing(cwd: str) -> str:
    """Return why a task could not start in its directory."""
    return f"cwd does not exist or is not a directory: {cwd}"


def child_stopped_with(stop_reason: str) -> str:
    """Return why a child that settled did not answer."""
    return f"Sub-agent stopped without an answer (stop reason: {stop_reason or 'none'})"


def child_ended_early(
    *, exit_code: int | None, signal_name: str, has_spoken: bool, error_tail: str
) -> str:
    """Return why a child that ended by itself did not finish."""
    how = f"was killed by {signal_name}" if signal_name else f"exited with code {exit_code}"
    when = "before it finished" if has_spoken else "without an answer"
    return f"Sub-agent {how} {when}" + (f": {error_tail}" if error_tail else "")


def note_exit_after_answer(exit_code: int | None, signal_name: str) -> str:
    """Return the note on a child that answered and then ended badly."""
    how = signal_name or f"exit code {exit_code}"
    return f"The process ended with {how} after it had answered."


def note_line_skipped(size: int, limit: int) -> str:
    """Return the note on a line that was too long to read."""
    return f"A line of {size} bytes was skipped: the limit is {limit} bytes."


def note_log_cut(name: str, limit: int) -> str:
    """Return the note on an artifact that reached its cap."""
    return f"{name} reached its limit of {limit} bytes; what followed was not kept."


def note_log_unwritable(name: str, reason: str) -> str:
    """Return the note on an artifact that the system could not write any more."""
    return f"{name} could not be written ({reason}); what followed was not kept."


def entry_cut(more: int) -> str:
    """Return the mark at the end of a text that a host's session log holds a part of."""
    return f"[cut: {more} more characters]"


def supervisor_failed(reason: str) -> str:
    """Return the message of a run whose supervisor failed: a fault of ours, worth a report."""
    return f"Internal error in the supervisor: {reason}"


# What a window says while it has no lines: the latest ones, or (expanded) its history.

WINDOW_STARTING = "(starting...)"
WINDOW_NO_OUTPUT = "(no output)"


# What a display of windows says around them.

DISPLAY_KEYS = "Ctrl+O full history • Ctrl+C stop"
DISPLAY_KEYS_EXPANDED = "Ctrl+O back • ↑↓ PgUp PgDn • Ctrl+C stop"
DISPLAY_KEYS_SCROLLED = "End: follow • Ctrl+O back • ↑↓ PgUp PgDn"
DISPLAY_STOPPING = "Stopping every sub-agent. Press Ctrl+C again to force it."
DISPLAY_SESSIONS = "Session IDs (`subagents output ID` prints the answer of one):"


def display_queued(place: int) -> str:
    """Return where in the queue a task stands."""
    return f"queued, place {place}"


def display_left_out(count: int) -> str:
    """Return how many windows there was no room for."""
    return f"... and {count} more (Ctrl+O shows all)"


def display_next(session_id: str) -> str:
    """Return the command that goes on with a session."""
    return f'Go on with one: subagents run --resume {session_id} "..."'


# Placeholders: what stands in a prompt where a file could not be had.


def file_not_found(path: str) -> str:
    """Return the placeholder for a file that is not there."""
    return f"[file not found: {path}]"


def file_unreadable(path: str) -> str:
    """Return the placeholder for a file that is there and cannot be read as text."""
    return f"[could not read file: {path}]"


def file_too_large(path: str, size: int, limit: int) -> str:
    """Return the placeholder for a file over the limit; sizes are rounded up to whole KB."""
    return f"[file too large: {path} ({-(-size // 1024)}KB, limit {limit // 1024}KB)]"


def file_over_total(path: str, limit: int) -> str:
    """Return the placeholder for a file that would make a task's files too large together."""
    return f"[file left out: {path} (the files of a task may have {limit // 1024}KB together)]"


# Marks in what a resumed sub-agent is told of its session.

RESUME_SHORTENED = "... (shortened)"
RESUME_LEFT_OUT = "(older parts of this session were left out to save room)"
