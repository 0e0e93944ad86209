from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi_subagents.system.home import agent_dir, data_dir, home_dir, project_root

HOME = {"HOME": "/u"}


@pytest.mark.parametrize(
    ("env", "place"),
    [
        (HOME, "/u/.pi/agent"),
        ({**HOME, "PI_AGENT_DIR": "/a"}, "/a"),
        ({**HOME, "PI_CODING_AGENT_DIR": "/c"}, "/c"),
        ({**HOME, "PI_AGENT_DIR": "/a", "PI_CODING_AGENT_DIR": "/c"}, "/a"),
        ({**HOME, "PI_AGENT_DIR": "", "PI_CODING_AGENT_DIR": "/c"}, "/c"),
        ({**HOME, "PI_AGENT_DIR": "~/x"}, "/u/x"),
        ({**HOME, "PI_AGENT_DIR": "~"}, "/u"),
        ({**HOME, "PI_AGENT_DIR": "/a/../b"}, "/b"),
        ({**HOME, "PI_AGENT_DIR": "/~/x"}, "/~/x"),
    ],
)
def test_the_agent_directory_follows_the_seeds_then_pi_then_home(
    env: dict[str, str], place: str
) -> None:
    assert agent_dir(env) == Path(place)


def test_a_relative_agent_directory_is_made_absolute() -> None:
    assert agent_dir({**HOME, "PI_AGENT_DIR": "here"}) == Path.cwd() / "here"


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS keeps data in Library")
@pytest.mark.parametrize(
    ("env", "place"),
    [
        (HOME, "/u/.local/share/pi-subagents"),
        ({**HOME, "XDG_DATA_HOME": "/x"}, "/x/pi-subagents"),
        ({**HOME, "XDG_DATA_HOME": "relative"}, "/u/.local/share/pi-subagents"),
        ({**HOME, "XDG_DATA_HOME": ""}, "/u/.local/share/pi-subagents"),
        ({**HOME, "XDG_DATA_HOME": "/x", "PI_SUBAGENTS_DATA": "/own"}, "/own"),
        ({**HOME, "PI_SUBAGENTS_DATA": "~/own"}, "/u/own"),
    ],
)
def test_the_data_directory_is_ours_then_xdg_then_home(env: dict[str, str], place: str) -> None:
    assert data_dir(env) == Path(place)


def test_on_macos_data_lives_in_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert data_dir(HOME) == Path("/u/Library/Application Support/pi-subagents")


def test_home_is_that_of_the_environment_given() -> None:
    assert home_dir(HOME) == Path("/u")
    assert home_dir({}) == Path.home()


@pytest.mark.parametrize("mark", [".pi", ".git"])
def test_the_project_root_is_the_nearest_marked_ancestor(tmp_path: Path, mark: str) -> None:
    root = tmp_path / "outer" / "root"
    deep = root / "src" / "deep"
    deep.mkdir(parents=True)
    (tmp_path / "outer" / ".git").mkdir()
    (root / mark).mkdir()
    assert (project_root(deep), project_root(root)) == (root, root)


def test_a_git_file_of_a_worktree_marks_a_project_too(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere")
    (tmp_path / "src").mkdir()
    assert project_root(tmp_path / "src") == tmp_path


def test_without_a_mark_the_directory_itself_is_the_root(tmp_path: Path) -> None:
    assert not any((p / m).exists() for p in tmp_path.parents for m in (".pi", ".git"))
    assert project_root(tmp_path) == tmp_path
