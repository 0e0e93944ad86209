"""`subagents profile import`: what is found, shown, asked and written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.profile_home import ProfileHome, make_profile_home

from pi_subagents.faces.cli import messages

if TYPE_CHECKING:
    from pathlib import Path

AGENT = "---\nname: {0}\ndescription: Looks\ntools: Read, Glob, WebFetch\n---\nYou look.\n"
TABLE = (
    "  name         name: {0}\n"
    "  description  left out: a profile has no description\n"
    "  tools        tools: read, find\n"
    "               left out: WebFetch (pi has no such tool)\n"
    "  (body)       the system prompt\n"
)


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ProfileHome:
    return make_profile_home(tmp_path, monkeypatch, capsys)


def put(root: Path, place: str, text: str) -> Path:
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def heading(path: Path, program: str, name: str, kind: str = "profile") -> str:
    return f"{messages.agent_becomes(str(path), program, kind, name)}\n"


def test_all_that_is_found_is_shown_and_with_yes_written_where_it_belongs(
    home: ProfileHome,
) -> None:
    project, user = home.root / "project", home.root / "home"
    mine = put(user, ".claude/agents/mine.md", AGENT.format("mine"))
    theirs = put(project, ".claude/agents/theirs.md", AGENT.format("theirs"))
    put(project, ".opencode/agent/open.md", "---\ndescription: d\n---\nOpen.\n")
    put(user, ".config/opencode/agents/plural.md", "---\ndescription: d\n---\nOpen.\n")
    put(user, ".codex/agents/toml.toml", 'name = "toml"\ndeveloper_instructions = "Do."\n')
    put(user, ".codex/config.toml", 'model = "x"\n')
    put(user, ".gemini/agents/gem.md", "---\nname: gem\n---\nGem.\n")
    code, out, err = home.run("import", "--yes")
    assert (code, err) == (0, "")
    assert heading(theirs, "Claude Code", "theirs") + TABLE.format("theirs") in out
    assert heading(mine, "Claude Code", "mine") + TABLE.format("mine") in out
    assert {path.stem for path in home.user.iterdir()} == {"mine", "plural", "toml", "gem"}
    assert {path.stem for path in home.project.iterdir()} == {"theirs", "open"}
    assert home.run("lint")[1] == "6 profiles, 0 problems\n"


def test_a_dry_run_only_shows(home: ProfileHome) -> None:
    path = put(home.root, "some/where.md", AGENT.format("mine"))
    shown = heading(path, "Claude Code", "mine") + TABLE.format("mine")
    assert home.run("import", str(path), "--dry-run") == (0, shown, "")
    assert list(home.user.iterdir()) == []


def test_a_file_that_is_named_is_imported_without_a_question(home: ProfileHome) -> None:
    path = put(home.root, "some/where.md", AGENT.format("mine"))
    code, out, _ = home.run("import", str(path), "--scope", "project")
    added = messages.definition_added("profile", "mine", str(home.project / "mine.md"))
    assert (code, out.splitlines()[-1]) == (0, added)
    assert (home.project / "mine.md").read_text() == (
        "---\nname: mine\ntools:\n- read\n- find\n---\n\nYou look.\n"
    )


def test_presets_keep_the_description(home: ProfileHome) -> None:
    path = put(home.root, "some/where.md", AGENT.format("mine"))
    assert home.run("import", str(path), "--as", "preset")[0] == 0
    assert (home.user.parent / "subagents/mine.md").read_text() == (
        "---\nname: mine\ndescription: Looks\ntools:\n- read\n- find\n---\n\nYou look.\n"
    )


def test_nothing_is_replaced_without_force_and_the_others_are_written(home: ProfileHome) -> None:
    there = home.user / "mine.md"
    there.write_text("mine")
    folder = put(home.root, "some/mine.md", AGENT.format("mine")).parent
    put(folder, "other.md", AGENT.format("other"))
    code, _, err = home.run("import", str(folder))
    exists = f'The profile "mine" exists already: {there}. --force replaces it.\n'
    assert (code, err, there.read_text()) == (1, exists, "mine")
    assert (home.user / "other.md").exists()
    assert home.run("import", str(folder), "--force")[0] == 0
    assert there.read_text() != "mine"


def test_without_a_terminal_yes_is_needed(home: ProfileHome) -> None:
    put(home.root / "home", ".claude/agents/mine.md", AGENT.format("mine"))
    code, _, err = home.run("import")
    assert (code, err.splitlines()[-1]) == (2, f"Error: {messages.CANNOT_CONFIRM}")
    assert list(home.user.iterdir()) == []


def test_where_nothing_is_found_it_is_said(home: ProfileHome) -> None:
    assert home.run("import") == (0, f"{messages.NO_AGENTS_FOUND}\n", "")


def test_a_directory_is_looked_into_as_far_as_its_agents_are(home: ProfileHome) -> None:
    agents = home.project / ".gemini" / "agents"
    agents.mkdir(parents=True)
    (agents / "sec.md").write_text("---\nname: sec\n---\nBe careful.\n")
    code, out, err = home.run("import", str(agents.parent), "--dry-run")
    assert (code, err) == (0, "")
    assert 'sec.md (Gemini CLI) becomes the profile "sec":' in out
    (home.project / "empty").mkdir()
    assert home.run("import", str(home.project / "empty")) == (
        0,
        f"{messages.NO_AGENTS_THERE}\n",
        "",
    )


def test_a_file_that_cannot_be_read_says_why_and_fails(home: ProfileHome) -> None:
    missing = home.root / "missing.toml"
    code, out, err = home.run("import", str(missing))
    assert (code, out) == (1, "")
    assert err == f"{missing} (Codex) cannot be imported: No such file or directory\n"


def test_whose_file_it_is_can_be_said(home: ProfileHome) -> None:
    path = put(home.root, "some/where.md", "---\ndescription: d\n---\nOpen.\n")
    out = home.run("import", str(path), "--from", "opencode", "--dry-run")[1]
    assert out.startswith(heading(path, "opencode", "where"))
