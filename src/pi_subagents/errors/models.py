"""Why a sub-agent has no model to work with."""

from __future__ import annotations

from pi_subagents.errors.base import RequestError, SetupError


class NoModelGiven(RequestError):
    """Neither the call nor the preset says which model to use."""

    def __init__(self, preset: str, path: str) -> None:
        self.preset = preset
        self.path = path
        super().__init__(
            f'no model resolved for preset "{preset}": give `model` in the call, or set `model:` '
            f"in {path}"
        )


class ModelNotAvailable(RequestError):
    """The sub-agent has no model of that name."""

    def __init__(self, requested: str, suggestions: tuple[str, ...], count: int) -> None:
        self.requested = requested
        self.suggestions = suggestions
        self.count = count
        meant = f" Did you mean {' or '.join(suggestions)}?" if suggestions else ""
        super().__init__(
            f'Model "{requested}" is not available (sub-agents have {count} '
            f"model{'' if count == 1 else 's'} here).{meant} `subagents models` lists them."
        )


class ModelAmbiguous(RequestError):
    """Several models go by that name."""

    def __init__(self, requested: str, matches: tuple[str, ...]) -> None:
        self.requested = requested
        self.matches = matches
        super().__init__(
            f'Model "{requested}" is ambiguous: {", ".join(matches)}. Write the one you mean.'
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
