"""`/profile` inside pi: typed on a screen, and by a program that answers the dialogs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.main_pi import main_pi, rpc
from tests.fakes.private_tmux import needs_tmux

from pi_subagents.faces.cli.messages import NOTHING_CHANGED

if TYPE_CHECKING:
    from tests.e2e.conftest import Project
    from tests.e2e_pi.conftest import Stage
    from tests.fakes.main_pi import RpcPi

pytestmark = pytest.mark.pi

UNUSED = {"text": "unused"}
NO: dict[str, Any] = {"confirmed": False}
YES: dict[str, Any] = {"confirmed": True}
EMPTY: dict[str, Any] = {"value": ""}
QUESTIONS = ("select", "confirm", "input", "editor")


def asked(pi: RpcPi, line: str, answers: dict[str, dict[str, Any]]) -> list[str]:
    """Enter a command, answer its dialogs by title, else with no or nothing; tell what was said."""
    pi.send(type="prompt", message=line)
    said: list[str] = []
    while True:
        request = pi.wait_for(type="extension_ui_request")
        if request["method"] == "notify":
            return [*said, f"{request['notifyType']}: {request['message']}"]
        if request["method"] in QUESTIONS:
            title = str(request["title"]).split("\n")[0]
            said.append(f"{request['method']}: {title}")
            answer = answers.get(title, NO if request["method"] == "confirm" else EMPTY)
            pi.send(type="extension_ui_response", id=request["id"], **answer)


@needs_tmux
async def test_profiles_are_listed_and_their_names_completed(stage: Stage) -> None:
    with stage.screen(UNUSED) as pi:
        await pi.enter("/profile list")
        await pi.shows("Subagent profiles:", "profile: keyed")
        pi.screen.tmux("send-keys", "-t", "0", "-l", "/profile show k")
        await pi.shows("→ keyed")
        pi.press("Tab")
        await pi.shows("/profile show keyed")


@needs_tmux
async def test_a_profile_is_created_through_the_dialogs(stage: Stage) -> None:
    with stage.screen(UNUSED) as pi:
        await pi.enter("/profile create demo")
        for question in (
            "Save to which scope?",
            "Provider (e.g. anthropic, openai, dashscope):",
            "Model (supports provider/id and :thinking shorthand):",
        ):
            await pi.shows(question)
            pi.press("Enter")
        await pi.shows("Set a custom system prompt?")
        pi.press("Enter")
        await pi.shows("You are a helpful coding assistant.")
        pi.press("Enter")
        for question in (
            "Append text to the default system prompt?",
            "Set a thinking level?",
            "Restrict which tools the subagent can use?",
            "Configure extension loading?",
            "Configure skill loading for the subagent?",
        ):
            await pi.shows(question)
            pi.press("Down", "Enter")
        await pi.shows('Save profile "demo"?', "Save this profile?")
        pi.press("Enter")
        await pi.shows('Profile "demo" saved to global agent-profiles.')
    saved = stage.project.agent_dir / "agent-profiles" / "demo.md"
    assert saved.read_text() == "---\nname: demo\n---\n\nYou are a helpful coding assistant.\n"


@needs_tmux
async def test_enter_at_every_question_of_an_edit_changes_not_a_byte(stage: Stage) -> None:
    path = stage.project.agent_dir / "agent-profiles" / "odd.md"
    path.parent.mkdir(exist_ok=True)
    text = (
        "---\nname: odd # mine\nmodel: m\nappendSystemPrompt: |\n  One.\nexcludeTools: []\n"
        "loadSkills: a\n---\n\n\tHello,\tyou.  \n\n"
    )
    path.write_text(text)
    with stage.screen(UNUSED) as pi:
        await pi.enter("/profile edit odd")
        for question in (
            "Save to which scope?", "Provider (e.g.", "Model (supports",
            "Keep a custom system prompt?", "System prompt:", "Keep the text appended",
            "Append text:", "Set a thinking level?", "Restrict which tools", "→ Exclude some",
            "Tools to exclude", "Configure extension loading?", "Remove the skills",
            "Suggested skills", "Pre-loaded skills", "Save this profile?",
        ):  # fmt: skip
            await pi.shows(question)
            pi.press("Enter")
        await pi.shows(NOTHING_CHANGED)
    assert path.read_text() == text


def test_a_program_answers_the_dialogs(project: Project) -> None:
    with main_pi(project, UNUSED) as host, rpc(host) as pi:
        said = asked(
            pi,
            "/profile create quick",
            {
                "Save to which scope?": {"value": "Global (~/.pi/agent/agent-profiles/quick.md)"},
                "Model (supports provider/id and :thinking shorthand):": {"value": "acme/big"},
                "Thinking level?": YES,
                "Thinking level:": {"value": "low"},
                'Save profile "quick"?': YES,
            },
        )
        assert said[-1] == 'info: Profile "quick" saved to global agent-profiles.'
        assert 'confirm: Save profile "quick"?' in said
        (shown,) = asked(pi, "/profile show quick", {})
        assert shown.startswith(
            "info: Profile: quick\n  model:             acme/big\n  thinkingLevel:     low\n"
        )
        gone = asked(pi, "/profile rm quick", {"Delete profile?": YES})
        assert gone[0] == "confirm: Delete profile?"
        assert gone[1].startswith('info: Deleted the global profile "quick": ')
        (missing,) = asked(pi, "/profile show quick", {})
        assert missing.startswith('error: Profile "quick" not found.')


def test_without_a_terminal_it_says_so(project: Project) -> None:
    with main_pi(project, UNUSED) as host:
        done = host.ran("-p", "/profile create demo")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == (
        "/profile needs a terminal: start pi without -p, or use `subagents profile` in a shell.\n"
    )
