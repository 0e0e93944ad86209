"""What `view` says to people."""

from __future__ import annotations

from pi_subagents.core.run.record import short_id
from pi_subagents.core.session.next_calls import read_on


def still_running(after_s: float, running: int, total: int) -> str:
    """Return the first line of an answer that had to be given before the work was done."""
    return f"Still running after {after_s:.0f} s: {running} of {total}. The work goes on by itself."


def how_to_get_the_rest(wait_s: float, *, can_stop: bool = True) -> str:
    """Return the last line of such an answer; a tool that is switched off is not named."""
    stop = "To stop one: background_agent_stop with its session id as runId. "
    return (
        "To get the rest: get_subagent_output with a session id and waitSeconds "
        f"(up to {wait_s:g}). {stop if can_stop else ''}To send one a message: steer_subagent."
    )


def note(text: str) -> str:
    """Return something said beside an answer."""
    return f"Note: {text}"


def patch_cut(size: int) -> str:
    """Return that a patch is longer than what is shown."""
    return f"[The patch has {size} bytes; all of it: subagents diff]"


SESSION_IDS = "Session IDs (use with get_subagent_output):"
SEVERAL_CALLS = "several calls"
MORE_LINES = ("... ({} more line)", "... ({} more lines)")


def window_error(error_message: str) -> str:
    """Return the line below a window that says why its task failed."""
    return f"Error: {error_message}"


def background_header(status: str, took: str, run_id: str) -> str:
    """Return what stands behind the preset above the end of a background run."""
    return f" • {status} in the background • {took} • run {short_id(run_id)}"


# Answers beside the line of each task.


PARTIAL_ANSWER = "no whole answer, this is what it said last"
NO_ANSWER = "no answer"
LAST_WORDS = "Said last, no whole answer"


def partial_of(name: str) -> str:
    """Return the heading of what a task said that did not complete."""
    return f"{name}: {PARTIAL_ANSWER}"


def last_words_of(name: str, session_id: str) -> str:
    """Return how a person reads what a task said that did not complete."""
    return f"{name}: no whole answer; what it said last: subagents output {session_id}"


def whose_lines_are(mark: str) -> str:
    """Return the line above the answers of a call: whatever they say, they are no words of ours."""
    return f"Lines that begin with {mark} are ours; all others are the words of sub-agents."


def to_go_on(next_call: str) -> str:
    """Return how to go on with a task that has no whole answer."""
    return f"to go on: {next_call}"


def left_out_here(characters: int, next_call: str) -> str:
    """Return what stands in the place of the middle of an answer."""
    return f"{characters} characters are left out here: {next_call}"


# Background runs.


def background_started(preset: str, run_id: str) -> str:
    """Return what a host reads of a run that continues without it."""
    return (
        f"Started {preset} in the background as run {short_id(run_id)}. "
        "Ask with background_agent_status; there is no need to wait."
    )


def background_not_started(preset: str, run_id: str, error_message: str) -> str:
    """Return what a host reads of a run that was over before it began."""
    return f"{preset} could not be started (run {short_id(run_id)}): {error_message}"


def parallel_done(done: int, total: int) -> str:
    """Return how many of several sub-agents did their task."""
    return f"{done} of {total} sub-agents completed."


def subagent_failed(status: str, error_message: str) -> str:
    """Return what stands in place of an answer."""
    return f"Sub-agent {status}: {error_message}"


def background_stopped(count: int) -> str:
    """Return how many background runs a stop has ended."""
    return f"Stopped {count} background run{'' if count == 1 else 's'}."


def background_output_cut(shown: int, total: int, session_id: str) -> str:
    """Return where the rest of a long answer is."""
    return f"[{shown} of {total} characters; the rest: {read_on(session_id, shown, total - shown)}]"


# What a window says while it has no lines: the latest ones, or (expanded) its history.


WINDOW_STARTING = "(starting...)"
WINDOW_NO_OUTPUT = "(no output)"

# What a display of windows says around them.


def display_queued(place: int) -> str:
    """Return where in the queue a task stands."""
    return f"queued, place {place}"
