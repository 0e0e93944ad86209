"""Why a child cannot be run on this machine as it is."""

from __future__ import annotations

from pi_subagents.errors.base import SetupError, SubagentsError


class PiNotFound(SetupError):
    """No pi is configured, on PATH or installed."""

    def __init__(self, version: str, left_out: tuple[str, ...] = ()) -> None:
        self.left_out = left_out
        inside = f" ({', '.join(left_out)} is inside the working directory and not used)"
        super().__init__(
            f"No pi found{inside if left_out else ''}. Run `subagents setup`: it installs "
            f"pi {version}, and Node if needed, into your data directory."
        )


class PiCommandUnusable(SetupError):
    """The pi that was chosen cannot be run."""

    def __init__(self, source: str, where: str, command: str, reason: str) -> None:
        self.source = source
        self.reason = reason
        # The program alone: what follows it, or is assigned before it, may be a key.
        program, assigned, _ = (command.split() or [""])[0].partition("=")
        self.program = f"{program}=…" if assigned else program
        super().__init__(f"The pi command from {where} cannot be run: {self.program!r} {reason}")


class AgentNotFound(SetupError):
    """The program of an agent, or one that it needs, is not there."""

    def __init__(self, engine: str, program: str, why: str, fix: str) -> None:
        self.engine = engine
        self.program = program
        self.why = why
        self.fix = fix
        super().__init__(f"The engine {engine} cannot be used: {program} {why}. {fix}")


class RunsAtWork(SetupError):
    """What children run is not removed while some of them run."""

    def __init__(self, count: int) -> None:
        self.count = count
        are = "sub-agent is" if count == 1 else "sub-agents are"
        super().__init__(
            f"{count} {are} at work. Wait for them, or stop them in `subagents watch`, then try "
            "again. Nothing was removed."
        )


class NoMoreProcesses(SetupError):
    """This user may start no more processes or threads."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"No more processes or threads may be started here ({reason}). End some, or raise the "
            "limit: `ulimit -u` shows it."
        )


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

    def __init__(
        self,
        step: str,
        exit_code: int | None,
        output: tuple[str, ...],
        before: InstallFailed | None = None,
    ) -> None:
        self.step = step
        self.exit_code = exit_code
        self.output = output
        self.before = before  # another way to the same end, which was tried first
        first = f"\nBefore that, {before.failure} had failed:{before.tail}" if before else ""
        super().__init__(
            f"Set-up failed while {self.failure}. Nothing half-installed was left behind. Check "
            "the network, the registry or proxy settings and the free disk space, then run "
            f"`subagents setup` again.{self.tail}{first}"
        )

    @property
    def failure(self) -> str:
        """What failed, and how."""
        return self.step if self.exit_code is None else f"{self.step} (exit code {self.exit_code})"

    @property
    def tail(self) -> str:
        """The end of its output, a line each."""
        return "".join(f"\n  {line}" for line in self.output)


class PiPackageNotChanged(SetupError):
    """The settings of pi do not list our extension as they should after pi changed them."""

    def __init__(self, settings: str, problem: str, said: tuple[str, ...]) -> None:
        self.settings = settings
        self.problem = problem
        self.said = said
        why = f": the file {problem}" if problem else ""
        tail = "" if problem else "".join(f"\n  {line}" for line in said)
        super().__init__(
            f"pi did not change its packages in {settings}{why}. Correct that and try again.{tail}"
        )


class PortUnavailable(SetupError):
    """A server of ours cannot listen on the wanted port."""

    def __init__(self, port: int, reason: str) -> None:
        self.port = port
        super().__init__(f"Cannot listen on port {port} of loopback: {reason}")


class McpNotInstalled(SetupError):
    """The library that speaks the Model Context Protocol is missing."""

    def __init__(self) -> None:
        super().__init__(
            "The MCP server needs the library `mcp`, which is not installed. Install it with this "
            "package: `pipx install --force '.[mcp]'`, `uv tool install --reinstall '.[mcp]'` or "
            "`pip install 'pi-subagents[mcp]'`."
        )


class TokenFileUnusable(SetupError):
    """The file with the token of the HTTP server cannot be used."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"The token file {path} cannot be used: {reason}. Remove it (the next start makes a "
            "new one), or name another with --token-file."
        )


_USE_PROCESSES = 'or set `subagents.runner` to "process", or pass `--runner process`'


class TmuxNotFound(SetupError):
    """The tmux runner was chosen, and there is no tmux."""

    def __init__(self, broken: str = "") -> None:
        self.broken = broken
        what = f"The tmux runner is chosen, but {broken} cannot be run"
        super().__init__(
            f"{what if broken else 'The tmux runner is chosen, but no tmux was found on PATH'}. "
            f"Install it (`apt-get install tmux`), {_USE_PROCESSES}: that needs no tmux."
        )


class TmuxTooOld(SetupError):
    """The tmux runner was chosen, and tmux lacks what it needs."""

    def __init__(self, version: str, oldest: str) -> None:
        self.version = version
        super().__init__(
            f"The tmux runner needs tmux {oldest} or newer, and this is {version}. "
            f"Install a newer one (`apt-get install tmux`), {_USE_PROCESSES}: that needs no tmux."
        )


class RuntimeDirUnusable(SetupError):
    """There is no private directory for the sockets of the tmux runner."""

    def __init__(self, tried: tuple[str, ...]) -> None:
        self.tried = tried
        super().__init__(
            "The tmux runner needs a short path to a directory that is yours alone, and none of "
            f"these is: {', '.join(tried)}. Set XDG_RUNTIME_DIR to such a directory, "
            f"{_USE_PROCESSES}."
        )


class OfflineScriptError(SubagentsError):
    """A script for the offline model is malformed; nothing of it is used."""

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        super().__init__(f"Offline model script: {where}: {problem}")
