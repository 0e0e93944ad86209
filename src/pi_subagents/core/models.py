"""The models that a child can be given, as values."""

from __future__ import annotations

from pi_subagents.core.value import value


@value
class Model:
    """One model of one provider; `name` is for people."""

    provider: str
    model_id: str
    name: str = ""

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
    return {"provider": model.provider, "id": model.model_id, "name": model.name}
