"""A run that used more than a million tokens is marked, whichever list it is seen in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.fleet_place import FleetPlace

from pi_subagents.core.usage import Usage
from pi_subagents.faces.cli import main as cli

if TYPE_CHECKING:
    from pathlib import Path

MODEST, MUCH = Usage(total_tokens=1_000_000), Usage(total_tokens=1_234_567)
LISTS = [
    (["runs"], "!1,234,567"),
    (["sessions"], "!1.2M"),
    (["watch"], "!1.2M"),
    (["background", "status", "--all"], "!1.2M"),
    (["report"], "!1,234,567"),
    (["report", "-o", "report.html"], "!1,234,567"),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FleetPlace:
    project = tmp_path / "home" / "project"
    (project / ".pi").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("PI_SUBAGENTS_DATA", "XDG_DATA_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return FleetPlace(project, {"HOME": str(tmp_path / "home")})


def in_background(place: FleetPlace, usage: Usage) -> None:
    run = place.going_on("busy", attached=False, task="Read it all.", preset="scout")
    index, run_id = place.runs.index, run.run_dir.run_id
    index.remove([run_id])
    index.add([(run_id, run.result.session_id, str(run.run_dir.path), 1, True)])
    run.ends(usage=usage, output="All read.")


@pytest.mark.parametrize(("command", "shown"), LISTS)
@pytest.mark.parametrize("usage", [MUCH, MODEST])
def test_every_list_marks_a_run_past_a_million_tokens_and_no_other(
    place: FleetPlace,
    capsys: pytest.CaptureFixture[str],
    usage: Usage,
    command: list[str],
    shown: str,
) -> None:
    in_background(place, usage)
    with pytest.raises(SystemExit) as stop:
        cli.main(command)
    said = capsys.readouterr().out
    if "-o" in command:
        said = (place.path / command[-1]).read_text()
    assert (stop.value.code, shown in said) == (0, usage == MUCH), said
    assert (shown[0] + "1" in said) is (usage == MUCH), said
