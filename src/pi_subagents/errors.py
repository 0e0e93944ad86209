"""
Every exception and every user-facing message, once.

SubagentsError
  RequestError          the whole call was refused, nothing was started        exit 2
    InvalidRequest        a parameter is missing, of the wrong type or out of range
    CwdNotAbsolute        seed 001
    CwdHasParentSegments  seed 001
    UnknownTool           no tool of that name
    NestedDelegation      a child tried to delegate
    PlatformNotSupported  Windows outside WSL
  SetupError            the child cannot be run on this machine                exit 2
    PiNotFound            no pi anywhere
    PiCommandUnusable     a configured pi command cannot be run
    NodeNotFound          no Node that pi accepts, and none could be fetched
    InstallFailed         npm or pip failed
  StoreError            an asked-for record is absent or unreadable            exit 2
    RunNotFound
    RunAmbiguous
    RunUnreadable
    RunNotActive
  OfflineScriptError    a script for the offline model is malformed            exit 2

Callers raise with data, never with prose.  Messages of outcomes (values, not exceptions)
are the functions at the end.
"""

from __future__ import annotations

PINNED_PI_VERSION = "0.87.1"


class SubagentsError(Exception):
    """Base of everything this package raises on purpose."""


class RequestError(SubagentsError):
    """The whole call was refused before anything was started."""


class InvalidRequest(RequestError):
    """A parameter is missing, of the wrong type or out of range."""

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        super().__init__(f"{where}: {problem}")


class CwdNotAbsolute(RequestError):
    """A task's working directory is relative (the seed's message)."""

    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        super().__init__("cwd must be an absolute path")


class CwdHasParentSegments(RequestError):
    """A task's working directory climbs (the seed's message)."""

    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        super().__init__("cwd must not contain '..' path segments")


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


class SetupError(SubagentsError):
    """The child cannot be run on this machine as it is."""


class StoreError(SubagentsError):
    """An asked-for record is absent or unreadable."""


class RunNotFound(StoreError):
    """No run has that id here."""

    def __init__(self, run: str, runs_dir: str) -> None:
        self.run = run
        super().__init__(f'Run "{run}" not found in {runs_dir}. `subagents runs` lists what is there.')


class RunAmbiguous(StoreError):
    """Several runs begin with the given characters."""

    def __init__(self, run: str, matches: tuple[str, ...]) -> None:
        self.run = run
        self.matches = matches
        super().__init__(f'"{run}" is the beginning of several runs: {", ".join(matches)}')


class RunUnreadable(StoreError):
    """A run directory lacks what is needed to tell about it."""

    def __init__(self, run: str, reason: str) -> None:
        self.run = run
        super().__init__(f'Run "{run}" cannot be read: {reason}')


class RunNotActive(StoreError):
    """A stop was asked for a run that has already ended."""

    def __init__(self, run: str, status: str) -> None:
        self.run = run
        self.status = status
        super().__init__(f'Run "{run}" is not running (status: {status}); nothing to stop.')
