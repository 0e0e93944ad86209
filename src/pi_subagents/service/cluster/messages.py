"""What is said about runs on other machines."""

from __future__ import annotations

# What is wrong with a member of an order, on this worker.
NOT_SHARED = "is no directory that this worker shares (subagents worker --shared-path)"
OTHER_RUN = "is the order of another run"
NOT_THE_PACK = "is not what was sent"

# Why a run on a worker was ended by the worker.
CLUSTER_AWAY = "Its worker did not reach the database of the cluster for 30 seconds, and ended it."
WORKER_ENDED = "Its worker was ended."
NOTE_CUT = "Its output was too large to travel and was cut."


def not_trusted(role: str) -> str:
    """Return that a worker takes no orders of that role."""
    return f"comes from {role}, whose orders this worker does not take (--trust)"


def session_unusable(reason: str) -> str:
    """Return that a session cannot be continued on a worker."""
    return f"cannot be continued here: {reason}"


UNKNOWN_COMMAND = "it is no command that workers know"


def wrong_member(name: str, most: int) -> str:
    """Return what a member of a command has to be."""
    return f"{name}: must be a text of at most {most} bytes"


def command_refused(kind: str, reason: str) -> str:
    """Return why a command was not carried out."""
    return f"{kind} refused: {reason}"


# What a worker says while it works.


def worker_begins(name: str, where: str, concurrency: int, tags: str) -> str:
    """Return what a worker says first."""
    runs = "1 run" if concurrency == 1 else f"{concurrency} runs"
    return f"Worker {name} takes {runs} at once of {tags} from {where}. Ctrl+C: no more, then end."


def run_begins(run_id: str, name: str, submitter: str) -> str:
    """Return that a run begins."""
    return f"{run_id[:8]} begins: {name} (of {submitter})"


def run_ended(run_id: str, status: str, reason: str) -> str:
    """Return how a run ended."""
    return f"{run_id[:8]} {status}" + (f": {reason}" if reason else "")


def run_lost(run_id: str) -> str:
    """Return that a run is another worker's, or nobody's."""
    return f"{run_id[:8]} is not ours any more: its child was ended, what it did is kept here"


def draining(busy: int) -> str:
    """Return that a worker takes no more runs."""
    runs = "1 run" if busy == 1 else f"{busy} runs"
    more = f" when {runs} ended (Ctrl+C: at once)" if busy else ""
    return f"Taking no more runs; this worker ends{more}."


def no_room(directory: str) -> str:
    """Return that the disk is full."""
    return f"There is no space left in {directory}: runs are left to other workers until there is."


def out_of_order(reason: str) -> str:
    """Return what the database said to a worker's housekeeping."""
    return f"The database refused something, which is tried again: {reason}"


# What keeps a task from travelling, after "The task NAME cannot run in a cluster: ".

STAYS_HERE = "which is of use on this machine alone"
ITS_ORDER = "it"
ITS_SKILLS = "its skills"


def profile_has(profile: str, field: str) -> str:
    """Return which field of a profile is meant."""
    return f"its profile {profile} has {field}," if profile else f"it has {field},"


def too_large(size: int) -> str:
    """Return that something is too large to travel."""
    return f"would be {size / 1e6:.1f} MB, more than may travel"


def more_than(most: int) -> str:
    """Return that there is too much of something."""
    return f"are more than {most}"


def skill(name: str) -> str:
    """Return which skill cannot be read."""
    return f"its skill {name} cannot be read:"


def stays_of_skill(path: str, name: str) -> str:
    """Return that a file of a skill is not sent."""
    return f"The file {path} of the skill {name} is not text that travels, and stays here."


def changes_not_accepted(reason: str) -> str:
    """Return why the changes of a run cannot be taken."""
    return f"Its changes came back and do not fit the checkout that it began with: {reason}"


# What a run waits for whose worker is elsewhere.

OTHER_CLUSTER = "another cluster is known here"


def waits_for_worker(tag: str, behind: int) -> str:
    """Return that no worker has the run yet."""
    before = f", behind {behind} other run{'s' if behind != 1 else ''}" if behind else ""
    return f"It waits for a worker of the tag {tag}{before}."
