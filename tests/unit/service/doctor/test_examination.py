from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pi_subagents.engines.pi import doctor as pi
from pi_subagents.engines.pi.install import node
from pi_subagents.errors import PiNotFound
from pi_subagents.service.doctor import configuration
from pi_subagents.service.doctor.examination import examine
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from pi_subagents.system.home import CheckedPlace


def states(place: CheckedPlace) -> dict[str, str]:
    return {check.id: check.state for check in examine(place.cwd, place.env)}


@pytest.mark.parametrize("broken", ["configuration", "pi", "store"])
def test_whatever_breaks_the_others_are_still_told(
    place: CheckedPlace, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    whole = list(states(place))

    def fail(*_: object, **__: object) -> Any:
        raise RuntimeError

    if broken == "configuration":
        monkeypatch.setattr(configuration, "load_settings", fail)
    elif broken == "pi":
        monkeypatch.setattr(pi, "resolve_pi_command", fail)
        monkeypatch.setattr(node, "find_node", fail)
    else:
        monkeypatch.setattr(Runs, "__init__", fail)
    heard = states(place)
    assert list(heard) == whole
    assert "problem" in heard.values()


def test_profiles_and_presets_are_looked_at(place: CheckedPlace) -> None:
    assert {"profiles", "presets"} <= states(place).keys()


def test_an_index_that_cannot_be_used_is_a_problem_and_not_fatal(place: CheckedPlace) -> None:
    Path(place.env["PI_SUBAGENTS_DATA"]).write_text("a file")
    heard = states(place)
    assert heard["index"] == "problem"
    assert "fatal" not in heard.values()


def test_a_pi_that_no_task_needs_by_itself_is_not_what_keeps_us_from_working(
    place: CheckedPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_pi(*_: object, **__: object) -> Any:
        raise PiNotFound("1.5.0")

    def settings(engine: str) -> None:
        agents = {"mine": {"command": ["/bin/sh"]}}
        file = Path(place.env["HOME"]) / ".pi" / "agent" / "settings.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"subagents": {"engine": engine, "engines": agents}}))

    monkeypatch.setattr(pi, "resolve_pi_command", no_pi)
    found = []
    for engine in ("pi", "acp:mine", "acp:codex"):
        settings(engine)
        heard = states(place)
        found.append((heard["pi"], heard["agents"]))
    assert found == [("fatal", "ok"), ("note", "ok"), ("note", "fatal")]
