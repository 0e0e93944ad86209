from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pi_subagents.doctor import configuration, pi
from pi_subagents.doctor.examination import examine
from pi_subagents.runs import Runs

if TYPE_CHECKING:
    from pi_subagents.doctor.check import Place


def states(place: Place) -> dict[str, str]:
    return {check.id: check.state for check in examine(place)}


@pytest.mark.parametrize("broken", ["configuration", "pi", "store"])
def test_whatever_breaks_the_others_are_still_told(
    place: Place, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    whole = list(states(place))

    def fail(*_: object, **__: object) -> Any:
        raise RuntimeError

    if broken == "configuration":
        monkeypatch.setattr(configuration, "load_settings", fail)
    elif broken == "pi":
        monkeypatch.setattr(pi, "resolve_pi_command", fail)
        monkeypatch.setattr(pi, "_node_of", fail)
    else:
        monkeypatch.setattr(Runs, "__init__", fail)
    told = states(place)
    assert list(told) == whole
    assert "problem" in told.values()


def test_profiles_and_presets_are_looked_at(place: Place) -> None:
    assert {"profiles", "presets"} <= states(place).keys()


def test_an_index_that_cannot_be_used_is_a_problem_and_not_fatal(place: Place) -> None:
    Path(place.env["PI_SUBAGENTS_DATA"]).write_text("a file")
    told = states(place)
    assert told["index"] == "problem"
    assert "fatal" not in told.values()
