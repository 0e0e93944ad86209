"""`subagents profile list`, `path` and `lint`, and how names and verbs are told apart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.shell_completion import ShellComplete
from tests.fakes.profile_home import ProfileHome, make_profile_home, write_profile

from pi_subagents.config.profile_files import invalidate_profiles_cache
from pi_subagents.core import messages
from pi_subagents.faces.cli import messages as cli_messages
from pi_subagents.faces.cli.main import group

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = [sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()"]


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ProfileHome:
    return make_profile_home(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("verb", ["list", "ls"])
def test_the_list_has_a_line_per_profile_with_its_scope_and_what_it_overrides(
    home: ProfileHome, verb: str
) -> None:
    write_profile(home.user, "fast", "model: small", "thinkingLevel: off")
    write_profile(home.user, "reviewer", "model: big")
    write_profile(home.project, "reviewer", "tools: read,grep", body="Review it.")
    write_profile(home.project, "own", "noTools: true")
    assert home.run(verb) == (
        0,
        (
            "Subagent profiles:\n"
            "  profile: fast, model=small, thinking=off (global)\n"
            "  profile: own, no-tools (project)\n"
            '  profile: reviewer, custom-system-prompt="Review it.", tools=[read,grep]'
            " (project, overrides global)\n"
        ),
        "",
    )


def test_where_there_are_no_profiles_the_list_says_where_to_put_them(home: ProfileHome) -> None:
    assert home.run("list") == (
        0,
        f"{messages.NO_PROFILES}\n{cli_messages.ADD_PROFILE}\n",
        "",
    )


def test_files_that_are_not_as_they_should_be_are_named_beside_the_list(home: ProfileHome) -> None:
    broken = write_profile(home.project, "broken", "noTools: maybe")
    odd = write_profile(home.user, "odd", "modle: small")
    code, out, err = home.run("list")
    assert (code, out) == (0, "Subagent profiles:\n  profile: odd (global)\n")
    assert err == (
        f'Warning: {odd}:3: unknown field "modle"; ignored (did you mean "model"?)\n'
        f'Not loaded: {broken}:3: "noTools" must be true or false\n'
    )


def test_a_key_that_others_may_read_is_a_warning_that_says_chmod_600(home: ProfileHome) -> None:
    path = write_profile(home.user, "paid", "apiKey: sk-secret-key-12345", "model: openai/gpt-4o")
    path.chmod(0o644)
    warning = f"holds an API key, and other users may read it: chmod 600 {path}"
    for arguments in (["list"], ["show", "paid"]):
        assert home.run(*arguments)[::2] == (0, f"Warning: {path}:3: {warning}\n")
    assert home.run("lint") == (
        0,
        f"{path}:3: warning: {warning}\n1 profile, 1 problem\n",
        "",
    )
    path.chmod(0o600)
    assert home.run("lint") == (0, "1 profile, 0 problems\n", "")


def test_the_list_for_scripts_has_paths_and_problems_and_leaves_standard_error_alone(
    home: ProfileHome,
) -> None:
    hidden = write_profile(home.user, "reviewer", "model: big")
    used = write_profile(home.project, "reviewer", "model: small")
    fast = write_profile(home.user, "fast")
    broken = write_profile(home.user, "broken", "tools: {}")
    code, out, err = home.run("list", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "schemaVersion": 1,
        "profiles": [
            {
                "name": "fast",
                "scope": "global",
                "path": str(fast),
                "summary": "profile: fast",
                "overrides": None,
            },
            {
                "name": "reviewer",
                "scope": "project",
                "path": str(used),
                "summary": "profile: reviewer, model=small",
                "overrides": str(hidden),
            },
        ],
        "problems": [
            {
                "path": str(broken),
                "line": 3,
                "problem": '"tools" must be a list of strings, or one string with commas',
                "fatal": True,
            }
        ],
    }


def test_on_a_terminal_long_lines_are_broken_between_words(home: ProfileHome) -> None:
    path = f"/{'a' * 50}.js"
    lines = ("model: glm-5.1", f"extensions: {path}")
    write_profile(home.user, "read-only-worker", *lines, body="You are an analyst.")
    master, terminal = os.openpty()
    environment = {**os.environ, "COLUMNS": "54", "NO_COLOR": "1"}
    subprocess.run([*ENTRY, "profile", "list"], stdout=terminal, env=environment, check=True)
    os.close(terminal)
    printed = os.read(master, 4096).decode()
    os.close(master)
    assert printed == (
        "Subagent profiles:\r\n"
        "  profile: read-only-worker, model=glm-5.1,\r\n"
        '      custom-system-prompt="You are an analyst.",\r\n'
        f"      extensions=[{path}]\r\n"
        "      (global)\r\n"
    )


def test_both_directories_are_told_whether_they_exist_or_not(home: ProfileHome) -> None:
    home.project.rmdir()
    assert home.run("path") == (
        0,
        f"global   {home.user}\nproject  {home.project} (does not exist yet)\n",
        "",
    )
    code, out, _ = home.run("path", "--json")
    assert (code, json.loads(out)) == (
        0,
        {
            "schemaVersion": 1,
            "directories": [
                {"scope": "global", "path": str(home.user), "exists": True},
                {"scope": "project", "path": str(home.project), "exists": False},
            ],
        },
    )


def test_the_path_of_a_name_is_the_file_that_counts(home: ProfileHome) -> None:
    write_profile(home.user, "reviewer")
    used = write_profile(home.project, "reviewer")
    assert home.run("path", "reviewer") == (0, f"{used}\n", "")
    _, out, _ = home.run("path", "reviewer", "--json")
    assert json.loads(out) == {
        "schemaVersion": 1,
        "name": "reviewer",
        "scope": "project",
        "path": str(used),
    }


def test_lint_tells_every_problem_of_both_directories_and_fails(home: ProfileHome) -> None:
    odd = write_profile(home.user, "odd", "modle: small")
    broken = write_profile(home.project, "broken", "noTools: maybe")
    torn = write_profile(home.project, "torn", "noSkills: true", "loadSkills: x")
    write_profile(home.user, "torn")
    assert home.run("lint") == (
        1,
        (
            f'{odd}:3: warning: unknown field "modle"; ignored (did you mean "model"?)\n'
            f'{broken}:3: "noTools" must be true or false\n'
            f'{torn}:3: Profile "torn" has both "loadSkills" and "noSkills" set. These are mutually '
            "exclusive — --no-skills disables skill discovery.\n"
            "3 profiles, 3 problems\n"
        ),
        "",
    )


def test_lint_knows_where_tasks_work_and_what_checks_them(home: ProfileHome) -> None:
    odd = write_profile(home.user, "odd", "workspace: mine", "confine: perhaps", "check: [make]")
    assert home.run("lint") == (
        1,
        (
            f'{odd}:3: warning: "workspace" must be one of shared, worktree, auto\n'
            f'{odd}:4: "confine" must be true or false\n'
            f'{odd}:5: "check" must be a string\n'
            "0 profiles, 3 problems\n"
        ),
        "",
    )


def test_warnings_fail_only_a_strict_lint(home: ProfileHome) -> None:
    odd = write_profile(home.user, "odd", "modle: small")
    line = f'{odd}:3: warning: unknown field "modle"; ignored (did you mean "model"?)\n'
    assert home.run("lint") == (0, f"{line}1 profile, 1 problem\n", "")
    assert home.run("lint", "--strict") == (1, f"{line}1 profile, 1 problem\n", "")
    odd.unlink()
    assert home.run("lint", "--strict") == (0, "0 profiles, 0 problems\n", "")


@pytest.mark.parametrize(("strict", "code"), [([], 0), (["--strict"], 1)])
def test_lint_for_scripts_says_whether_it_passed(
    home: ProfileHome, strict: list[str], code: int
) -> None:
    odd = write_profile(home.user, "odd", "modle: small")
    got, out, err = home.run("lint", "--json", *strict)
    assert (got, err) == (code, "")
    assert json.loads(out) == {
        "schemaVersion": 1,
        "ok": code == 0,
        "profiles": 1,
        "problems": [
            {
                "path": str(odd),
                "line": 3,
                "problem": 'unknown field "modle"; ignored (did you mean "model"?)',
                "fatal": False,
            }
        ],
    }


@pytest.mark.parametrize("verb", ["show", "delete", "path"])
def test_an_unknown_name_is_refused_with_those_there_are(home: ProfileHome, verb: str) -> None:
    message = 'Error: Profile "nope" not found. Available: '
    assert home.run(verb, "nope") == (2, "", f"{message}(none)\n")
    write_profile(home.user, "fast-worker")
    write_profile(home.project, "code-reviewer")
    assert home.run(verb, "nope") == (2, "", f"{message}code-reviewer, fast-worker\n")


def test_a_file_that_could_not_be_loaded_explains_a_name_that_is_not_found(
    home: ProfileHome,
) -> None:
    broken = write_profile(home.user, "broken", "noTools: maybe")
    write_profile(home.user, "odd", "modle: small")
    assert home.run("broken") == (
        2,
        "",
        (
            f'Not loaded: {broken}:3: "noTools" must be true or false\n'
            'Error: Profile "broken" not found. Available: odd\n'
        ),
    )


@pytest.mark.parametrize("verb", [["show"], ["delete", "--yes"], ["path"], []])
@pytest.mark.parametrize("name", ["../x", "a.b", "", "a" * 65, "\x1b[2J", "à", "x\n"])
def test_a_name_that_no_profile_may_have_is_refused_and_shown_harmless(
    home: ProfileHome, verb: list[str], name: str
) -> None:
    assert home.run(*verb, name) == (
        2,
        "",
        (
            f"Error: {name!r} cannot be the name of a profile: 1 to 64 letters, digits, hyphens and "
            "underscores.\n"
        ),
    )


def test_of_a_name_without_end_the_beginning_is_shown(home: ProfileHome) -> None:
    assert home.run("show", "a" * 5000)[2].startswith(f"Error: '{'a' * 80}' cannot be the name ")


def test_a_word_that_is_no_verb_is_a_name_and_a_verb_is_never_one(home: ProfileHome) -> None:
    paths = {name: write_profile(home.user, name) for name in ("fast", "list", "-x")}
    shown = {
        name: f"Profile: {name}\n  scope:             global\n  path:              {path}\n"
        for name, path in paths.items()
    }
    assert home.run("fast") == (0, shown["fast"], "")
    assert home.run("show", "list") == (0, shown["list"], "")
    assert home.run("show", "--", "-x") == (0, shown["-x"], "")
    assert home.run("list")[1].startswith("Subagent profiles:\n")


def test_the_help_lists_each_verb_once(home: ProfileHome) -> None:
    code, out, _ = home.run("--help")
    commands = out.partition("Commands:\n")[2].splitlines()
    assert (code, [line.split()[0] for line in commands]) == (
        0,
        ["list", "show", "add", "import", "create", "edit", "delete", "path", "lint"],
    )
    assert out.startswith("Usage: subagents profile [OPTIONS] COMMAND|NAME [ARGS]...\n")


@pytest.mark.parametrize(
    ("words", "begun", "offered"),
    [
        (["profile"], "l", ["list", "lint", "lazy"]),
        (["profile", "show"], "la", ["lazy"]),
        (["profile", "rm"], "", ["fast", "lazy"]),
        (["profile", "path"], "f", ["fast"]),
    ],
)
def test_a_shell_is_offered_names(
    home: ProfileHome, words: list[str], begun: str, offered: list[str]
) -> None:
    write_profile(home.user, "fast")
    write_profile(home.project, "lazy")
    invalidate_profiles_cache()
    shell = ShellComplete(group, {}, "subagents", "_SUBAGENTS_COMPLETE")
    assert [item.value for item in shell.get_completions(words, begun)] == offered
