"""Why a record cannot be had, kept or changed."""

from __future__ import annotations

from pi_subagents.errors.base import RequestError, StoreError, SubagentsError


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
            f'Background run "{run_id}" not found. All of them: background_agent_status with '
            "includeCompleted, or `subagents background status --all`."
        )


class BackgroundNotIndexed(StoreError):
    """A background run could not be found again, since the index cannot be written."""

    def __init__(self, index: str, reason: str) -> None:
        super().__init__(
            f"Background run not started, it could not be found again: {index} cannot be written "
            f"({reason}). Make room there, or set PI_SUBAGENTS_DATA to another directory."
        )


class IndexUnreadable(StoreError):
    """The index of background runs cannot be read."""

    def __init__(self, index: str, reason: str) -> None:
        super().__init__(
            f"Background runs cannot be looked up: {index} cannot be read ({reason}). "
            "`subagents runs` lists those of this project, `subagents doctor` says more."
        )


class AnswerNotWritten(StoreError):
    """Nothing more can be written to standard output."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"Cannot write the answer: {reason}. What was done is kept: `subagents runs` lists it."
        )


class RunAmbiguous(StoreError):
    """The ids of several runs begin with the given characters."""

    def __init__(self, run: str, matches: tuple[str, ...]) -> None:
        self.run = run
        self.matches = matches
        super().__init__(f'"{run}" is the beginning of several runs: {", ".join(matches)}')


class RunUnreadable(StoreError):
    """A run directory lacks what is needed to describe the run."""

    def __init__(self, run: str, reason: str) -> None:
        self.run = run
        super().__init__(f'Run "{run}" cannot be read: {reason}')


class RunNotActive(StoreError):
    """A run that is to be stopped has already ended."""

    def __init__(self, run: str, status: str) -> None:
        self.run = run
        self.status = status
        super().__init__(f'Run "{run}" is not running (status: {status}); nothing to stop.')


class RunNotListening(StoreError):
    """A run that is to be stopped goes on and takes no orders."""

    def __init__(self, run: str) -> None:
        self.run = run
        super().__init__(
            f'Run "{run}" goes on: nobody takes orders for it. Press Ctrl+C where it was started, '
            f"or end it with everything it started: subagents stop --force {run}"
        )


class RunNotAnswering(StoreError):
    """A run that is to be stopped has a supervisor that no longer responds."""

    def __init__(self, run: str) -> None:
        self.run = run
        super().__init__(
            f'Run "{run}" goes on: its supervisor does not answer, it was halted or hangs. End it '
            f"with everything it started: subagents stop --force {run}"
        )


class RunNotEnded(StoreError):
    """A run that is to be stopped took the order and has not ended."""

    def __init__(self, run: str, limit_s: float) -> None:
        self.run = run
        super().__init__(
            f'Run "{run}" was told to stop and has not ended after {limit_s:g} s. End it with '
            f"everything it started: subagents stop --force {run}"
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
