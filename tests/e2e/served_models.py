"""
A provider of the user's own, whose models an offline model serves from here.

In: an agent directory and the models to have.  Out: the model, with every request it got under
the name `all`.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pi_subagents.core.offline.script import parse_script
from pi_subagents.engines.offline.server import OfflineModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def serving(agent_dir: Path, *models: dict[str, object]) -> Iterator[OfflineModel]:
    """Let pi have the provider `scripted`, whose models repeat what they are told."""
    with OfflineModel(parse_script([{"echo": True, "repeat": True}])) as model:
        provider = {
            "baseUrl": model.url_for("all"),
            "api": "openai-completions",
            "apiKey": "x",
            "models": models,
        }
        (agent_dir / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
        yield model
