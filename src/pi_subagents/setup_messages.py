"""What is said of the pi on this machine: why it cannot be run, asked or installed."""

from __future__ import annotations

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


# Why pi did not tell which models it has: the reasons of ModelsUnknown.

MODELS_IN_UNKNOWN_FORM = "its answer has an unknown form"


def pi_gave_no_answer(limit_s: float) -> str:
    """Return that pi was asked and did not answer in time."""
    return f"it gave no answer within {limit_s:g} s"


def pi_wrote_too_much(limit: int) -> str:
    """Return that pi was asked and wrote more than an answer can have."""
    return f"it wrote more than {limit // 1024 // 1024} MiB"


def pi_ended_unasked(exit_code: int) -> str:
    """Return that pi was asked and ended without an answer."""
    how = f"was ended by signal {-exit_code}" if exit_code < 0 else f"exited with code {exit_code}"
    return f"it {how}"


# What is said of an installation of pi: on the way, and the reasons of InstallFailed.

ANOTHER_WAY = "did not work, taking the published package by itself"
PACKAGE_NAMES_NOTHING = "its package.json does not say what it depends on"
PI_LOADED_NO_EXTENSION = "it started, but did not load an extension"


def pi_is_another(version: str) -> str:
    """Return that pi works, but is of another version than asked for."""
    return f"it started, but is pi {version}"
