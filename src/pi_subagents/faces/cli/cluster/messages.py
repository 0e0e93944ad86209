"""What the verbs of clusters say to people."""

from __future__ import annotations

NO_WORKERS = "No workers. On each machine that is to work: subagents worker"
NO_QUEUE = "Nothing is queued or at work."
NOTHING_TO_PRUNE = "Nothing is old enough to remove."
PRUNES_NOTHING = "Nothing was removed. Add --yes to remove."
NEXT_USERS = """\
Next, one user of the database for each who submits, works or looks, for example:
  CREATE ROLE ci LOGIN PASSWORD '...';     GRANT subagents_submit TO ci;
  CREATE ROLE builder LOGIN PASSWORD '...'; GRANT subagents_work TO builder;
  CREATE ROLE ops LOGIN PASSWORD '...';     GRANT subagents_look TO ops;
Then, on a machine that works: subagents worker (docs/cluster.md)."""
TRY_BEGINS = "Starting PostgreSQL and two workers on this machine, for as long as this takes."
TRY_ENDED = "All of it has ended. Now with machines of your own: docs/cluster.md"


def made(shown: str, version: int, roles: tuple[str, ...], *, is_new: bool) -> str:
    """Return what `init` did."""
    what = "Made a cluster" if is_new else "Brought the cluster up to date"
    new = f" and the roles {', '.join(roles)}" if roles else ""
    return f"{what} at {shown}: version {version} of its tables{new}."


def heading(shown: str, size: str) -> str:
    """Return the line above how a cluster stands."""
    return f"Cluster at {shown}, {size}"


def rates(submitted: int, ended: int, hour: int, lost: int) -> str:
    """Return how much goes through."""
    return (
        f"{submitted} submitted and {ended} ended in the last minute, {hour} ended in the last "
        f"hour, {lost} lost in the last day."
    )


def waiting(tag: str, queued: int, at_work: int, oldest: str) -> str:
    """Return how the queue of a tag stands."""
    since = f", the first for {oldest}" if queued else ""
    return f"{tag}: {at_work} at work, {queued} waiting{since}"


def stalled(run: str, name: str, worker: str, quiet: str) -> str:
    """Return that a run was not heard of for long."""
    return f"{run} ({name}) of worker {worker} was not heard of for {quiet}"


def refused(run: str, submitter: str, by: str, reason: str) -> str:
    """Return that an order was refused."""
    return f"{run} of {submitter}, refused by {by}: {reason}"


def drained(worker: str, busy: int, *, draining: bool) -> str:
    """Return what becomes of a worker."""
    if not draining:
        return f"{worker} takes runs again."
    rest = f"; it ends when its {busy} at work have" if busy else ", and ends"
    return f"{worker} takes no more runs{rest}."


_NOT_REQUEUED = {
    "queued": "is in the queue already",
    "ended": "has ended, with a result",
    "fetched": "is over, and its caller has it: resume it there (subagents resume)",
    "claimed": "is at work, and its worker is alive; --force takes it away from that worker",
    "begun": "is at work, and its worker is alive; --force takes it away from that worker",
}


def requeued(run: str, was: str, *, done: bool) -> str:
    """Return what became of a run that is to begin once more."""
    if done:
        return f"{run} was {was} and is in the queue again."
    return f"{run} {_NOT_REQUEUED.get(was, was)}."


def pruned(runs: int, packs: int, workers: int, *, done: bool) -> str:
    """Return what was removed, or would be."""
    verb = "Removed" if done else "Would remove"
    return f"{verb} {runs} runs, {packs} packs, {workers} workers that were not heard of."
