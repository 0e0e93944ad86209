"""The words of `core` for people and models, by what they are about."""

from __future__ import annotations

MAX_MESSAGE = 1000  # characters of a message that is quoted on a line

RPC_NOT_JSON = "the line is not JSON"
RPC_NOT_A_MESSAGE = "the line is not a JSON-RPC 2.0 request, notification or response"
RPC_NEEDS_NAMED_PARAMS = "params must be an object"
TAKES_NO_PARAMETERS = "must be empty: the tool takes no parameters"

# By the number of our own message.
ASKED_TO_FINISH = {
    "wrap-up": "asked to finish: its time is almost up",
    "budget": "asked to finish: its budget is almost used up",
}


def prompt_refused(reason: str) -> str:
    """Return why a child that was ready did not work on its prompt."""
    return f"Sub-agent could not start: {reason}"


def note_other_model(before: str, now: str) -> str:
    """Return the note on a session that another model goes on with."""
    return f"This session was answered by {before} before; now by {now}."


STEER_TOO_LATE = "The sub-agent had finished before the message reached it."
STEER_NOT_ANY_MORE = "The sub-agent is being stopped."


def steer_too_large(size: int, limit: int) -> str:
    """Return why a message is not taken as it is."""
    return f"must have at most {limit} bytes; this one has {size}"


def steered(name: str, status: str, reason: str) -> str:
    """Return what became of a message, in a sentence or two."""
    match status:
        case "delivered":
            return f"Delivered: {name} has read the message."
        case "accepted":
            return f"Accepted, not read yet. {reason}"
        case _:
            return f"Not delivered to {name}. {reason}"


def steer_line(text: str, refusal: str) -> str:
    """Return the line that shows a message to a sub-agent among what it does."""
    return f"steering refused: {text} ({refusal})" if refusal else f"steered: {text}"


def wrap_up_line(number: str, refusal: str) -> str:
    """Return the line that shows our own message to finish."""
    asked = ASKED_TO_FINISH[number]
    return f"could not be {asked} ({refusal})" if refusal else asked


WRAP_UP = (
    "Your time is almost up. Do not start anything new: finish now with what you have, and say "
    "what is missing."
)


def session_goes_on(wait_s: float) -> str:
    """Return that a text is not the last one, since its session is at work."""
    return f"(This session is still running. To wait for it, set waitSeconds, up to {wait_s:g}.)"


def session_work(work: str) -> str:
    """Return what a session's last run changed, and whether that was checked."""
    return f"(Its work: {work})"


def session_failed(error_message: str) -> str:
    """Return why a session has no more to say."""
    return f"(It ended with an error: {error_message})"


GO_ON = "Go on."  # what a sub-agent is asked whose run ended without an answer


def session_can_go_on(next_call: str) -> str:
    """Return that a session has no whole answer, and the call that goes on with it."""
    return f"(There is no whole answer. To go on: {next_call})"


def no_line_matches(count: int) -> str:
    """Return what stands in place of the lines that were looked for."""
    return f"(none of the {count} lines has it)"


# What can be wrong with a parameter (InvalidRequest puts the place in front) or a setting.


NEEDS_STRING = "is required and must be a string"
MUST_BE_STRING = "must be a string"


def wrong_rounds(most: int) -> str:
    """Return what a number of rounds has to be."""
    return f"must be a whole number from 0 to {most}"


NEEDS_RUN_IDS = "must be a list of ids of runs"
MUST_BE_FLAG = "must be true or false"
MUST_BE_SECONDS = "must be a number of seconds"
NEEDS_COUNT = "must be a whole number, 0 or more"
NEEDS_OBJECT = "must be an object"
MUST_NOT_BE_EMPTY = "must not be empty"
MUST_NOT_HAVE_NULL = "must not contain a null byte"
SETTINGS_NOT_AN_OBJECT = "should be a JSON object; ignored"
SETTING_GLOBAL_ONLY = "ignored: it counts in the global settings file only"
NEEDS_TASKS = "must be an object with a list `tasks`"
NEEDS_TASK_LIST = "is required and must be a list of task objects"
NEEDS_TASK_OBJECT = "must be an object with `name` and `prompt`"
NEEDS_TASKS_OR_PROMPTS = "must be a prompt, a Task, or a list of these"
NEEDS_TASK_OR_PROMPT = "must be a prompt or a Task"
NEEDS_FILE_LIST = "must be a list of paths or objects with a `path`"
NEEDS_FILE = "must be a path, or an object with a `path`"
NEEDS_FILE_SPEC = "must be a FileSpec"
NEEDS_FILE_SPECS = "must be a tuple of FileSpec"
NEEDS_TOOL_NAMES = "must be a list of the names of tools"
FILE_FORMS = "takes `start` and `end`, or `head`, or `tail`, in addition to `path`"
MUST_BE_LINE = "must be a whole number of at least 1"
START_AFTER_END = "starts after it ends"
NEEDS_PRESET_OR_TASKS = "must be an object with `preset` and `task`, or with `tasks`"
NEEDS_PRESET_AND_TASK = "must be an object with `preset` and `task`"
NEEDS_PRESET_TASK_LIST = "must be a list of objects with `preset` and `task`"
EMPTY_IS_NOT_ALL = "must not be empty; leave it out to stop all active runs"
MUST_BE_COUNT = "must be a whole number of characters"
MUST_BE_LINES = "must be a whole number of lines"
MUST_BE_ONE_LINE = "must be one line: it is looked for in each line"


# What can be wrong with a parameter, a setting or a file: limits, names and reasons.


def file_unusable(reason: str) -> str:
    """Return why a file was passed over."""
    return f"cannot be used: {reason}"


def wrong_task_count(most: int, given: int) -> str:
    """Return why a call with too few or too many tasks is refused."""
    return f"must hold 1 to {most} tasks, not {given}"


def wrong_timeout(least: float, most: float) -> str:
    """Return the limits of a time-out."""
    return f"must be {least:g} to {most:g} seconds"


def unknown_field(key: str, known: tuple[str, ...]) -> str:
    """Return which field is not understood, and which are."""
    return f'unknown field "{key}"; known: {", ".join(known)}'


def internal_error(error: Exception) -> str:
    """Return the one line for a fault of ours."""
    return f"internal error, please report it: {type(error).__name__}: {error}"


def setting_of_wrong_type(expected: str, given: str) -> str:
    """Return why a setting was left at its default."""
    return f"should be {expected}, is {given}; ignored"


def setting_unknown(expected: str, given: str) -> str:
    """Return why a setting that names none of the choices was left at its default."""
    return f'should be {expected}, not "{given}"; ignored'


def must_be_one_of(choices: tuple[str, ...]) -> str:
    """Return what a text may be."""
    return f"must be one of {', '.join(choices)}"


def wrong_length(most: int) -> str:
    """Return why a text is too short or too long."""
    return f"must have 1 to {most} characters"


# Messages of outcomes: values in a result, not exceptions.  Hosts and prompts rely on their words.


INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)"
NO_TEXT_OUTPUT = "(no text output from sub-agent)"
SPAWN_FAILED = "Failed to spawn sub-agent process"
LOOP_DETECTED = "Loop detected: sub-agent is repeating the same tool calls"
STOPPED_ON_REQUEST = "Stopped on request"
CHILD_REPORTED_ERROR = "The model reported an error without a message"
NOTE_NO_MODEL = (
    "No model is configured. Log in (`subagents pi`, then /login), or set a provider's key (such "
    "as ANTHROPIC_API_KEY). `--offline` works without one."
)
NOTE_LENGTH = "The answer was cut by the model's length limit."
NOTE_EMPTY_ANSWER = "The sub-agent finished without any text."


def timed_out(timeout_s: float) -> str:
    """Return the message of a time-out, with whole seconds written whole."""
    return f"Timed out after {timeout_s:g}s. Consider resuming with a longer timeout."


def extended_now(timeout_s: float, idle_s: float, most_s: float) -> str:
    """Return that a run goes on beyond its time-out, and what would end it."""
    return (
        f"past its time-out of {_span(timeout_s)}, goes on while it is active "
        f"(until it is idle for {_span(idle_s)}, at most {_span(most_s)} more)"
    )


def note_extended(ran_s: float, timeout_s: float) -> str:
    """Return the note on a run that had more time than its time-out."""
    ran, wanted = _span(int(ran_s)), _span(timeout_s)  # as clocks show it: whole seconds
    return f"Ran {ran}: the time-out of {wanted} was extended while it was active."


def _span(seconds: float) -> str:
    """Return a time in the largest unit of which it has a whole number."""
    for size, unit in ((3600, "h"), (60, "m")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size:g}{unit}"
    return f"{seconds:g}s"


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


def entry_cut(more: int) -> str:
    """Return the mark at the end of a text that a host's session log holds a part of."""
    return f"[cut: {more} more characters]"


# Marks in what a resumed sub-agent reads of its session.


RESUME_SHORTENED = "... (shortened)"
RESUME_LEFT_OUT = "(older parts of this session were left out to save room)"


# What can be wrong with the front matter of a profile, preset or skill.


FENCE_NOT_CLOSED = "the front matter begins with `---` and is never closed"
NEEDS_FIELDS = "the front matter must be one list of `key: value` lines"
NEEDS_KEY = "a key must be a plain word"
NO_ALIASES = "anchors, aliases and merge keys are not accepted here"
NO_TAGS = "YAML tags are not accepted here"
TOO_DEEP = "values are nested too deeply"


def repeated_key(key: str) -> str:
    """Return which key stands twice."""
    return f'"{key}" is set twice'


def frontmatter_too_large(most: int) -> str:
    """Return the limit of a front matter."""
    return f"the front matter is longer than {most // 1024} KiB"


def yaml_unreadable(problem: str) -> str:
    """Return why YAML could not be read at all."""
    return f"not readable as YAML: {problem}"


# What can be wrong with a profile or preset: a field, a file, fields against each other.


NEEDS_NAME = "is required: 1 to 64 letters, digits, hyphens and underscores"
MUST_BE_ITEMS = "must be a list of strings, or one string with commas"
BODY_HAS_NULL = "the system prompt must not contain a null byte"
TOOLS_EMPTY = '"tools" is empty: the sub-agent gets no tools'


def field_problem(key: str, problem: str) -> str:
    """Return what is wrong with which field."""
    return f'"{key}" {problem}'


def unknown_file_field(key: str, close: str) -> str:
    """Return which field has no meaning, and which may have been meant."""
    return f'unknown field "{key}"; ignored' + (f' (did you mean "{close}"?)' if close else "")


def more_unknown_fields(count: int) -> str:
    """Return how many more fields have no meaning."""
    return f"{count} more unknown fields; ignored"


def more_lines(count: int) -> str:
    """Return how much of a text is not shown."""
    return f"… ({count} more line{'' if count == 1 else 's'})"


NOT_EDITABLE = (
    "its front matter cannot be changed line by line without changing more; edit the file by hand"
)


def wrong_thinking_level(levels: tuple[str, ...]) -> str:
    """Return which thinking levels there are."""
    return f'"thinkingLevel" must be one of {", ".join(levels)}; left out'


def wrong_permissions(kinds: tuple[str, ...], words: tuple[str, ...]) -> str:
    """Return what `permissions` of a profile must be."""
    return f"must be one of {', '.join(words)}, or one of these for each of {', '.join(kinds)}"


def wrong_questions(choices: tuple[str, ...]) -> str:
    """Return the problem of a word that is not known, and what counts instead."""
    return f'"questions" must be one of {", ".join(choices)}; it may ask nothing'


def wrong_isolation(choices: tuple[str, ...]) -> str:
    """Return which isolations there are."""
    return f'"isolation" must be one of {", ".join(choices)}; every task gets a new process'


def wrong_mcp(choices: tuple[str, ...]) -> str:
    """Return what a profile may say of MCP servers."""
    return f'"mcp" must be one of {", ".join(choices)}; no MCP server is used'


NEEDS_DESCRIPTION = "is required: a text that says what the preset is for"


# Definitions of projects that are not trusted (subagents.project_definitions)


FOREIGN_DENIED = 'subagents.project_definitions is "deny"'
HOW_TO_TRUST = "trust the project in pi (/trust), or with --trust-project"


def foreign_declined(answer_file: str) -> str:
    """Return why a definition is not used that somebody said no to, and how to be asked again."""
    return f"you said no to it (remove {answer_file} to be asked again)"


def note_replaces(kind: str, name: str, path: str) -> str:
    """Return the note on a definition that stands in front of the user's own."""
    return (
        f'This project\'s {kind} "{name}" is used instead of yours of the same name, and the '
        f"project is not trusted: {path}"
    )


def note_own_instead(kind: str, name: str, why: str) -> str:
    """Return the note on a definition of the user's that counts although the project has one."""
    return (
        f'Your own {kind} "{name}" is used. This project, which is not trusted, has one of the '
        f"same name, which is not used: {why}."
    )


def foreign_refused(kind: str, name: str, why: str) -> str:
    """Return why a definition that only the project has cannot be used."""
    return (
        f'The {kind} "{name}" belongs to this project, which is not trusted: {why}. '
        f"To use it, {HOW_TO_TRUST}."
    )


def nobody_to_ask(kind: str, name: str, path: str) -> str:
    """Return why a definition that has to be asked about cannot be used, and what to do."""
    return (
        f'The {kind} "{name}" ({path}) belongs to this project, which is not trusted, and '
        'nobody can be asked here (subagents.project_definitions is "ask"). Use it once in a '
        f"terminal or inside pi and answer there, or {HOW_TO_TRUST}."
    )


# What is said of the profile a task names.


NO_PROFILES = (
    "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ "
    "or .pi/agent-profiles/."
)
