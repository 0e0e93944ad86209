"""A preset that names an engine, by its owner's right to do so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pi_subagents.core.preset.request import PresetTask
from pi_subagents.engines.table import ENGINES
from pi_subagents.service import messages
from pi_subagents.service.call import open_call
from pi_subagents.service.presets import PresetCatalogue

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.service.delegation import Preparation

SHOWN = "---\nname: shown\ndescription: Shows\nengine: demo\nmodel: m\n---\n"


@pytest.fixture(autouse=True)
def _demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "demo", "tests.fakes.demo_engine")


def prepared(root: Path, place: str, text: str = SHOWN, **task: Any) -> Preparation:
    """Return what a task with the preset needs, in a place or in one that is trusted."""
    directory = root / ("home/.pi/agent" if place == "home" else "project/.pi") / "subagents"
    directory.mkdir(parents=True)
    (directory / "shown.md").write_text(text)
    (root / "project").mkdir(exist_ok=True)
    context = open_call(
        {
            "cwd": root / "project",
            "env": {"HOME": str(root / "home")},
            "trust_project": place == "trusted",
            "engine": task.pop("of_call", None),
        }
    )
    return PresetCatalogue(context).prepare(PresetTask("shown", "look", **task))


@pytest.mark.parametrize("place", ["home", "trusted"])
def test_it_runs_with_its_engine_and_its_model(tmp_path: Path, place: str) -> None:
    needs = prepared(tmp_path, place)
    assert needs.preset is not None
    found = (needs.engine, needs.preset.resolved_model, needs.notes)
    assert found == ("demo", "m", ())


def test_a_preset_without_a_model_needs_none_where_the_engine_has_its_own(tmp_path: Path) -> None:
    text = "---\nname: shown\ndescription: Shows\nmodel: acme/big\n---\n"
    needs = prepared(tmp_path, "home", text, engine="demo")
    assert needs.preset is not None
    left_out = messages.note_other_engine("shown", ("model",), "pi", "demo")
    found = (needs.engine, needs.preset.requested_model, needs.preset.resolved_model, needs.notes)
    assert found == ("demo", None, None, (left_out,))


def test_the_engine_of_a_project_that_is_not_trusted_does_not_count(tmp_path: Path) -> None:
    """Nor does its model, then: it may be one of that engine."""
    needs = prepared(tmp_path, "project", engine="demo")
    assert needs.preset is not None
    assert (needs.engine, needs.preset.resolved_model) == ("demo", None)
    assert needs.notes == (messages.note_untrusted("preset", "shown", ("engine", "model")),)
