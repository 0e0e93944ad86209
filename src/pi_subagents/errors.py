"""
Every exception, with its message, once; all other words for users are in `messages`.

SubagentsError
  RequestError          the whole call was refused, nothing was started        exit 2
    InvalidRequest        a parameter is missing, of the wrong type or out of range
    CwdNotAbsolute        a task's directory is relative
    CwdHasParentSegments  a task's directory climbs
    UnknownTool           no tool of that name
    NestedDelegation      a child tried to delegate
    PlatformNotSupported  Windows outside WSL
  SetupError            the child cannot be run on this machine                exit 2
    PiNotFound            no pi anywhere
    PiCommandUnusable     a configured pi command cannot be run
    NodeNotFound          no Node that pi accepts, and none could be fetched
    InstallFailed         npm or pip failed
    PortUnavailable       the offline model cannot listen there
  StoreError            an asked-for record is absent or unreadable            exit 2
    RunNotFound
    RunAmbiguous
    RunUnreadable
    RunNotActive
    StoreUnwritable
    SessionNotFound
  FrontmatterError      a profile, preset or skill file cannot be read         its file is left out
  OfflineScriptError    a script for the offline model is malformed            exit 2

Callers raise with data, never with prose.
"""

from __future__ import annotations

PINNED_PI_VERSION = "0.87.1"
# Who can choose another pi than the managed one, in the words users know them by.
PI_CHOSEN_BY = {
    "environment": "PI_SUBAGENTS_PI",
    "settings": "the setting subagents.pi_command",
    "path": "PATH",
}


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
    """A task's working directory is relative."""

    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        super().__init__("cwd must be an absolute path")


class CwdHasParentSegments(RequestError):
    """A task's working directory climbs."""

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


class PiNotFound(SetupError):
    """No pi is configured, on PATH or installed."""

    def __init__(self, left_out: tuple[str, ...] = ()) -> None:
        self.left_out = left_out
        inside = f" ({', '.join(left_out)} is inside the working directory and not used)"
        super().__init__(
            f"No pi found{inside if left_out else ''}. Run `subagents setup`: it installs "
            f"pi {PINNED_PI_VERSION}, and Node if needed, into your data directory."
        )


class PiCommandUnusable(SetupError):
    """The pi that was chosen cannot be run."""

    def __init__(self, source: str, command: str, reason: str) -> None:
        self.source = source
        self.reason = reason
        # The program alone: what follows it, or is assigned before it, may be a key.
        program, assigned, _ = (command.split() or [""])[0].partition("=")
        self.program = f"{program}=…" if assigned else program
        where = PI_CHOSEN_BY.get(source, source)
        super().__init__(f"The pi command from {where} cannot be run: {self.program!r} {reason}")


class NodeNotFound(SetupError):
    """No Node that pi accepts, and none could be fetched."""

    def __init__(self, minimum: str, on_path: str | None, reason: str) -> None:
        self.minimum = minimum
        self.on_path = on_path
        self.reason = reason
        super().__init__(
            f"pi needs Node {minimum} or newer (on PATH: {on_path or 'none'}), and fetching one "
            f"did not work. Install Node {minimum} or newer, or "
            f"`pip install 'pi-subagents[node]'`, then run `subagents setup` again. "
            f"What went wrong: {reason}"
        )


class InstallFailed(SetupError):
    """An installer failed; nothing of its work was kept."""

    def __init__(self, step: str, exit_code: int | None, output: tuple[str, ...]) -> None:
        self.step = step
        self.exit_code = exit_code
        self.output = output
        how = "" if exit_code is None else f" (exit code {exit_code})"
        tail = "".join(f"\n  {line}" for line in output)
        super().__init__(
            f"Set-up failed while {step}{how}. Nothing half-installed was left. Check the network, "
            f"the registry or proxy settings and the free disk space, then run `subagents setup` "
            f"again.{tail}"
        )


class PortUnavailable(SetupError):
    """The offline model cannot listen on the wanted port."""

    def __init__(self, port: int, reason: str) -> None:
        self.port = port
        super().__init__(f"Cannot listen on port {port} of loopback: {reason}")


class StoreError(SubagentsError):
    """An asked-for record is absent or unreadable."""


class RunNotFound(StoreError):
    """No run has that id here."""

    def __init__(self, run: str, runs_dir: str) -> None:
        self.run = run
        super().__init__(
            f'Run "{run}" not found in {runs_dir}. `subagents runs` lists what is there.'
        )


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


class RunNotActive(StoreError):
    """A stop was asked for a run that has already ended."""

    def __init__(self, run: str, status: str) -> None:
        self.run = run
        self.status = status
        super().__init__(f'Run "{run}" is not running (status: {status}); nothing to stop.')


class FrontmatterError(SubagentsError):
    """The front matter of a file cannot be read; the file is left out and reported."""

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        self.problem = problem
        super().__init__(f"line {line}: {problem}")


class OfflineScriptError(SubagentsError):
    """A script for the offline model is malformed; nothing of it is used."""

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        super().__init__(f"Offline model script: {where}: {problem}")
