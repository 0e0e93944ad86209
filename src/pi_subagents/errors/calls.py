"""Why a whole call is refused before anything starts."""

from __future__ import annotations

from pi_subagents.errors.base import RequestError, SetupError


class InvalidRequest(RequestError):
    """A parameter is missing, of the wrong type or out of range."""

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        super().__init__(f"{where}: {problem}")


class PatternRefused(RequestError):
    """A pattern to search with is none, or takes longer than a search may take."""

    def __init__(self, pattern: str, why: str = "") -> None:
        self.pattern = pattern
        self.why = why
        too_long = "takes too long as a pattern; use a simpler one, or a text without `regex`"
        super().__init__(f"grep: is no pattern: {why}" if why else f"grep: {too_long}")


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


class UnknownEngine(RequestError):
    """No engine has that name."""

    def __init__(self, name: str, available: tuple[str, ...], meant: str = "") -> None:
        self.name = name
        self.available = available
        hint = f' Did you mean "{meant}"?' if meant else ""
        super().__init__(
            f'Unknown engine: "{name}".{hint} Available engines: {", ".join(available)} '
            "(`subagents engines` says more)."
        )


class NestedDelegation(RequestError):
    """A sub-agent tried to delegate; depth is one."""

    def __init__(self) -> None:
        super().__init__(
            "This process is itself a sub-agent (PI_SUBAGENTS_CHILD=1), and sub-agents may not "
            "delegate further. Do the work here, or hand it back to the main agent."
        )


class ActsInsideSubagent(RequestError):
    """A sub-agent tried to act on runs: to stop, steer, answer, resume or remove one."""

    def __init__(self) -> None:
        super().__init__(
            "This process is itself a sub-agent (PI_SUBAGENTS_CHILD=1), and sub-agents may not "
            "act on runs: stopping, steering, answering, resuming and removing them is for "
            "whoever delegates."
        )


class PlatformNotSupported(RequestError):
    """Children cannot be supervised on this operating system."""

    def __init__(self, platform: str) -> None:
        self.platform = platform
        super().__init__(
            f"pi-subagents needs the processes of a POSIX system and does not run on {platform}. "
            "Use it inside WSL (Windows Subsystem for Linux)."
        )


class NoModelGiven(RequestError):
    """Neither the call nor the preset says which model to use."""

    def __init__(self, preset: str, path: str) -> None:
        self.preset = preset
        self.path = path
        super().__init__(
            f'no model resolved for preset "{preset}": give `model` in the call, or set `model:` '
            f"in {path}"
        )


class NoModelConfigured(SetupError):
    """There is no model that sub-agents could use."""

    def __init__(self) -> None:
        super().__init__(
            "No model is configured.\n"
            "Log in: subagents pi, then /login. Or set the variable of your provider's key, such "
            "as ANTHROPIC_API_KEY.\n"
            "To try it without a model: --offline."
        )


class ModelNotAvailable(RequestError):
    """The sub-agent has no model of that name."""

    def __init__(self, requested: str, suggestions: tuple[str, ...], count: int) -> None:
        self.requested = requested
        self.suggestions = suggestions
        self.count = count
        meant = f" Did you mean {' or '.join(suggestions)}?" if suggestions else ""
        super().__init__(
            f'Model "{requested}" is not available (sub-agents can use {count} '
            f"model{'' if count == 1 else 's'} here).{meant} `subagents models` lists them."
        )


class ModelAmbiguous(RequestError):
    """Several models go by that name."""

    def __init__(self, requested: str, matches: tuple[str, ...]) -> None:
        self.requested = requested
        self.matches = matches
        super().__init__(
            f'Model "{requested}" is ambiguous: {", ".join(matches)}. Name one of them.'
        )


class ModelsUnknown(SetupError):
    """The pi of sub-agents did not say which models it has."""

    def __init__(self, reason: str, output: tuple[str, ...] = ()) -> None:
        self.reason = reason
        self.output = output
        tail = "".join(f"\n  {line}" for line in output)
        super().__init__(
            f"pi did not say which models it has: {reason}. `subagents doctor` looks closer.{tail}"
        )
