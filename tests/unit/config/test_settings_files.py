from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    path = tmp_path / "agent"
    path.mkdir()
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    (path / ".pi").mkdir(parents=True)
    return path


def load(project: Path, agent: Path) -> tuple[Settings, list[tuple[str, str]]]:
    settings, problems = load_settings(project, {"PI_AGENT_DIR": str(agent)})
    return settings, [(found.where, found.problem) for found in problems]


def write(path: Path, **section: object) -> None:
    path.write_text(json.dumps({"theme": "dark", "subagents": section}))


def test_without_files_there_are_the_defaults_and_no_problems(tmp_path: Path) -> None:
    assert load(tmp_path / "nowhere", tmp_path / "absent") == (Settings(), [])


def test_the_project_overrides_the_global_file(project: Path, agent: Path) -> None:
    write(agent / "settings.json", max_concurrency=2, looping_tool_count=7, pi_command="pi")
    write(project / ".pi" / "settings.json", max_concurrency=3)
    assert load(project, agent) == (
        Settings(max_concurrency=3, looping_tool_count=7, pi_command="pi"), [],
    )  # fmt: skip


def test_settings_of_a_parent_directory_do_not_count(project: Path, agent: Path) -> None:
    write(project / ".pi" / "settings.json", max_concurrency=3)
    (project / "src").mkdir()
    assert load(project / "src", agent) == (Settings(), [])


def test_a_file_that_is_a_link_counts(project: Path, agent: Path, tmp_path: Path) -> None:
    write(tmp_path / "dotfiles.json", max_concurrency=3)
    (agent / "settings.json").symlink_to(tmp_path / "dotfiles.json")
    assert load(project, agent) == (Settings(max_concurrency=3), [])


def test_a_file_that_is_not_json_is_reported_and_the_other_counts(
    project: Path, agent: Path
) -> None:
    (agent / "settings.json").write_text("// a comment\n{}")
    write(project / ".pi" / "settings.json", max_concurrency=3)
    settings, ((where, problem),) = load(project, agent)
    assert (settings, where) == (Settings(max_concurrency=3), str(agent / "settings.json"))
    assert problem == "cannot be used: Expecting value: line 1 column 1 (char 0)"


def test_problems_of_reading_come_before_those_of_content(project: Path, agent: Path) -> None:
    write(agent / "settings.json", max_concurrency="x")
    (project / ".pi" / "settings.json").write_bytes(b"\xff\xfe")
    settings, problems = load(project, agent)
    assert settings == Settings()
    assert [where for where, _ in problems] == [
        str(project / ".pi" / "settings.json"), "global settings: subagents.max_concurrency",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["fifo", "directory", "huge", "deep", "loop"])
def test_a_file_that_cannot_be_used_is_reported(project: Path, agent: Path, kind: str) -> None:
    path = agent / "settings.json"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "huge":
            path.write_bytes(b" " * (1024 * 1024 + 1))
        case "deep":
            path.write_bytes(b"[" * 100_000)
        case "loop":
            path.symlink_to(path)
    settings, ((where, problem),) = load(project, agent)
    assert (settings, where) == (Settings(), str(path))
    assert problem.startswith("cannot be used: ")
