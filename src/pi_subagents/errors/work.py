"""Why a worker of a cluster does not begin."""

from __future__ import annotations

from pi_subagents.errors.base import RequestError


class WorkerNameInvalid(RequestError):
    """No worker may be called so."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f'A worker cannot be called "{name}": up to 64 letters, digits, dots, underscores and '
            "dashes, and a letter or digit first."
        )


class WorkerNameTaken(RequestError):
    """A worker of that name is at work on this machine."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f'A worker called "{name}" is at work on this machine already. '
            "Give this one another name: subagents worker --name NAME"
        )


class SharedPathUnusable(RequestError):
    """A directory that is to be shared with callers is not there."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path} cannot be shared with callers: it is no directory here.")
