"""Why the configuration of a host, which starts our MCP server, is left as it is."""

from __future__ import annotations

from pi_subagents.errors.base import RequestError, StoreError, SubagentsError


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
