"""`subagents preset`: what is there, one of them, where the files are, what is wrong with them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from tests.fakes.profile_home import ProfileHome, make_preset_home, write_preset, write_profile

from pi_subagents.config.preset_files import invalidate_presets_cache
from pi_subagents.core import messages
from pi_subagents.faces.cli.main import group

ROOT = Path(__file__).parents[4]
NEEDS_DESCRIPTION = '"description" is required: a text that says what the preset is for'


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ProfileHome:
    return make_preset_home(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("verb", ["list", "ls"])
def test_the_list_has_a_line_per_preset_with_its_purpose_and_what_it_overrides(
    home: ProfileHome, verb: str
) -> None:
    write_preset(home.user, "scout", "model: small", "tools: read,ls", body="Look around.")
    write_preset(home.user, "fixer", "model: big")
    write_preset(home.project, "fixer", "tools: []")
    assert home.run(verb) == (
        0,
        (
            "Subagent presets:\n"
            "  preset: fixer — For tests, tools=[] (project, overrides global)\n"
            '  preset: scout — For tests, model=small, appended-system-prompt="Look around.", tools=[read,ls]'
            " (global)\n"
        ),
        f"Warning: {home.project / 'fixer.md'}:4: {messages.TOOLS_EMPTY}\n",
    )


def test_where_there_are_no_presets_the_list_says_where_to_put_them(home: ProfileHome) -> None:
    assert home.run("list") == (
        0,
        (
            "No presets found. Add .md files to ~/.pi/agent/subagents/ or .pi/subagents/ of the "
            "project.\n"
            "Or begin with one of ours: subagents preset add scout (or reviewer, worker)\n"
        ),
        "",
    )


def test_profiles_are_no_presets_and_presets_no_profiles(home: ProfileHome) -> None:
    profiles = home.root / "home/.pi/agent/agent-profiles"
    profiles.mkdir()
    write_profile(profiles, "profile")
    write_preset(home.user, "preset")
    assert home.run("list")[1] == "Subagent presets:\n  preset: preset — For tests (global)\n"
    assert home.run("lint") == (0, "1 preset, 0 problems\n", "")
    home.verb = "profile"
    assert home.run("list")[1] == "Subagent profiles:\n  profile: profile (global)\n"
    assert home.run("lint") == (0, "1 profile, 0 problems\n", "")


def test_the_list_for_scripts_has_paths_and_problems_and_leaves_standard_error_alone(
    home: ProfileHome,
) -> None:
    hidden = write_preset(home.user, "a", "model: big")
    used = write_preset(home.project, "a")
    broken = write_profile(home.user, "broken")
    code, out, err = home.run("list", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "schemaVersion": 1,
        "presets": [
            {
                "name": "a",
                "scope": "project",
                "path": str(used),
                "overrides": str(hidden),
                "summary": "preset: a — For tests",
            }
        ],
        "problems": [{"path": str(broken), "line": 1, "problem": NEEDS_DESCRIPTION, "fatal": True}],
    }


def test_one_is_shown_with_all_it_sets_and_where_it_comes_from(home: ProfileHome) -> None:
    other = write_preset(home.user, "scout")
    path = write_preset(home.project, "scout", "model: m", "tools: read, ls", body="One.\nTwo.")
    shown = (
        "Preset: scout\n"
        "  description:       For tests\n"
        "  model:             m\n"
        "  tools:             [read, ls]\n"
        "  prompt:            One.\n"
        "                     Two.\n"
        f"  scope:             project, overrides {other}\n"
        f"  path:              {path}\n"
    )
    replaces = messages.note_replaces("preset", "scout", str(path))
    assert home.run("show", "scout") == (0, shown, f"{replaces}\n")
    home.trust()
    assert home.run("scout") == (0, shown, "")


def test_one_for_scripts_has_its_fields(home: ProfileHome) -> None:
    path = write_preset(home.user, "scout", "tools:", body="One.")
    code, out, err = home.run("scout", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "schemaVersion": 1,
        "name": "scout",
        "scope": "global",
        "path": str(path),
        "overrides": None,
        "preset": {"name": "scout", "description": "For tests", "tools": [], "prompt": "One."},
        "problems": [
            {
                "path": str(path),
                "line": 4,
                "problem": messages.TOOLS_EMPTY,
                "fatal": False,
            }
        ],
    }


def test_what_is_wrong_with_one_is_told_beside_it_and_of_others_nothing(home: ProfileHome) -> None:
    odd = write_preset(home.user, "odd", "modle: m")
    write_profile(home.user, "broken")
    assert home.run("odd")[::2] == (
        0,
        f'Warning: {odd}:4: unknown field "modle"; ignored (did you mean "model"?)\n',
    )


def test_nothing_in_a_file_can_drive_the_terminal(home: ProfileHome) -> None:
    write_profile(
        home.user, "x", 'description: "\\e[31mred\\a\\n\\u202e"', body="\x9b2J\x1b[2Jdone"
    )
    for arguments in (["list"], ["show", "x"]):
        _, out, _ = home.run(*arguments)
        assert all(each.isprintable() or each == "\n" for each in out)
        assert "red" in out


def test_both_directories_are_told_wherever_the_project_keeps_its_own(
    home: ProfileHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home.root / "project/src").mkdir()
    monkeypatch.chdir(home.root / "project/src")
    home.project.rmdir()
    missing = f"global   {home.user}\nproject  {home.project} (does not exist yet)\n"
    assert home.run("path") == (0, missing, "")
    home.project.mkdir()
    write_preset(home.project, "a")
    (home.root / "project/src/.git").mkdir()  # where runs would be kept is another question
    assert home.run("path") == (0, f"global   {home.user}\nproject  {home.project}\n", "")
    _, out, _ = home.run("path", "--json")
    assert json.loads(out) == {
        "schemaVersion": 1,
        "directories": [
            {"scope": "global", "path": str(home.user), "exists": True},
            {"scope": "project", "path": str(home.project), "exists": True},
        ],
    }


def test_the_path_of_a_name_is_the_file_that_counts(home: ProfileHome) -> None:
    write_preset(home.user, "a")
    used = write_preset(home.project, "a")
    assert home.run("path", "a") == (0, f"{used}\n", "")
    _, out, _ = home.run("path", "a", "--json")
    assert json.loads(out) == {
        "schemaVersion": 1,
        "name": "a",
        "scope": "project",
        "path": str(used),
    }


def test_lint_tells_every_problem_of_both_directories_and_fails(home: ProfileHome) -> None:
    odd = write_preset(home.user, "odd", "modle: small")
    broken = write_profile(home.project, "broken")
    assert home.run("lint") == (
        1,
        (
            f'{odd}:4: warning: unknown field "modle"; ignored (did you mean "model"?)\n'
            f"{broken}:1: {NEEDS_DESCRIPTION}\n"
            "1 preset, 2 problems\n"
        ),
        "",
    )
    _, out, _ = home.run("lint", "--json")
    heard = json.loads(out)
    assert (heard["ok"], heard["presets"], len(heard["problems"])) == (False, 1, 2)


def test_warnings_fail_only_a_strict_lint(home: ProfileHome) -> None:
    write_preset(home.user, "odd", "modle: small")
    assert [home.run("lint", *strict)[0] for strict in ([], ["--strict"])] == [0, 1]


@pytest.mark.parametrize("verb", [["show"], ["path"], []])
def test_an_unknown_name_is_refused_with_those_there_are(
    home: ProfileHome, verb: list[str]
) -> None:
    message = 'Error: Unknown preset: "nope". Available presets: '
    assert home.run(*verb, "nope") == (2, "", f"{message}(none)\n")
    write_preset(home.user, "scout")
    write_preset(home.project, "fixer")
    assert home.run(*verb, "nope") == (2, "", f"{message}fixer, scout\n")


def test_a_file_that_could_not_be_loaded_explains_a_name_that_is_not_found(
    home: ProfileHome,
) -> None:
    broken = write_profile(home.user, "broken")
    assert home.run("broken") == (
        2,
        "",
        (
            f"Not loaded: {broken}:1: {NEEDS_DESCRIPTION}\n"
            'Error: Unknown preset: "broken". Available presets: (none)\n'
        ),
    )


@pytest.mark.parametrize("verb", [["show"], ["path"], []])
@pytest.mark.parametrize("name", ["../x", "a.b", "", "a" * 65, "\x1b[2J", "à", "x\n"])
def test_a_name_that_no_preset_may_have_is_refused_and_shown_harmless(
    home: ProfileHome, verb: list[str], name: str
) -> None:
    assert home.run(*verb, name) == (
        2,
        "",
        (
            f"Error: {name!r} cannot be the name of a preset: 1 to 64 letters, digits, hyphens and "
            "underscores.\n"
        ),
    )


def test_the_help_lists_each_verb_once(home: ProfileHome) -> None:
    code, out, _ = home.run("--help")
    commands = out.partition("Commands:\n")[2].splitlines()
    assert (code, [line.split()[0] for line in commands]) == (
        0,
        ["list", "show", "add", "path", "lint"],
    )
    assert out.startswith("Usage: subagents preset [OPTIONS] COMMAND|NAME [ARGS]...\n")


@pytest.mark.parametrize("verb", ["list", "path", "lint"])
def test_the_help_of_a_shared_verb_speaks_of_presets(home: ProfileHome, verb: str) -> None:
    _, out, _ = home.run(verb, "--help")
    assert "preset" in out
    assert "profile" not in out


@pytest.mark.parametrize(
    ("words", "begun", "offered"),
    [
        (["preset"], "l", ["list", "lint", "lazy"]),
        (["preset", "show"], "la", ["lazy"]),
        (["preset", "path"], "f", ["fast"]),
    ],
)
def test_a_shell_is_offered_names(
    home: ProfileHome, words: list[str], begun: str, offered: list[str]
) -> None:
    write_preset(home.user, "fast")
    write_preset(home.project, "lazy")
    invalidate_presets_cache()
    shell = ShellComplete(group, {}, "subagents", "_SUBAGENTS_COMPLETE")
    assert [item.value for item in shell.get_completions(words, begun)] == offered


def blocks(language: str) -> list[str]:
    """Return the examples of the page about presets."""
    page = (ROOT / "docs" / "presets.md").read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def test_the_example_of_the_documentation_is_listed_as_documented(home: ProfileHome) -> None:
    (example,) = blocks("markdown")
    (home.project / "repo-scout.md").write_text(example)
    assert home.run("list") == (0, blocks("text")[0], "")
    assert home.run("lint")[:2] == (0, "1 preset, 0 problems\n")


def test_the_documented_mistakes_are_told_as_documented(home: ProfileHome) -> None:
    write_preset(home.project, "odd", "tool: read")
    write_profile(home.project, "vague")
    _, out, _ = home.run("lint")
    assert out.replace(f"{home.root / 'project'}/", "") == (
        f"{blocks('text')[1]}1 preset, 2 problems\n"
    )
