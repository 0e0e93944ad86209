"""What `core` says to people."""

from __future__ import annotations

MAX_MESSAGE = 1000  # characters of a message that is quoted on a line

RPC_NOT_JSON = "the line is not JSON"
RPC_NOT_A_MESSAGE = "the line is no request, notification or response of JSON-RPC 2.0"
RPC_NEEDS_NAMED_PARAMS = "params must be an object"
TAKES_NO_PARAMETERS = "must be empty: the tool takes no parameters"

# What can be wrong with a parameter (InvalidRequest puts the place in front) or a setting.


NEEDS_STRING = "is required and must be a string"
MUST_BE_STRING = "must be a string"
MUST_BE_FLAG = "must be true or false"
MUST_BE_SECONDS = "must be a number of seconds"
NEEDS_OBJECT = "must be an object"
MUST_NOT_BE_EMPTY = "must not be empty"
MUST_NOT_HAVE_NULL = "must not contain a null byte"
SETTINGS_NOT_AN_OBJECT = "should be a JSON object; ignored"
SETTING_GLOBAL_ONLY = "ignored: it counts in the global settings file only"

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


# Messages of outcomes: values in a result, not exceptions.  Hosts and prompts rely on their words.


INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)"
NO_TEXT_OUTPUT = "(no text output from sub-agent)"
