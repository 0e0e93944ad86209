"""What the wizard's questions look like: whole screens, `{1}` bold, `{2}` dim, `{7}` the cursor."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from tests.fakes.profile_home import ProfileHome, make_wizard_home
from tests.fakes.pty_terminal import DOWN, ENTER, ESC, UP, PtyTerminal

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = [sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()", "profile"]
PROMPT = "Look well,\nand name the line of each finding, the worst finding first of all.\n"
FRAME_END = "ctrl+c quit\x1b[0m\r\n"
MENU = "{2}↑↓ navigate  enter select  escape skip  shift+tab back  ctrl+c quit{0}"
OFFERS = "{2}↑↓ choose  tab complete  enter submit  escape skip  shift+tab back  ctrl+c quit{0}"


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ProfileHome:
    return make_wizard_home(tmp_path, monkeypatch, capsys, PROMPT)


def terminal(*arguments: str, columns: int = 80) -> PtyTerminal:
    return PtyTerminal([*ENTRY, *arguments], dict(os.environ), columns=columns, rows=60)


def seen(screen: PtyTerminal, title: str = "", since: str = "") -> list[str]:
    """Return the screen when a question has been painted, from a line on."""
    screen.press(title)
    screen.press(FRAME_END)
    lines = screen.screen()
    start = next(place for place, line in enumerate(lines) if line.startswith(since))
    return lines[start:]


def to_the_restriction(screen: PtyTerminal) -> None:
    screen.press("Provider (e.g.", ESC)
    screen.press("Model (supports", ENTER)
    screen.press("Set a custom system prompt?", UP, ENTER)
    screen.press("Append text to", ENTER)
    screen.press("Set a thinking level?", ENTER)
    screen.press("Restrict which tools", UP, ENTER)


def to_the_tools(screen: PtyTerminal) -> None:
    to_the_restriction(screen)
    screen.press("→ Allow only some", ENTER)


def test_a_menu_marks_one_option_and_its_answer_stays_as_a_line(home: ProfileHome) -> None:
    options = [f"Global ({home.user}/demo.md)", "Project (.pi/agent-profiles/demo.md)"]
    options[0] = options[0].replace(os.environ["HOME"], "~")
    with terminal("create", "demo") as screen:
        assert seen(screen, "Save to which scope?") == [
            "{1}Save to which scope?{0}",
            f"{{1}}→ {options[0]}{{0}}",
            f"  {options[1]}",
            MENU.replace("skip", "take global"),
            "",
        ]
        screen.press("", DOWN)
        assert seen(screen) == [
            "{1}Save to which scope?{0}",
            f"  {options[0]}",
            f"{{1}}→ {options[1]}{{0}}",
            MENU.replace("skip", "take global"),
            "",
        ]
        screen.press("", ENTER)
        screen.press("Provider")
        assert screen.screen()[:2] == [
            f"{{2}}Save to which scope?{{0}} {options[1]}",
            "{2}Asking pi which models it has...{0}",
        ]


def test_a_line_shows_its_cursor_and_arrows_take_one_offer_after_the_other(
    home: ProfileHome,
) -> None:
    title = "{1}Tools to allow (comma-separated):{0}"
    with terminal("create", "demo", "--scope", "global") as screen:
        to_the_tools(screen)
        assert seen(screen, "Tools to allow", title) == [
            title, "> {7} {0}", "  read", "  bash", "  edit", "  write", "  grep", "  find", "  ls",
            "  codemode", OFFERS, "",
        ]  # fmt: skip
        screen.press("", DOWN)
        assert seen(screen, since=title)[1:4] == ["> {7} {0}", "{1}→ read{0}", "  bash"]
        screen.press("", ENTER)
        assert seen(screen, since=title)[1:4] == ["> read{7} {0}", "  bash", "  edit"]
        screen.press("", UP)
        assert seen(screen, since=title)[1:] == [
            "> read{7} {0}", "  bash", "  edit", "  write", "  grep", "  find", "  ls",
            "  codemode", "{1}→ tool_search{0}", OFFERS, "",
        ]  # fmt: skip
        screen.press("", ENTER)
        assert seen(screen, since=title)[1:3] == ["> read, tool_search{7} {0}", "  bash"]
        screen.press("", "\x1b[D", "\x1b[D")
        seen(screen)
        assert seen(screen, since=title)[1] == "> read, tool_sear{7}c{0}h"


def test_all_answers_and_the_file_are_on_the_screen_before_it_is_saved(home: ProfileHome) -> None:
    with terminal("create", "demo", "--scope", "global") as screen:
        to_the_tools(screen)
        screen.press("Tools to allow", "read", ENTER)
        screen.press("Configure extension", ENTER)
        screen.press("Configure skill", ENTER)
        assert seen(screen, "Save this profile?", "{2}Provider") == [
            "{2}Provider (e.g. anthropic, openai, dashscope):{0} (left out)",
            "{2}Model (supports provider/id and :thinking shorthand):{0} (left out)",
            "{2}Set a custom system prompt?{0} Yes",
            "{2}cp opens: save and quit to go on. An empty text leaves the field out.{0}",
            "{2}System prompt:{0} Look well, and name the line of each finding, the worst finding…",
            "{2}Append text to the default system prompt?{0} No",
            "{2}Set a thinking level?{0} No",
            "{2}Restrict which tools the subagent can use?{0} Yes",
            "{2}Tools:{0} Allow only some tools (all others are excluded)",
            "{2}Tools to allow (comma-separated):{0} read",
            "{2}Configure extension loading?{0} No",
            "{2}Configure skill loading for the subagent?{0} No",
            "",
            "---", "name: demo", "tools:", "- read", "---", "", "Look well,",
            "and name the line of each finding, the worst finding first of all.",
            "", "{1}Save this profile?{0}", "{1}→ Yes{0}", "  No", MENU.replace("skip", "save nothing"), "",
        ]  # fmt: skip
        screen.press("", ENTER)
        assert screen.ended() == 0
        assert screen.screen()[-4:] == [
            "{2}Save this profile?{0} Yes",
            'Profile "demo" saved to global agent-profiles.',
            '{2}Use it: subagents run --profile demo "..."{0}',
            "",
        ]


def test_on_forty_columns_questions_and_keys_take_more_rows(home: ProfileHome) -> None:
    with terminal("create", "demo", "--scope", "global", columns=40) as screen:
        assert seen(screen, "Provider (e.g.", "{1}Provider") == [
            "{1}Provider (e.g. anthropic, openai,{0}",
            "{1}dashscope):{0}",
            "> {7} {0}",
            "{2}enter submit  escape skip{0}",
            "{2}shift+tab back  ctrl+c quit{0}",
            "",
        ]


def test_on_forty_columns_a_long_option_is_cut_and_says_so(home: ProfileHome) -> None:
    with terminal("create", "demo", "--scope", "global", columns=40) as screen:
        to_the_restriction(screen)
        assert seen(screen, "Exclude some", "{1}Tools:") == [
            "{1}Tools:{0}",
            "  Disable all tools",
            "{1}→ Allow only some tools (all others ar…{0}",
            "  Exclude some tools (all others are a…",
            "{2}↑↓ navigate  enter select  escape skip{0}",
            "{2}shift+tab back  ctrl+c quit{0}",
            "",
        ]


def test_on_forty_columns_every_answer_can_be_read(home: ProfileHome) -> None:
    with terminal("create", "demo", "--scope", "global", columns=40) as screen:
        to_the_tools(screen)
        screen.press("Tools to allow", "read, bash, grep", ENTER)
        screen.press("Configure extension", ENTER)
        screen.press("Configure skill", UP, ENTER)
        screen.press("Suggested skills", ESC)
        assert seen(screen, "Pre-loaded skills", "{2}Provider") == [
            "{2}Provider (e.g. anthropic, o…{0} (left out)",
            "{2}Model (supports provider/id…{0} (left out)",
            "{2}Set a custom system prompt?{0} Yes",
            "{2}cp opens: save and quit to go on. An emp{0}",
            "{2}ty text leaves the field out.{0}",
            "{2}System prompt:{0} Look well, and name the…",
            "{2}Append text to the default system p…{0} No",
            "{2}Set a thinking level?{0} No",
            "{2}Restrict which tools the subagent …{0} Yes",
            "{2}Tools:{0} Allow only some tools (all othe…",
            "{2}Tools to allow (comma…{0} read, bash, grep",
            "{2}Configure extension loading?{0} No",
            "{2}Configure skill loading for the su…{0} Yes",
            "{2}Suggested skills (comma-sep…{0} (left out)",
            "{1}Pre-loaded skills (comma-separated{0}",
            "{1}skill names, content injected into{0}",
            "{1}system prompt):{0}",
            "> {7} {0}",
            "{2}enter submit  escape skip{0}",
            "{2}shift+tab back  ctrl+c quit{0}",
            "",
        ]
