"""`subagents profile create` and `edit` by options: no question, one file, the right one."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

import pytest
from tests.fakes.profile_home import ProfileHome, make_profile_home, write_profile
from tests.fakes.pty_terminal import PtyTerminal

from pi_subagents.engines.pi import messages as pi_messages
from pi_subagents.faces.cli import messages as cli_messages

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = [sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()", "profile"]
SAVED = 'Profile "demo" saved to global agent-profiles.\n'
KEY = "sk-secret-key-12345"


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ProfileHome:
    return make_profile_home(tmp_path, monkeypatch, capsys)


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_every_field_is_an_option(home: ProfileHome, monkeypatch: pytest.MonkeyPatch) -> None:
    (home.root / "prompt.md").write_text("One.\n\nTwo.\n")
    typed(monkeypatch, f"{KEY}\nmore\n")
    done = home.run(
        "create", "demo", "--scope", "global", "--provider", "openai", "--model", "gpt", "--thinking", "max",
        "--tools", "read,grep", "--tools", "ls", "--mcp", "none", "--extensions", "/a.js, /b.js", "--no-extensions",
        "--suggested-skills", "s", "--load-skills", "t", "--no-context-files",
        "--workspace", "worktree", "--confine", "--check", "pytest -q",
        "--append-system-prompt", "Be brief.", "--system-prompt", f"@{home.root / 'prompt.md'}",
        "--extra-args=--models", "--extra-args", "a,b", "--api-key-stdin",
    )  # fmt: skip
    assert done == (0, SAVED, "")
    path = home.user / "demo.md"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == (
        "---\nname: demo\nprovider: openai\nmodel: gpt\nthinkingLevel: max\n"
        "appendSystemPrompt: Be brief.\ntools:\n- read\n- grep\n- ls\nmcp: none\nnoExtensions: true\n"
        "extensions:\n- /a.js\n- /b.js\nsuggestedSkills:\n- s\nloadSkills:\n- t\n"
        f"noContextFiles: true\nworkspace: worktree\nconfine: true\ncheck: pytest -q\napiKey: {KEY}\nextraArgs:\n- --models\n- a,b\n---\n\nOne.\n\nTwo.\n"
    )


def test_where_its_tasks_work_can_be_changed_and_left_out_again(home: ProfileHome) -> None:
    code, _, err = home.run("create", "demo", "--workspace", "mine")
    assert (code, err.splitlines()[-1]) == (
        2, "Error: Invalid value for '--workspace': must be one of shared, worktree, auto.",
    )  # fmt: skip
    assert home.run("create", "demo", "--workspace", "auto", "--confine", "--check", "make") == (
        0, SAVED, "",
    )  # fmt: skip
    assert home.run("lint", "--strict") == (0, "1 profile, 0 problems\n", "")
    assert home.run("edit", "demo", "--workspace", "", "--no-confine", "--check", "")[0] == 0
    assert (home.user / "demo.md").read_text() == "---\nname: demo\n---\n"


@pytest.mark.parametrize("flag", ["--yes", "--no-input"])
@pytest.mark.parametrize("verb", ["create", "new"])
def test_with_yes_nothing_is_asked(home: ProfileHome, verb: str, flag: str) -> None:
    assert home.run(verb, "demo", flag) == (0, SAVED, "")
    assert (home.user / "demo.md").read_text() == "---\nname: demo\n---\n"


def test_a_prompt_can_come_from_standard_input_and_only_one(
    home: ProfileHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "From\nthere.\n")
    assert home.run("create", "demo", "--append-system-prompt", "-") == (0, SAVED, "")
    assert (home.user / "demo.md").read_text() == (
        "---\nname: demo\nappendSystemPrompt: |-\n  From\n  there.\n---\n"
    )
    code, out, err = home.run("edit", "demo", "--system-prompt", "-", "--api-key-stdin")
    assert (code, out) == (2, "")
    assert err.endswith("Error: Only one option can read standard input.\n")


def test_a_profile_that_is_there_is_never_replaced_by_a_new_one(home: ProfileHome) -> None:
    path = write_profile(home.user, "demo", "model: m")
    refusal = (
        f'Error: Profile "demo" already exists: {path}. To change it: subagents profile edit demo, '
        "or /profile edit demo in pi\n"
    )
    for arguments in ([], ["--scope", "global"]):
        assert home.run("create", "demo", "--model", "x", *arguments) == (2, "", refusal)
    assert path.read_text() == "---\nname: demo\nmodel: m\n---\n"
    assert home.run("create", "demo", "--model", "x", "--scope", "project")[0] == 0


def test_nor_is_a_file_that_cannot_be_read_or_one_called_otherwise(home: ProfileHome) -> None:
    broken = home.user / "demo.md"
    broken.write_text("---\n")
    other = write_profile(home.project, "named", "model: m")
    other = other.rename(home.project / "else.md")
    for name, path in (("demo", broken), ("named", other)):
        code, out, err = home.run("create", name, "--yes")
        assert (code, out) == (2, "")
        assert f'Profile "{name}" already exists: {path}.' in err
    assert broken.read_text() == "---\n"


def test_a_name_that_no_profile_may_have_is_refused(home: ProfileHome) -> None:
    code, out, err = home.run("create", "../x", "--yes")
    assert (code, out) == (2, "")
    assert err.startswith("Error: '../x' cannot be the name of a profile")


def test_an_unknown_profile_cannot_be_edited(home: ProfileHome) -> None:
    write_profile(home.user, "other")
    assert home.run("edit", "demo", "--model", "m") == (
        2,
        "",
        'Error: Profile "demo" not found. Available: other\n',
    )


def test_an_edit_changes_what_is_said_and_keeps_the_rest(home: ProfileHome) -> None:
    path = write_profile(home.user, "demo", "# mine", "model: m # quick", "team: core", body="Hi.")
    path.chmod(0o644)
    assert home.run("edit", "demo", "--model", "n", "--thinking", "low") == (0, SAVED, "")
    assert path.read_text() == (
        "---\nname: demo\n# mine\nmodel: n # quick\nthinkingLevel: low\nteam: core\n---\nHi."
    )
    assert path.stat().st_mode & 0o777 == 0o600
    assert home.run("edit", "demo", "--model", "", "--system-prompt", "", "--thinking", "")[0] == 0
    assert path.read_text() == "---\nname: demo\n# mine\nteam: core\n---\n"


def test_an_edit_that_changes_nothing_says_so(home: ProfileHome) -> None:
    path = write_profile(home.user, "demo", "tools: [read]")
    before = path.stat()
    done = home.run("edit", "demo", "--tools", "read")
    assert done == (0, f"{cli_messages.NOTHING_CHANGED}\n", "")
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert home.run("edit", "demo", "--yes")[0] == 2


@pytest.mark.parametrize(
    ("before", "options", "after"),
    [
        ("noTools: true", ["--tools", "read"], "tools:\n- read\n"),
        ("tools: read", ["--exclude-tools", "bash"], "excludeTools:\n- bash\n"),
        ("tools: read", ["--no-tools"], "noTools: true\n"),
        ("excludeTools: read", ["--all-tools"], ""),
        ("noTools: true", ["--tools", ""], "noTools: true\n"),
        ("loadSkills: a", ["--no-skills"], "noSkills: true\n"),
        ("noSkills: true", ["--suggested-skills", "a"], "suggestedSkills:\n- a\n"),
        ("loadSkills: a", ["--found-skills"], "loadSkills: a\n"),
        ("noExtensions: true", ["--found-extensions"], ""),
        ("noContextFiles: true", ["--context-files"], ""),
    ],
)
def test_a_field_takes_away_what_it_contradicts(
    home: ProfileHome, before: str, options: list[str], after: str
) -> None:
    path = write_profile(home.user, "demo", before)
    assert home.run("edit", "demo", *options)[0] == 0
    assert path.read_text() == f"---\nname: demo\n{after}---\n"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--tools", "a", "--exclude-tools", "b"], 'has both "tools" and "excludeTools" set'),
        (["--extra-args", "--print"], 'Refusing extraArg "--print"'),
        (["--thinking", "lots"], "must be one of off, minimal"),
        (
            ["--system-prompt", "@nowhere.md"],
            "nowhere.md cannot be read: No such file or directory",
        ),
        (["--scope", "moon"], "'moon' is not one of"),
    ],
)
def test_what_no_call_could_use_is_refused_and_not_saved(
    home: ProfileHome, options: list[str], problem: str
) -> None:
    code, out, err = home.run("create", "demo", *options)
    assert (code, out) == (2, "")
    assert problem in err
    assert list(home.user.iterdir()) == []


def test_a_key_never_gets_into_a_project_and_can_be_taken_out_of_one(
    home: ProfileHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, f"{KEY}\n")
    code, out, err = home.run("create", "demo", "--scope", "project", "--api-key-stdin")
    assert (code, out) == (2, "")
    assert err.startswith('Error: Profile "demo" holds an API key and is not saved in the project')
    assert KEY not in err
    path = write_profile(home.project, "demo", f"apiKey: {KEY}", "model: openai/m")
    assert home.run("edit", "demo", "--thinking", "low")[0] == 2
    typed(monkeypatch, "\n")
    assert home.run("edit", "demo", "--api-key-stdin")[0] == 0
    assert path.read_text() == "---\nname: demo\nmodel: openai/m\n---\n"


def test_on_a_terminal_the_key_is_hidden(home: ProfileHome) -> None:
    write_profile(home.user, "demo", "model: openai/m")
    argv = [*ENTRY, "edit", "demo", "--api-key-stdin"]
    with PtyTerminal(argv, dict(os.environ)) as screen:
        screen.press("API key: ", f"{KEY}\n")
        assert screen.ended() == 0
        assert KEY not in screen.shown
    assert KEY in (home.user / "demo.md").read_text()


def test_a_link_is_not_written_through(home: ProfileHome) -> None:
    target = home.root / "dotfiles.md"
    target.write_text("---\nname: demo\n---\n")
    (home.user / "demo.md").symlink_to(target)
    assert home.run("edit", "demo", "--model", "m") == (
        2,
        "",
        f'Error: Profile "demo" cannot be saved: its file is a link. Edit what it leads to: {target}\n',
    )
    assert target.read_text() == "---\nname: demo\n---\n"


def test_of_two_profiles_the_one_in_use_is_edited_unless_a_scope_is_named(
    home: ProfileHome,
) -> None:
    user, project = write_profile(home.user, "demo"), write_profile(home.project, "demo")
    assert home.run("edit", "demo", "--model", "p")[0] == 0
    hidden = cli_messages.note_hidden("profile", "demo", "project", str(project))
    assert home.run("edit", "demo", "--model", "u", "--scope", "global") == (
        0,
        SAVED,
        f"{hidden}\n",
    )
    assert user.read_text() == "---\nname: demo\nmodel: u\n---\n"
    assert project.read_text() == "---\nname: demo\nmodel: p\n---\n"


def test_what_may_have_no_effect_is_told(home: ProfileHome) -> None:
    warning = pi_messages.MCP_OUT_OF_REACH
    options = ("--mcp", "all", "--tools", "read")
    assert home.run("create", "demo", *options) == (0, SAVED, f"{warning}\n")


def test_what_this_pi_cannot_honour_is_not_saved(home: ProfileHome) -> None:
    why = pi_messages.provider_needs_model("pi 1.5.0")
    refusal = pi_messages.field_refused("demo", "provider", why)
    assert home.run("create", "demo", "--provider", "zai") == (
        2,
        "",
        f"Error: {refusal}\n",
    )
    assert not (home.user / "demo.md").exists()
