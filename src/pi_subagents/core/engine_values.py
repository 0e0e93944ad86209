"""What engines and services exchange: models, what a set-up does, programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pi_subagents.core.value import value


@value
class Model:
    """One model of one provider; `name` is for people."""

    provider: str
    model_id: str
    name: str = ""
    priced: bool = True  # unless it is known that nobody knows what it costs

    @property
    def reference(self) -> str:
        """What names this model and no other."""
        return f"{self.provider}/{self.model_id}"


@value
class ModelList:
    """The models of a child, and whether the child was asked now or `age_ms` ago."""

    models: tuple[Model, ...]
    cached: bool
    age_ms: int = 0


def model_to_json(model: Model) -> dict[str, object]:
    """Return one model for a script, or to be kept."""
    unpriced = {} if model.priced else {"priced": False}
    return {"provider": model.provider, "id": model.model_id, "name": model.name, **unpriced}


@value
class SetupProgress:
    """One thing a face can paint: the step, what is known about it, and whether it is over."""

    step: str
    detail: str
    done: bool


Report = Callable[[SetupProgress], None]


@value
class SetupOutcome:
    """What is in place now: lines for a person, facts for a script."""

    lines: tuple[str, ...]
    facts: Mapping[str, object]


@value
class AgentCommand:
    """An agent that a user set up: its command, and which one that we know it is like."""

    argv: tuple[str, ...]
    like: str = ""
    environment: Mapping[str, str] = MappingProxyType({})


@value
class EngineReport:
    """What is known of an engine on this machine; a question that was not asked has no answer."""

    name: str
    title: str = ""
    program: str = ""  # what children run; empty: it was not found
    version: str = ""
    logged_in: bool | None = None
    login: str = ""  # how a person logs in
    starts: bool | None = None  # once that was tried
    problem: str = ""
    fix: str = ""


@value
class HostProgram:
    """The program, the script that it runs (if any), and the version of what it is."""

    program: str
    script: str = ""
    version: str = ""
