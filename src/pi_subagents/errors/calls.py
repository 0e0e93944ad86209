"""Why a whole call is refused before anything starts."""

from __future__ import annotations

from pi_subagents.errors.base import RequestError


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
    """A task's working directory contains `..`, so it is unclear where it leads."""

    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        super().__init__("cwd must not contain '..' path segments")


class ResumeNotFound(RequestError):
    """There is no session of that id to go on with."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(
            f'Cannot resume: session "{session_id}" not found. '
            "The session may have expired or the ID is incorrect."
        )


class ResumeStillRunning(RequestError):
    """The session that is to be resumed has not ended."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(
            f'Cannot resume: session "{session_id}" is still running. '
            "Wait for it to complete before resuming."
        )


class ResumedTwice(RequestError):
    """Two tasks of one call want to go on with the same session."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(
            f'Cannot resume: session "{session_id}" is named by two tasks. '
            "Give each session to one task only."
        )


class TaskFileUnusable(RequestError):
    """A file of tasks cannot be read."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"{path}: {problem}")


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
