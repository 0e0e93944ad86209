"""`runs --timeline`: bars that fit the terminal, coloured only there, in characters that exist."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fleet_place import START_MS, FleetPlace
from tests.fakes.pty_command import open_pty

from pi_subagents.core.run import events as ev
from pi_subagents.faces.cli import main as cli
from pi_subagents.faces.terminal.cells import cells

if TYPE_CHECKING:
    from pathlib import Path

CALL = ev.ToolCall("1", "read", {"path": "a.py"})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FleetPlace:
    project = tmp_path / "project"
    (project / ".pi").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TZ", "UTC")
    for name in ("PI_SUBAGENTS_DATA", "XDG_DATA_HOME", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    place = FleetPlace(project, {"HOME": str(tmp_path / "home")})
    for name in ("look", "日本語のとても長い名前のたのみごとです"):
        run = place.going_on(name, callId="ca11" * 8)
        run.log.record(ev.ToolStarted(CALL), START_MS + 250)
        run.log.record(ev.ToolFinished("1", "read", "x", failed=False), START_MS + 500)
        run.ends(finished_at_ms=START_MS + 1000)
    return place


def runs(*options: str) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["runs", "--timeline", *options])
    assert stop.value.code == 0


def on_a_terminal(columns: int, encoding: str = "utf-8") -> list[str]:
    with open_pty(columns) as (master, slave), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("TERM", "xterm")
        with io.TextIOWrapper(os.fdopen(os.dup(slave), "wb"), encoding=encoding) as stream:
            patch.setattr(sys, "stdout", stream)
            runs()
            stream.flush()
        told = b""
        while b"limit" not in told:  # the legend is the last line
            told += os.read(master, 1 << 16)
        return told.decode(encoding).splitlines()


def plain(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


def test_elsewhere_the_bars_of_a_call_are_below_its_heading_without_colours(
    place: FleetPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    del place
    runs()
    heading, look, other, legend = capsys.readouterr().out.splitlines()
    assert heading == "1970-01-01 00:16:40  call ca11ca11, 2 runs, 1.0s"
    assert re.fullmatch(r"00010000 ✓  look +  ─{25}█{26}─{51}  1.0s", look)
    assert other.startswith("00020000 ✓  日本語のとても長い")
    assert legend == "─ model   █ tool   ✗ tool failed   ░ waits   ▒ limit"


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_on_a_terminal_lines_fit_and_pieces_are_coloured(place: FleetPlace, columns: int) -> None:
    del place
    lines = on_a_terminal(columns)
    bars = lines[1:-1]
    assert all("\x1b[34m█" in line for line in bars)
    assert max(cells(plain(line)) for line in bars) <= columns
    assert len({cells(plain(line)) for line in bars}) == 1


def test_an_encoding_without_blocks_gets_plain_characters(place: FleetPlace) -> None:
    del place
    found = [re.search(r"-+#+-+", plain(line)) for line in on_a_terminal(80, "latin-1")]
    assert [each is not None for each in found] == [False, True, True, False]


def test_json_has_the_bars_beside_the_runs(
    place: FleetPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    del place
    runs("--json", "--limit", "1")
    told = json.loads(capsys.readouterr().out)
    (timeline,) = told["timelines"]
    (bar,) = timeline["bars"]
    assert (timeline["callId"], bar["runId"]) == ("ca11" * 8, told["runs"][0]["runId"])
    assert bar["segments"] == [
        {
            "kind": "tool",
            "begin": START_MS + 250,
            "end": START_MS + 500,
            "name": "read",
            "detail": "read → a.py",
            "failed": False,
            "reason": None,
            "lane": 0,
        }
    ]
