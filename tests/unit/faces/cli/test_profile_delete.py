"""`subagents profile delete`: one file, the right one, and only when it is meant."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.fakes.profile_home import ProfileHome, make_profile_home, write_profile

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = [sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()"]
USAGE = (
    "Usage: subagents profile delete [OPTIONS] NAME\n"
    "Try 'subagents profile delete --help' for help.\n\n"
)
NO_TERMINAL = f"{USAGE}Error: Cannot ask for confirmation without a terminal; add --yes.\n"


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ProfileHome:
    return make_profile_home(tmp_path, monkeypatch, capsys)


def answered(answer: str, *arguments: str) -> tuple[int, str, str]:
    """Run the command on a terminal where somebody types the answer."""
    master, terminal = os.openpty()
    os.write(master, answer.encode())
    argv = [*ENTRY, "profile", *arguments]
    done = subprocess.run(argv, stdin=terminal, capture_output=True, text=True, check=False)
    os.close(terminal)
    os.close(master)
    # click puts a blank behind its question, on the one stream or the other
    return done.returncode, done.stdout.lstrip(" "), done.stderr.rstrip(" ")


def files(home: ProfileHome) -> list[Path]:
    return sorted(path for path in home.root.rglob("*.md") if not path.is_dir())


@pytest.mark.parametrize("verb", ["delete", "rm", "remove"])
def test_with_yes_the_file_is_gone_and_no_other(home: ProfileHome, verb: str) -> None:
    kept = write_profile(home.user, "kept")
    path = write_profile(home.project, "fast")
    assert home.run(verb, "fast", "--yes") == (
        0,
        f'Deleted the project profile "fast": {path}\n',
        "",
    )
    assert files(home) == [kept]


def test_without_a_terminal_nothing_is_deleted_and_yes_is_named(home: ProfileHome) -> None:
    path = write_profile(home.user, "fast")
    assert home.run("delete", "fast") == (2, "", NO_TERMINAL)
    assert files(home) == [path]


def test_on_a_terminal_it_asks_and_shows_the_path(home: ProfileHome) -> None:
    path = write_profile(home.user, "fast")
    question = f'global profile: {path}\nDelete subagent profile "fast"? [y/N]:'
    assert answered("n\n", "delete", "fast") == (1, "Nothing was deleted.\n", question)
    assert answered("\n", "delete", "fast") == (1, "Nothing was deleted.\n", question)
    assert files(home) == [path]
    deleted = f'Deleted the global profile "fast": {path}\n'
    assert answered("y\n", "delete", "fast") == (0, deleted, question)
    assert files(home) == []


def test_the_question_shows_where_a_linked_directory_leads(home: ProfileHome) -> None:
    elsewhere = home.root / "elsewhere"
    elsewhere.mkdir()
    write_profile(elsewhere, "fast")
    home.project.rmdir()
    home.project.symlink_to(elsewhere)
    assert answered("n\n", "delete", "fast")[2] == (
        f'project profile: {elsewhere}/fast.md\nDelete subagent profile "fast"? [y/N]:'
    )


def test_where_both_scopes_have_the_name_it_must_be_said_which(home: ProfileHome) -> None:
    user, project = (write_profile(place, "fast") for place in (home.user, home.project))
    assert home.run("delete", "fast", "--yes") == (
        2,
        "",
        (
            f'{USAGE}Error: There are two profiles "fast". Choose one: --scope project or '
            "--scope global.\n"
        ),
    )
    assert files(home) == [user, project]
    assert home.run("delete", "fast", "--yes", "--scope", "project") == (
        0,
        f'Deleted the project profile "fast": {project}\n',
        f'"fast" is now the global profile in {user}.\n',
    )
    assert files(home) == [user]


def test_the_global_one_can_be_deleted_from_behind_the_projects(home: ProfileHome) -> None:
    user, project = (write_profile(place, "fast") for place in (home.user, home.project))
    assert home.run("delete", "fast", "--yes", "--scope", "global") == (
        0,
        f'Deleted the global profile "fast": {user}\n',
        f'"fast" is now the project profile in {project}.\n',
    )
    assert files(home) == [project]


def test_a_scope_that_has_no_such_profile_is_refused_with_what_it_has(home: ProfileHome) -> None:
    path = write_profile(home.user, "fast")
    other = write_profile(home.project, "other")
    assert home.run("delete", "fast", "--yes", "--scope", "project") == (
        2,
        "",
        'Error: Profile "fast" not found. Available: other\n',
    )
    assert files(home) == [path, other]


@pytest.mark.parametrize(
    "name", ["../secret", "../../secret", "/secret", "sub/secret", "secret.md"]
)
def test_no_name_leads_out_of_the_directory(home: ProfileHome, name: str) -> None:
    (home.user / "sub").mkdir()
    for place in (home.user.parent, home.user.parent.parent, home.user / "sub", home.root):
        write_profile(place, "secret")
    before = files(home)
    code, out, err = home.run("delete", name, "--yes")
    assert (code, out) == (2, "")
    assert err.startswith(f"Error: {name!r} cannot be the name of a profile: ")
    assert files(home) == before


def test_of_a_link_only_the_link_is_removed(home: ProfileHome) -> None:
    target = write_profile(home.root, "fast")
    link = home.user / "fast.md"
    link.symlink_to(target)
    assert home.run("delete", "fast", "--yes")[:2] == (
        0,
        f'Deleted the global profile "fast": {link}\n',
    )
    assert files(home) == [target]
