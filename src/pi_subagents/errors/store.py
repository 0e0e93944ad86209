"""Why a record cannot be had, kept or changed."""

from __future__ import annotations

from pi_subagents.errors.base import RequestError, StoreError, SubagentsError

SHORT_ID = 8  # characters of an id on screens; every command takes that many


class RunNotFound(StoreError):
    """No run has that id here."""

    def __init__(self, run: str, runs_dir: str) -> None:
        self.run = run
        super().__init__(
            f'Run "{run}" not found in {runs_dir}. `subagents runs` lists what is there.'
        )


class BackgroundRunNotFound(StoreError):
    """No background run has that id, or one that begins so."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(
            f'Background run "{run_id}" not found. To list them all: background_agent_status '
            "with includeCompleted, or `subagents background status --all`."
        )


class BackgroundNotIndexed(StoreError):
    """A background run could not be found again, since the index cannot be written."""

    def __init__(self, index: str, reason: str) -> None:
        super().__init__(
            f"Background run not started: nobody could find it again, since {index} cannot be "
            f"written ({reason}). Make room there, or set PI_SUBAGENTS_DATA to another directory."
        )


class IndexUnreadable(StoreError):
    """The index of background runs cannot be read."""

    def __init__(self, index: str, reason: str) -> None:
        super().__init__(
            f"Background runs cannot be looked up: {index} cannot be read ({reason}). "
            "`subagents runs` lists those of this project, `subagents doctor` says more."
        )


class LedgerDamaged(StoreError):
    """What was spent is not known."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"What was spent is not known: {path} cannot be read ({reason}). "
            "`subagents usage --rebuild` makes it anew from the runs that still exist."
        )


class LedgerUnreachable(StoreError):
    """What was spent is not known now: another process has the ledger, or it cannot be opened."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"What was spent is not known now: {path} cannot be used ({reason}). Try again; if "
            "that does not help, see whether its directory can be written to and has room."
        )


class ReportNotWritten(StoreError):
    """A report cannot be kept under that name."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        super().__init__(f"No report was written to {path}: {reason}.")


class AnswerNotWritten(StoreError):
    """Nothing more can be written to standard output."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"Cannot write the answer: {reason}. What was done is kept: `subagents runs` lists it."
        )


class RunAmbiguous(StoreError):
    """Several runs answer to what was given; each is an id and what is known of the run."""

    def __init__(self, run: str, candidates: tuple[tuple[str, str], ...], count: int = 0) -> None:
        self.run = run
        self.matches = tuple(run_id for run_id, _ in candidates)
        shown = SHORT_ID
        while len({run_id[:shown] for run_id in self.matches}) < len(set(self.matches)):
            shown += 1
        lines = [f"  {run_id[:shown]}  {about}".rstrip() for run_id, about in candidates]
        if (more := count - len(candidates)) > 0:
            lines.append(f"  and {more} more")
        listed = "\n".join(lines)
        super().__init__(f'"{run}" could be any of these runs. Say which, by its id:\n{listed}')


class RunUnreadable(StoreError):
    """A run directory lacks what is needed to describe the run."""

    def __init__(self, run: str, reason: str) -> None:
        self.run = run
        run = run[:SHORT_ID]
        super().__init__(f'Run "{run}" cannot be read: {reason}')


class RunNotActive(StoreError):
    """A run that is to be stopped has already ended."""

    def __init__(self, run: str, status: str) -> None:
        self.run = run
        self.status = status
        run = run[:SHORT_ID]
        super().__init__(f'Run "{run}" is not running (status: {status}); nothing to stop.')


class RunNotListening(StoreError):
    """A run that is to be stopped goes on and takes no orders."""

    def __init__(self, run: str) -> None:
        self.run = run
        run = run[:SHORT_ID]
        super().__init__(
            f'Run "{run}" is still running and cannot be stopped from here. Press Ctrl+C where it '
            f"was started, or kill it with everything it started: subagents stop --force {run}"
        )


class RunNotAnswering(StoreError):
    """A run that is to be stopped has a supervisor that no longer responds."""

    def __init__(self, run: str) -> None:
        self.run = run
        run = run[:SHORT_ID]
        super().__init__(
            f'Run "{run}" is still running: its supervisor is suspended or hangs. Kill it with '
            f"everything it started: subagents stop --force {run}"
        )


class RunNotEnded(StoreError):
    """A run that is to be stopped took the order and has not ended."""

    def __init__(self, run: str, limit_s: float) -> None:
        self.run = run
        run = run[:SHORT_ID]
        super().__init__(
            f'Run "{run}" was asked to stop and has not ended after {limit_s:g} s. Kill it with '
            f"everything it started: subagents stop --force {run}"
        )


class AnswerTargetNotFound(StoreError):
    """An answer was given to a run or session that does not exist."""

    def __init__(self, any_id: str) -> None:
        self.any_id = any_id
        super().__init__(
            f'No run or session "{any_id}" to answer. `subagents runs` and `subagents sessions` '
            "list what is there."
        )


class SteerTargetNotFound(StoreError):
    """A message was sent to a run or session that does not exist."""

    def __init__(self, any_id: str) -> None:
        self.any_id = any_id
        super().__init__(
            f'No run or session "{any_id}" to steer. `subagents runs` and `subagents sessions` '
            "list what is there."
        )


class StoreUnwritable(StoreError):
    """Runs cannot be kept here."""

    def __init__(self, runs_dir: str, reason: str) -> None:
        self.runs_dir = runs_dir
        self.reason = reason
        super().__init__(f"Cannot keep runs in {runs_dir}: {reason}")


class SessionNotFound(StoreError):
    """No session has that id."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(
            f'Session "{session_id}" not found. '
            "The session may have expired or the ID is incorrect."
        )


class HostEntryForeign(RequestError):
    """A host knows another server under that name."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        super().__init__(
            f'"{name}" in {path} is another server, not this one. It was left as it is; choose '
            "another name with --name."
        )


class HostFileBroken(StoreError):
    """A host's configuration file cannot be understood."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"{path} cannot be understood: {problem}. It was left as it is.")


class HostFileNotEditable(StoreError):
    """A host's configuration file is written in a way that cannot be changed safely."""

    def __init__(self, path: str, reason: str, snippet: str) -> None:
        self.path = path
        self.reason = reason
        self.snippet = snippet
        super().__init__(
            f"{path} cannot be changed safely: {reason}. It was left as it is. "
            f"The entry, to change it by hand:\n{snippet}"
        )


class HostFileNotSaved(StoreError):
    """A host's configuration file could not be read or written."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path} was not changed: {reason}")


class MalformedConfig(SubagentsError):
    """A configuration text has no meaning in its own format; its file is left as it is."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(problem)


class ConfigNotEditable(SubagentsError):
    """A configuration text cannot be changed without touching more than one entry."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)
