"""What a shell offers, asked as click's own completion scripts ask."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.shell_completion import ShellComplete
from tests.fakes.fleet_place import FleetPlace

from pi_subagents.faces.cli.main import group

if TYPE_CHECKING:
    from pathlib import Path

SESSION = "5e551011aaaaaaaa"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FleetPlace:
    project = tmp_path / "project"
    (project / ".pi" / "subagents").mkdir(parents=True)
    (project / ".pi" / "agent-profiles").mkdir()
    (project / ".pi" / "agent-profiles" / "reviewer.md").write_text("---\nname: reviewer\n---\n")
    (project / ".pi" / "subagents" / "scout.md").write_text(
        "---\nname: scout\ndescription: Looks\n---\nLook.\n"
    )
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("PI_SUBAGENTS_DATA", "XDG_DATA_HOME", "PI_AGENT_DIR", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return FleetPlace(project, {"HOME": str(tmp_path / "home")})


def offered(*arguments: str, typed: str = "") -> list[str]:
    asked = ShellComplete(group, {}, "subagents", "_SUBAGENTS_COMPLETE")
    return [each.value for each in asked.get_completions(list(arguments), typed)]


@pytest.mark.parametrize(
    "verb",
    [("show",), ("stop",), ("steer",), ("background", "status"), ("background", "wait"),
     ("background", "stop"), ("background", "logs")],
)  # fmt: skip
def test_runs_are_offered_by_their_short_ids_and_names(
    place: FleetPlace, verb: tuple[str, ...]
) -> None:
    place.finished("auth", SESSION)
    place.finished("two words")
    assert sorted(offered(*verb)) == ["00010000", "00020000", "last"]
    assert offered(*verb, typed="0002") == ["00020000"]
    assert offered(*verb, typed="au") == ["auth"]
    assert offered(*verb, typed="two") == []  # a shell would take it for two
    assert offered(*verb, typed="000100000") == ["0001" + "0" * 28]


@pytest.mark.parametrize("verb", [("output",), ("session",), ("run", "hello", "--resume")])
def test_sessions_are_offered(place: FleetPlace, verb: tuple[str, ...]) -> None:
    place.finished("auth", SESSION)
    place.finished("again", SESSION)
    assert sorted(offered(*verb)) == ["5e551011", "last"]
    assert offered(*verb, typed="5e") == ["5e551011"]


def test_profiles_and_presets_are_offered(place: FleetPlace) -> None:
    del place
    assert offered("run", "--profile") == offered("profile", "show") == ["reviewer"]
    assert offered("background", "start") == offered("preset", "show") == ["scout"]


def test_engines_are_offered(place: FleetPlace) -> None:
    del place
    assert offered("run", "--engine", typed="acp:c") == ["acp:codex", "acp:claude"]
    assert offered("resume", "--engine", typed="p") == ["pi"]


def test_where_nothing_can_be_read_nothing_is_offered(
    place: FleetPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = place.path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert offered("show", typed="x") == []


def test_asking_imports_nothing_heavy(place: FleetPlace) -> None:
    place.finished("auth")
    code = (
        "import json, sys\n"
        "from click.shell_completion import ShellComplete\n"
        "from pi_subagents.faces.cli.main import group\n"
        "asked = ShellComplete(group, {}, 'subagents', 'x').get_completions(['show'], '0')\n"
        "print(json.dumps([[each.value for each in asked], sorted(sys.modules)]))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env=dict(os.environ)
    )
    values, modules = json.loads(told.stdout)
    assert values == ["00010000"]
    assert {"textual", "rich", "asyncio", "mcp", "yaml"} & set(modules) == set()
