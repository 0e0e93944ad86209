"""`subagents profile add` and `preset add`: a file from a template that we ship."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.profile_home import ProfileHome, make_preset_home, make_profile_home

from pi_subagents.config.preset_files import invalidate_presets_cache, load_presets
from pi_subagents.config.profile_files import invalidate_profiles_cache, load_profiles
from pi_subagents.core.definitions.templates import TEMPLATES
from pi_subagents.faces.cli import messages

if TYPE_CHECKING:
    from pathlib import Path

MAKERS = {"profile": make_profile_home, "preset": make_preset_home}
READ_ONLY = ("read", "grep", "find", "ls")


@pytest.fixture(params=["profile", "preset"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> ProfileHome:
    return MAKERS[kind](tmp_path, monkeypatch, capsys)


def tools_of(home: ProfileHome, kind: str, name: str) -> tuple[str, ...] | None:
    invalidate_profiles_cache()
    invalidate_presets_cache()
    place = home.root / "project", {"HOME": str(home.root / "home")}
    if kind == "profile":
        return load_profiles(*place).by_name[name].profile.tools
    return load_presets(*place).by_name[name].preset.tools


def test_each_template_is_a_file_of_the_users_with_no_problem_and_its_use_is_said(
    home: ProfileHome, kind: str
) -> None:
    for template in TEMPLATES:
        path = home.user / f"{template}.md"
        said = (
            f"{messages.use_definition(kind, template)}\n{messages.no_model_yet(kind, template)}\n"
        )
        added = messages.definition_added(kind, template, str(path))
        assert home.run("add", template) == (0, f"{added}\n", said)
        assert path.stat().st_mode & 0o777 == 0o600
    assert home.run("lint", "--strict") == (0, f"3 {kind}s, 0 problems\n", "")
    assert {name: tools_of(home, kind, name) for name in TEMPLATES} == {
        "scout": READ_ONLY,
        "reviewer": READ_ONLY,
        "worker": (*READ_ONLY, "edit", "write", "bash"),
    }


def test_it_can_have_another_name_and_model_and_belong_to_the_project(
    home: ProfileHome, kind: str
) -> None:
    arguments = ["--name", "finder", "--scope", "project", "--model", "a: b"]
    code, out, _ = home.run("add", "scout", *arguments)
    path = home.project / "finder.md"
    assert (code, out) == (0, f"{messages.definition_added(kind, 'finder', str(path))}\n")
    assert path.read_text().startswith("---\nname: finder\nmodel: 'a: b'\n")
    assert tools_of(home, kind, "finder") == READ_ONLY


def test_a_file_that_is_there_is_replaced_only_by_force(home: ProfileHome, kind: str) -> None:
    path = home.user / "scout.md"
    path.write_text("mine")
    refusal = f'Error: The {kind} "scout" exists already: {path}. --force replaces it.\n'
    assert home.run("add", "scout") == (2, "", refusal)
    assert path.read_text() == "mine"
    assert home.run("add", "scout", "--force")[0] == 0
    assert path.read_text().startswith("---\nname: scout\n")


@pytest.mark.parametrize("arguments", [["spy"], ["scout", "--name", "../x"], []])
def test_what_cannot_be_added_is_refused_and_nothing_is_written(
    home: ProfileHome, arguments: list[str]
) -> None:
    assert home.run("add", *arguments)[0] == 2
    assert list(home.user.iterdir()) == []


def test_the_empty_list_names_the_command(home: ProfileHome, kind: str) -> None:
    assert f"subagents {kind} add scout" in home.run("list")[1]


def test_one_of_the_projects_in_front_of_it_is_named(home: ProfileHome, kind: str) -> None:
    home.run("add", "scout", "--scope", "project")
    theirs = str(home.project / "scout.md")
    hidden = messages.note_hidden(kind, "scout", "project", theirs)
    assert home.run("add", "scout")[2].endswith(f"{hidden}\n")
