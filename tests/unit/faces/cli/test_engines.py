"""The kinds of sub-agents, listed for people and scripts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.fakes.fake_node import write_script

from pi_subagents.engines.table import engine_names
from pi_subagents.faces.cli import messages
from pi_subagents.faces.cli.main import main

STUB = Path(__file__).parents[3] / "fakes" / "acp_agent_stub.py"


@pytest.fixture
def listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> pytest.CaptureFixture[str]:
    """Somebody with a pi that only says its version, and two agents of their own."""
    for name in ("PI_CODING_AGENT_DIR", "XDG_DATA_HOME", "COLUMNS", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    write_script(tmp_path / "bin" / "pi", "#!/bin/sh\necho 1.5.0\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("PI_SUBAGENTS_PI", str(tmp_path / "bin" / "pi"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    agents = {
        name: {"command": [sys.executable, str(STUB), *manner]}
        for name, manner in (("good", ()), ("bad", ("ends",)))
    }
    settings = tmp_path / "home" / ".pi" / "agent" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"subagents": {"engines": agents}}))
    return capsys


def ask(*arguments: str) -> object:
    with pytest.raises(SystemExit) as stop:
        main(["engines", *arguments])
    return stop.value.code


def test_a_line_says_what_is_there_and_what_it_can_do(
    listed: pytest.CaptureFixture[str],
) -> None:
    assert ask() == 0
    lines = listed.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["ENGINE", *engine_names(("good", "bad"))]
    assert lines[1].split()[1:3] == ["1.5.0", "?"]
    assert lines[2].split()[1:3] == messages.NOT_FOUND.split()
    assert lines[2].endswith("`npm install -g opencode-ai`.")
    assert lines[-1].endswith("ask, resume, schema, usage per turn")


def test_what_does_not_start_is_said_and_fails_the_check(
    listed: pytest.CaptureFixture[str],
) -> None:
    assert ask("--check", "--json") == 1
    listed_now = json.loads(listed.readouterr().out)["engines"]
    found = {each["name"]: (each["starts"], each["version"]) for each in listed_now}
    assert (found["acp:good"], found["acp:bad"]) == ((True, "7.1"), (False, None))
    assert ask("--check") == 1
    assert "acp:bad: It ended (3). no licence" in listed.readouterr().err
