"""The profile wizard in a real terminal: with arrow keys, on a dumb one, and through a pipe."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.fakes.odd_profiles import ODD_PROFILES
from tests.fakes.profile_home import (
    ProfileHome,
    keep_the_rest_and_save,
    make_wizard_home,
    write_profile,
)
from tests.fakes.pty_terminal import CTRL_C, DOWN, ENTER, ESC, TAB, UP, PtyTerminal

from pi_subagents.faces.cli import messages as cli_messages
from pi_subagents.faces.profile_wizard import messages as profile_wizard_messages
from pi_subagents.faces.profile_wizard.line_prompts import HOW_TO_SKIP

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

# Whoever starts the tests in the background has SIGINT ignored, and the command would inherit that.
START = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from pi_subagents.faces.cli.main import main; main()"
)
SHIFT_TAB, CLEAR = "\x1b[Z", "\x15"
ENTRY = [sys.executable, "-c", START, "profile"]
NO_MODELS = "Models cannot be offered here"
SAVED = 'Profile "demo" saved to global agent-profiles.'


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ProfileHome:
    return make_wizard_home(tmp_path, monkeypatch, capsys, "Written in\nan editor.\n")


def terminal(*arguments: str) -> PtyTerminal:
    return PtyTerminal([*ENTRY, *arguments], dict(os.environ))


def piped(lines: list[str], *arguments: str) -> tuple[int, str, str]:
    given = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        [*ENTRY, *arguments], input=given, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_a_profile_is_made_with_arrow_keys_and_the_terminal_is_as_before(
    home: ProfileHome,
) -> None:
    with terminal("create", "demo") as screen:
        screen.press("Save to which scope?", DOWN, UP, ENTER)
        screen.press(NO_MODELS)
        screen.press("Provider (e.g.", "anthropix", "\x7f", "c", ENTER)
        screen.press("Model (supports", "sonnet", "\x1b[D", "\x1b[H", "a/", ENTER)
        screen.press("Set a custom system prompt?", UP, ENTER)
        screen.press("Append text to the default", ESC)
        screen.press("Set a thinking level?", UP, ENTER)
        screen.press("Thinking level:", UP, UP, ENTER)  # around the end of the menu
        screen.press("Restrict which tools", UP, ENTER)
        screen.press("Tools:", ENTER)
        screen.press("Tools to allow", "re", TAB, ", ba", DOWN, ENTER, ENTER)
        keep_the_rest_and_save(screen)
        assert SAVED in screen.shown
        assert screen.is_as_before()
    path = home.user / "demo.md"
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert text == (
        "---\nname: demo\nprovider: anthropic\nmodel: a/sonnet\nthinkingLevel: xhigh\n"
        "tools:\n- read\n- bash\n---\n\nWritten in\nan editor.\n"
    )
    assert text.replace("\n", "\r\n") in screen.shown  # the review


def test_an_edit_shows_what_is_there_and_keeps_the_rest_of_the_file(home: ProfileHome) -> None:
    path = write_profile(
        home.project, "demo", "# mine", "model: old # quick", "apiKey:", "tools: read", body="Hi."
    )
    with terminal("edit", "demo") as screen:
        screen.press("→ Project (.pi/agent-profiles/demo.md)", ENTER)
        screen.press("Provider (e.g.", ENTER)
        screen.press("> old", "\x15", "new", ENTER)
        screen.press("Keep a custom system prompt?", DOWN, ENTER)
        screen.press("Append text", ENTER)
        screen.press("Set a thinking level?", ENTER)
        screen.press("Restrict which tools", ENTER)
        screen.press("→ Allow only some", ENTER)
        screen.press("> read", ENTER)
        screen.press("Configure extension", ENTER)
        screen.press("Configure skill", ENTER)
        screen.press(cli_messages.fields_left_out(("systemPrompt",)))
        screen.press("Save this profile?", ENTER)
        assert screen.ended() == 0
    assert path.read_text() == (
        "---\nname: demo\n# mine\nmodel: new # quick\napiKey:\ntools: read\n---\n"
    )


@pytest.mark.parametrize("what", ODD_PROFILES)
def test_an_empty_line_at_every_question_of_an_edit_leaves_the_file_as_it_is_to_the_byte(
    home: ProfileHome, what: str
) -> None:
    path = home.user / "demo.md"
    path.write_bytes(ODD_PROFILES[what])
    path.chmod(0o600)
    code, out, err = piped([""] * 30, "edit", "demo")
    assert (code, out) == (0, f"{cli_messages.NOTHING_CHANGED}\n"), err
    assert path.read_bytes() == ODD_PROFILES[what]
    assert (list(home.user.iterdir()), list(home.project.iterdir())) == ([path], [])


def test_enter_at_every_question_of_an_edit_changes_nothing_with_arrow_keys_either(
    home: ProfileHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    text = (
        "---\nname: demo\nappendSystemPrompt: |\n  One.\nexcludeTools: []\n"
        'loadSkills: a\nextensions: ["/a,b.js"]\n---\n\n  Hello.  \n\n'
    )
    path = home.user / "demo.md"
    path.write_text(text)
    with terminal("edit", "demo") as screen:
        for question in (
            "Save to which scope?", "Provider (e.g.", "Model (supports",
            "Keep a custom system prompt?", "Keep the text appended", "Append text:",
            "Set a thinking level?", "Restrict which tools", "Tools:", "Tools to exclude",
            "Configure extension", "Extensions:", "Extension paths", "Remove the skills",
            "Suggested skills", "Pre-loaded skills", "Save this profile?",
        ):  # fmt: skip
            screen.press(question, ENTER)
        assert screen.ended() == 0
        assert cli_messages.NOTHING_CHANGED in screen.shown
    assert path.read_text() == text


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_ctrl_c_leaves_without_saving(
    home: ProfileHome, monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    monkeypatch.setenv("TERM", term)
    with terminal("create", "demo") as screen:
        screen.press("Save to which scope?", ENTER)
        screen.press("Provider (e.g.", "x", CTRL_C if term == "xterm" else "")
        if term == "dumb":
            screen.program.send_signal(signal.SIGINT)
        assert screen.ended() == 130
        assert cli_messages.NOTHING_SAVED in screen.shown
        assert screen.is_as_before()
    assert list(home.user.iterdir()) == []


def test_a_program_that_is_ended_gives_the_terminal_back(home: ProfileHome) -> None:
    with terminal("create", "demo") as screen:
        screen.press("ctrl+c quit")
        assert not screen.is_as_before()
        screen.program.terminate()
        assert screen.ended() == 128 + signal.SIGTERM
        assert screen.is_as_before()


def test_an_editor_that_fails_saves_nothing(
    home: ProfileHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "false")
    with terminal("create", "demo", "--scope", "global") as screen:
        screen.press("Provider (e.g.", ESC)
        screen.press("Model (supports", ENTER)
        screen.press("Set a custom system prompt?", UP, ENTER)
        assert screen.ended() == 130
        assert profile_wizard_messages.editor_failed("false") in screen.shown
    assert list(home.user.iterdir()) == []


def test_shift_tab_goes_back_and_a_tool_that_does_not_exist_is_asked_for_again(
    home: ProfileHome,
) -> None:
    with terminal("create", "demo", "--scope", "global") as screen:
        screen.press("Provider (e.g.", "acme", ENTER)
        screen.press("Model (supports", SHIFT_TAB)
        screen.press("> acme", "2", ENTER)
        screen.press("Model (supports", "big", ENTER)
        for question in ("Set a custom", "Append text", "Set a thinking"):
            screen.press(question, ENTER)
        screen.press("Restrict which tools", UP, ENTER)
        screen.press("Allow only some", ENTER)
        screen.press("Tools to allow", "bsh", ENTER)
        again = 'Unknown tool "bsh" (did you mean "bash"?). Enter keeps it.'
        screen.press(again, CLEAR, "bash", ENTER)
        keep_the_rest_and_save(screen)
    assert (home.user / "demo.md").read_text() == (
        "---\nname: demo\nprovider: acme2\nmodel: big\ntools:\n- bash\n---\n"
    )


def test_escape_twice_in_a_row_offers_to_quit(home: ProfileHome) -> None:
    with terminal("create", "demo", "--scope", "global") as screen:
        screen.press("Provider (e.g.", ESC)
        screen.press("Model (supports", ESC)
        screen.press("→ Go on", DOWN, ENTER)
        screen.press("Provider (e.g.", ESC)
        screen.press("Model (supports", ESC)
        screen.press("→ Go on", UP, ENTER)
        assert screen.ended() == 130
        assert cli_messages.NOTHING_SAVED in screen.shown
    assert list(home.user.iterdir()) == []


def test_a_line_with_only_an_arrow_goes_back(home: ProfileHome) -> None:
    lines = ["acme", "<", "zen", "big", *[""] * 7]
    code, _, err = piped(lines, "create", "demo", "--scope", "global")
    assert (code, err.startswith(HOW_TO_SKIP)) == (0, True)
    expected = "---\nname: demo\nprovider: zen\nmodel: big\n---\n"
    assert (home.user / "demo.md").read_text() == expected


def test_a_dumb_terminal_has_numbered_menus_and_no_escape_sequence(
    home: ProfileHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with terminal("new", "demo") as screen:
        screen.press("  2) Project (.pi/agent-profiles/demo.md)\r\n1-2 [1]: ", "9\n")
        screen.press("Answer with a number from 1 to 2, or - to skip.\r\n1-2 [1]: ", "1\n")
        screen.press("[] > ", "anthropic\n")
        screen.press("[] > ", "-\n")
        screen.press("Set a custom system prompt? [y/N]: ", "y\n")
        screen.press(profile_wizard_messages.editor_opens("cp") + "\r\n")
        screen.press("Append text to the default system prompt? [y/N]: ", "maybe\n")
        screen.press("Answer with yes or no.")
        screen.press("[y/N]: ", "n\n")
        screen.press("Set a thinking level? [y/N]: ", "\n")
        screen.press("use? [y/N]: ", "\n")
        screen.press("loading? [y/N]: ", "\n")
        screen.press("[y/N]: ", "\n")
        screen.press("Save this profile? [Y/n]: ", "\n")
        assert screen.ended() == 0
        assert "\x1b" not in screen.shown
    assert (home.user / "demo.md").read_text() == (
        "---\nname: demo\nprovider: anthropic\n---\n\nWritten in\nan editor.\n"
    )


def test_answers_can_come_through_a_pipe_line_by_line(home: ProfileHome) -> None:
    lines = ["2", "", "m", "y", "First.", "", "Second.", ".", "", "y", "1", "y", "1", "", "", "y"]
    code, out, err = piped(lines, "create", "demo")
    assert (code, out) == (0, 'Profile "demo" saved to project agent-profiles.\n')
    text = (home.project / "demo.md").read_text()
    assert text == (
        "---\nname: demo\nmodel: m\nthinkingLevel: 'off'\nnoTools: true\n---\n\nFirst.\n\nSecond.\n"
    )
    assert text in err


def test_an_empty_first_line_keeps_a_long_text_and_a_dash_leaves_it_out(home: ProfileHome) -> None:
    path = write_profile(home.user, "demo", body="Old.")
    enters = [""] * 20
    assert piped(enters, "edit", "demo")[:2] == (0, f"{cli_messages.NOTHING_CHANGED}\n")
    assert path.read_text() == "---\nname: demo\n---\nOld."
    assert piped(["", "", "", "y", "-", *enters], "edit", "demo")[0] == 0
    assert path.read_text() == "---\nname: demo\n---\n"


@pytest.mark.parametrize("count", range(10))
def test_answers_that_end_too_early_save_nothing(home: ProfileHome, count: int) -> None:
    code, out, _ = piped([""] * count, "create", "demo")
    assert (code, out) == (130, f"{cli_messages.NOTHING_SAVED}\n")
    assert list(home.user.iterdir()) == []


def test_a_review_that_is_declined_saves_nothing(home: ProfileHome) -> None:
    code, out, _ = piped([*[""] * 9, "n"], "create", "demo")
    assert (code, out) == (1, f"{cli_messages.NOTHING_SAVED}\n")
    assert list(home.user.iterdir()) == []


def test_an_edit_can_be_saved_in_the_other_scope_with_its_comments(home: ProfileHome) -> None:
    path = write_profile(home.user, "demo", "# mine", "model: m")
    code, out, _ = piped(["2", *[""] * 20], "edit", "demo")
    assert (code, out) == (0, 'Profile "demo" saved to project agent-profiles.\n')
    assert (home.project / "demo.md").read_text() == path.read_text()


def test_the_review_masks_the_key_and_a_key_keeps_the_profile_out_of_the_project(
    home: ProfileHome,
) -> None:
    path = write_profile(home.user, "demo", "apiKey: sk-secret-key-12345", "model: openai/gpt")
    code, _, err = piped(["", "openai/other", *[""] * 20], "edit", "demo")
    assert code == 0
    assert "Save to which scope?" not in err
    assert "apiKey: sk-s****12345" in err
    assert "secret" not in err
    assert path.read_text() == (
        "---\nname: demo\napiKey: sk-secret-key-12345\nmodel: openai/other\n---\n"
    )


def test_a_key_in_a_project_is_refused_before_anything_is_asked(home: ProfileHome) -> None:
    write_profile(home.project, "demo", "apiKey: sk-secret-key-12345")
    code, out, err = piped([""] * 20, "edit", "demo")
    assert (code, out) == (2, "")
    assert err.startswith('Error: Profile "demo" holds an API key and is not saved in the project')
