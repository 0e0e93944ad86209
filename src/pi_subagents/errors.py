"""
Every exception and every user-facing message, once.

SubagentsError
  RequestError          the whole call was refused, nothing was started        exit 2
    InvalidRequest        a parameter is missing, of the wrong type or out of range
    CwdNotAbsolute        a task's directory is relative
    CwdHasParentSegments  a task's directory climbs
    UnknownTool           no tool of that name
    NestedDelegation      a child tried to delegate
    PlatformNotSupported  Windows outside WSL
  SetupError            the child cannot be run on this machine                exit 2
    PiNotFound            no pi anywhere
    PiCommandUnusable     a configured pi command cannot be run
    NodeNotFound          no Node that pi accepts, and none could be fetched
    InstallFailed         npm or pip failed
    PortUnavailable       the offline model cannot listen there
  StoreError            an asked-for record is absent or unreadable            exit 2
    RunNotFound
    RunAmbiguous
    RunUnreadable
    RunNotActive
    StoreUnwritable
    SessionNotFound
  OfflineScriptError    a script for the offline model is malformed            exit 2

Callers raise with data, never with prose.  Messages of outcomes (values, not exceptions)
are the functions at the end.
"""

from __future__ import annotations

PINNED_PI_VERSION = "0.87.1"
# Who can choose another pi than the managed one, in the words users know them by.
PI_CHOSEN_BY = {
    "environment": "PI_SUBAGENTS_PI",
    "settings": "the setting subagents.pi_command",
    "path": "PATH",
}


class SubagentsError(Exception):
    """Base of everything this package raises on purpose."""


class RequestError(SubagentsError):
    """The whole call was refused before anything was started."""


class InvalidRequest(RequestError):
    """A parameter is missing, of the wrong type or out of range."""

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        super().__init__(f"{where}: {problem}")


class CwdNotAbsolute(RequestError):
    """A task's working directory is relative."""

    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        super().__init__("cwd must be an absolute path")


class CwdHasParentSegments(RequestError):
    """A task's working directory climbs."""

    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        super().__init__("cwd must not contain '..' path segments")


class UnknownTool(RequestError):
    """No tool has that name."""

    def __init__(self, name: str, available: tuple[str, ...]) -> None:
        self.name = name
        self.available = available
        super().__init__(f'Unknown tool: "{name}". Available tools: {", ".join(available)}')


class NestedDelegation(RequestError):
    """A sub-agent tried to delegate; depth is one."""

    def __init__(self) -> None:
        super().__init__(
            "This process is itself a sub-agent (PI_SUBAGENTS_CHILD=1), and sub-agents may not "
            "delegate further. Do the work here, or hand it back to the main agent."
        )


class PlatformNotSupported(RequestError):
    """Children cannot be supervised on this operating system."""

    def __init__(self, platform: str) -> None:
        self.platform = platform
        super().__init__(
            f"pi-subagents supervises processes with POSIX means and does not run on {platform}. "
            "Use it inside WSL (Windows Subsystem for Linux)."
        )


class SetupError(SubagentsError):
    """The child cannot be run on this machine as it is."""


class PiNotFound(SetupError):
    """No pi is configured, on PATH or installed."""

    def __init__(self, left_out: tuple[str, ...] = ()) -> None:
        self.left_out = left_out
        inside = f" ({', '.join(left_out)} is inside the working directory and not used)"
        super().__init__(
            f"No pi found{inside if left_out else ''}. Run `subagents setup`: it installs "
            f"pi {PINNED_PI_VERSION}, and Node if needed, into your data directory."
        )


class PiCommandUnusable(SetupError):
    """The pi that was chosen cannot be run."""

    def __init__(self, source: str, command: str, reason: str) -> None:
        self.source = source
        self.reason = reason
        # The program alone: what follows it, or is assigned before it, may be a key.
        program, assigned, _ = (command.split() or [""])[0].partition("=")
        self.program = f"{program}=…" if assigned else program
        where = PI_CHOSEN_BY.get(source, source)
        super().__init__(f"The pi command from {where} cannot be run: {self.program!r} {reason}")


class NodeNotFound(SetupError):
    """No Node that pi accepts, and none could be fetched."""

    def __init__(self, minimum: str, on_path: str | None, reason: str) -> None:
        self.minimum = minimum
        self.on_path = on_path
        self.reason = reason
        super().__init__(
            f"pi needs Node {minimum} or newer (on PATH: {on_path or 'none'}), and fetching one "
            f"did not work. Install Node {minimum} or newer, or "
            f"`pip install 'pi-subagents[node]'`, then run `subagents setup` again. "
            f"What went wrong: {reason}"
        )


class InstallFailed(SetupError):
    """An installer failed; nothing of its work was kept."""

    def __init__(self, step: str, exit_code: int | None, output: tuple[str, ...]) -> None:
        self.step = step
        self.exit_code = exit_code
        self.output = output
        how = "" if exit_code is None else f" (exit code {exit_code})"
        tail = "".join(f"\n  {line}" for line in output)
        super().__init__(
            f"Set-up failed while {step}{how}. Nothing half-installed was left. Check the network, "
            f"the registry or proxy settings and the free disk space, then run `subagents setup` "
            f"again.{tail}"
        )


# Why a pi command is unusable: the reasons of PiCommandUnusable.

COMMAND_EMPTY = "is empty"
COMMAND_NOT_ON_PATH = "is not on PATH"
COMMAND_INSIDE_CWD = "is on PATH only inside the working directory, which is never used"
COMMAND_RELATIVE = "is a relative path; give an absolute one, or a name on PATH"
COMMAND_NOT_RUNNABLE = "is not an executable file"


def command_not_parsed(problem: str) -> str:
    """Return why a command line cannot be split into words."""
    return f"cannot be split into words ({problem})"


def command_needs_node(minimum: str) -> str:
    """Return why a pi on PATH would crash at once."""
    return (
        f"needs Node {minimum} or newer, and there is none. Run `subagents setup`: it fetches one."
    )


class PortUnavailable(SetupError):
    """The offline model cannot listen on the wanted port."""

    def __init__(self, port: int, reason: str) -> None:
        self.port = port
        super().__init__(f"Cannot listen on port {port} of loopback: {reason}")


class StoreError(SubagentsError):
    """An asked-for record is absent or unreadable."""


class RunNotFound(StoreError):
    """No run has that id here."""

    def __init__(self, run: str, runs_dir: str) -> None:
        self.run = run
        super().__init__(
            f'Run "{run}" not found in {runs_dir}. `subagents runs` lists what is there.'
        )


class RunAmbiguous(StoreError):
    """Several runs begin with the given characters."""

    def __init__(self, run: str, matches: tuple[str, ...]) -> None:
        self.run = run
        self.matches = matches
        super().__init__(f'"{run}" is the beginning of several runs: {", ".join(matches)}')


class RunUnreadable(StoreError):
    """A run directory lacks what is needed to tell about it."""

    def __init__(self, run: str, reason: str) -> None:
        self.run = run
        super().__init__(f'Run "{run}" cannot be read: {reason}')


class StoreUnwritable(StoreError):
    """Runs cannot be kept here."""

    def __init__(self, runs_dir: str, reason: str) -> None:
        self.runs_dir = runs_dir
        super().__init__(f"Cannot keep runs in {runs_dir}: {reason}")


class SessionNotFound(StoreError):
    """No session has that id."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(
            f'Session "{session_id}" not found. '
            "The session may have expired or the ID is incorrect."
        )


class RunNotActive(StoreError):
    """A stop was asked for a run that has already ended."""

    def __init__(self, run: str, status: str) -> None:
        self.run = run
        self.status = status
        super().__init__(f'Run "{run}" is not running (status: {status}); nothing to stop.')


# What can be wrong with a parameter (InvalidRequest puts the place in front) or a setting.

NEEDS_TASKS = "must be an object with a list `tasks`"
NEEDS_TASK_LIST = "is required and must be a list of task objects"
NEEDS_TASK_OBJECT = "must be an object with `name` and `prompt`"
NEEDS_STRING = "is required and must be a string"
MUST_BE_STRING = "must be a string"
MUST_BE_SECONDS = "must be a number of seconds"
NEEDS_SESSION = "must be an object with a `sessionId`"
MUST_BE_COUNT = "must be a whole number of characters"
NEEDS_FILE_LIST = "must be a list of paths or objects with a `path`"
NEEDS_FILE = "must be a path, or an object with a `path`"
FILE_FORMS = "takes `start` and `end`, or `head`, or `tail` beside its `path`"
MUST_BE_LINE = "must be a whole number of at least 1"
START_AFTER_END = "starts after it ends"
MUST_NOT_BE_EMPTY = "must not be empty"
MUST_NOT_HAVE_NULL = "must not contain a null byte"
SETTINGS_NOT_AN_OBJECT = "should be a JSON object; ignored"
SETTING_GLOBAL_ONLY = "ignored: it counts in the global settings file only"


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


def index_unusable(reason: str) -> str:
    """Return the notice that runs are kept but could not be entered in the index."""
    return (
        f"The index of runs cannot be written ({reason}): these runs are not found by id from "
        "elsewhere, and not recovered after a crash."
    )


def not_json(reason: str) -> str:
    """Return why parameters could not be read."""
    return f"parameters: must be JSON: {reason}"


def internal_error(error: Exception) -> str:
    """Return the one line for a fault of ours."""
    return f"internal error, please report it: {type(error).__name__}: {error}"


def setting_of_wrong_type(expected: str, given: str) -> str:
    """Return why a setting was left at its default."""
    return f"should be {expected}, is {given}; ignored"


# Notices: said once, before the work begins.

NOTICE_OFFLINE = (
    "Offline: the built-in model stands in for provider and model. It follows simple rules "
    "(list, count, find, search, read, summarise headings) and is not a language model."
)
NOTICE_OFFLINE_SCRIPT = (
    "Offline: a script stands in for provider and model. It is not a language model."
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


class OfflineScriptError(SubagentsError):
    """A script for the offline model is malformed; nothing of it is used."""

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        super().__init__(f"Offline model script: {where}: {problem}")


def supervisor_failed(reason: str) -> str:
    """Return the message of a run whose supervisor failed: a fault of ours, worth a report."""
    return f"Internal error in the supervisor: {reason}"


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
