"""`subagents install pi` with the real pi: its settings say so, or the command says why not."""

import json
from pathlib import Path

import pytest
from tests.e2e.command import subagents
from tests.e2e.conftest import Project

from pi_subagents.faces.cli.messages import host_still_starts_us
from pi_subagents.hosts.pi.extension import extension_dir

pytestmark = pytest.mark.pi


def packages(settings: Path) -> list[Path]:
    named = json.loads(settings.read_text())["packages"]
    return [(settings.parent / each).resolve() for each in named]


def test_it_is_installed_once_and_removed_once(project: Project) -> None:
    settings = project.agent_dir / "settings.json"
    done = subagents(project, "install", "pi")
    assert (done.code, done.err) == (0, "")
    assert (
        done.out.splitlines()[0] == f"pi now loads {extension_dir()}: it is listed in {settings}."
    )
    again = subagents(project, "install", "pi", "--json")
    assert (again.json["changed"], again.json["path"]) == (False, str(settings))
    assert packages(settings) == [extension_dir()]
    assert subagents(project, "uninstall", "pi").out == (
        f"pi no longer loads the extension: it was removed from {settings}.\n"
    )
    assert subagents(project, "uninstall", "pi").out == (
        f"Nothing to remove: {settings} does not list the extension.\n"
    )
    assert packages(settings) == []


def test_a_removal_of_all_leaves_no_pi_with_the_extension_of_a_program_that_is_gone(
    project: Project,
) -> None:
    settings = project.agent_dir / "settings.json"
    gone = project.path / "gone" / "pi_subagents" / "pi_extension"
    settings.write_text(json.dumps({"packages": [str(gone)]}))
    named = subagents(project, "setup", "--remove", "--yes")
    assert (named.code, named.err) == (0, f"{host_still_starts_us('pi', str(settings), 'pi')}\n")
    subagents(project, "install", "pi")
    done = subagents(project, "setup", "--remove", "--hosts", "--yes", "--json")
    told = {"host": "pi", "path": str(settings), "removed": True}
    assert (done.code, done.json["hosts"], packages(settings)) == (0, [told], [])


def test_another_copy_gives_way_and_a_rival_is_told_of(project: Project) -> None:
    settings = project.agent_dir / "settings.json"
    old = project.path / "old" / "pi_subagents" / "pi_extension"
    old.mkdir(parents=True)
    settings.write_text(json.dumps({"packages": [str(old), "npm:pi-subagents"], "theme": "dark"}))
    done = subagents(project, "install", "pi")
    assert done.code == 0
    assert done.err == (
        "npm:pi-subagents is installed too, and its tools have the same names, so pi can use "
        "only one of them. To remove it: pi remove npm:pi-subagents\n"
    )
    kept = json.loads(settings.read_text())
    assert (kept["packages"][0], kept["theme"]) == ("npm:pi-subagents", "dark")
    assert packages(settings)[1:] == [extension_dir()]


def test_a_project_is_told_that_it_must_be_trusted(project: Project) -> None:
    settings = project.path / ".pi" / "settings.json"
    for _ in range(2):  # pi wants to be told of trust the second time
        done = subagents(project, "install", "pi", "--project")
        assert (done.code, packages(settings)) == (0, [extension_dir()])
        assert done.err.startswith("pi loads it only in a project you trust")
    assert subagents(project, "uninstall", "pi", "--project").code == 0
    assert packages(settings) == []


def test_settings_that_pi_cannot_read_are_told_instead_of_believing_it(project: Project) -> None:
    settings = project.agent_dir / "settings.json"
    settings.write_text("{ // mine\n}")
    done = subagents(project, "install", "pi")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(
        f"Error: pi did not change its packages in {settings}: the file cannot be used: Expecting"
    )
    assert settings.read_text() == "{ // mine\n}"


def test_what_would_be_done_can_be_seen_first(project: Project) -> None:
    before = (project.agent_dir / "settings.json").read_text()
    done = subagents(project, "install", "pi", "--print")
    assert done.out.endswith(f" install {extension_dir()}\n")
    assert (project.agent_dir / "settings.json").read_text() == before
    assert subagents(project, "uninstall", "pi", "--print").out == ""


def test_the_path_for_one_try_is_told_and_its_python_noted(project: Project) -> None:
    assert subagents(project, "path", "pi-extension").out == f"{extension_dir()}\n"
    note = Path(project.env["XDG_DATA_HOME"]) / "pi-subagents" / "pi-extension.json"
    assert list(json.loads(note.read_text())["pythons"]) == [str(extension_dir())]
