"""Why a task gets no workspace of its own, or its changes cannot be taken."""

from __future__ import annotations

from pi_subagents.errors.base import RequestError, SetupError, StoreError


class NoWorkspace(RequestError):
    """A directory that worktrees cannot be made of."""

    def __init__(self, cwd: str, reason: str) -> None:
        self.cwd = cwd
        self.reason = reason
        super().__init__(f"No worktree can be made of {cwd}: {reason}")


class GitMissing(SetupError):
    """Git is not there, or older than what is needed."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"Worktrees need git: {problem}")


class ConfiningImpossible(SetupError):
    """The kernel cannot confine what sub-agents write to."""

    def __init__(self) -> None:
        super().__init__(
            "Sub-agents cannot be confined here: that needs Linux 5.13 or newer with Landlock "
            "(CONFIG_SECURITY_LANDLOCK, and `landlock` in /sys/kernel/security/lsm)."
        )


class GitFailed(StoreError):
    """Git was asked for something and could not do it."""

    def __init__(self, command: str, reason: str) -> None:
        self.command = command
        self.reason = reason
        super().__init__(f"git {command} failed: {reason}")


class WorkspaceNotMade(StoreError):
    """A worktree could not be made, or is not what it has to be."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"Its worktree could not be made: {reason}")


class ChangesUnavailable(StoreError):
    """The changes of a run cannot be looked at or taken."""

    def __init__(self, run: str, reason: str) -> None:
        self.run = run
        self.reason = reason
        super().__init__(f'The changes of run "{run}" cannot be taken: {reason}')


class ChangesConflict(StoreError):
    """Changes do not fit what is in the checkout; nothing was changed."""

    def __init__(self, run: str, conflicts: tuple[str, ...]) -> None:
        self.run = run
        self.conflicts = conflicts
        listed = "\n".join(f"  {line}" for line in conflicts)
        super().__init__(f'The changes of run "{run}" do not fit. Nothing was changed:\n{listed}')
