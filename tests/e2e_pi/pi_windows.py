"""Windows in the conversation, as a person sees them: running, expanded, failed, stopped, over."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.fakes.main_pi import call, delegate
from tests.fakes.private_tmux import needs_tmux

if TYPE_CHECKING:
    from tests.e2e_pi.conftest import Stage

pytestmark = [pytest.mark.pi, needs_tmux]

RUNNING = """\
delegate_to_subagents 3 sub-agents
Sub-agents: 1 running, 1 done, 1 error

✓ quick • Ns/600s • 4 tokens
→ bash → ls
Two files here.
Both are tiny.

⏳ busy • Ns/600s • 4 tokens
→ ls → . → 2 files
→ edit → a.txt (1 edit) +1/-1

✗ failing • Ns/600s
[stderr]: cannot go on
Error: Sub-agent exited with code 3 without an answer: cannot go on
Look for the cause: subagents doctor.

1 running..."""

OVER = """\
delegate_to_subagents 1 sub-agent
Sub-agents: 1 done

✓ busy • Ns/600s • 2 tokens
Finding 6
Finding 7
Finding 8
Finding 9
Finding 10
Finding 11
Finding 12
Finding 13
Finding 14
Finding 15
Finding 16
Finding 17
Finding 18
Finding 19
Finding 20

Session IDs (use with get_subagent_output):
busy: SESSION"""

TWENTY = "\n".join(f"Finding {number}" for number in range(1, 21))


def golden(lines: list[str]) -> str:
    """Leave out what differs from run to run."""
    text = re.sub(r"\b\d+s/", "Ns/", "\n".join(lines))
    return re.sub(r"\b[0-9a-f]{16}\b", "SESSION", text)


async def test_windows_tell_how_each_sub_agent_stands(stage: Stage) -> None:
    with stage.screen(delegate("quick", "busy", "failing"), {"text": "all reported"}) as pi:
        await pi.enter("please delegate")
        quick, busy, failing = [
            await stage.driver.child(f"the prompt of {name}")
            for name in ("quick", "busy", "failing")
        ]
        await pi.shows("Sub-agents: 3 running", "(starting...)", "3 running...")
        await quick.tool("bash", {"command": "ls"})
        await quick.answer_and_exit("Two files here.\nBoth are tiny.")
        await busy.tool("ls", {"path": "."}, result="a.txt\nb.txt")
        await busy.tool("edit", {"path": "a.txt", "edits": [{"oldText": "a", "newText": "b"}]})
        await failing.stderr("cannot go on\n")
        await failing.exit(3)
        await pi.shows("1 running, 1 done, 1 error", "4 tokens", "+1/-1")
        assert golden(pi.screen.block("delegate_to_subagents")) == RUNNING
        await busy.answer_and_exit("done")
        await pi.shows("all reported", "Sub-agents: 2 done, 1 error")


async def test_ctrl_o_shows_the_whole_history_while_running_and_afterwards(stage: Stage) -> None:
    with stage.screen(delegate("busy"), {"text": "all reported"}) as pi:
        await pi.enter("please delegate")
        busy = await stage.driver.child("the prompt of busy")
        await busy.say(TWENTY)
        collapsed = await pi.shows("Finding 20")
        assert "Finding 5\n" not in collapsed
        pi.press("C-o")
        await pi.shows("Finding 1\n", "Finding 5\n", "Finding 20")
        pi.press("C-o")
        await pi.shows_no("Finding 5\n")
        await busy.settle()
        await busy.exit(0)
        await pi.shows("all reported")
        assert golden(pi.screen.block("delegate_to_subagents")) == OVER
        pi.press("C-o")
        await pi.shows("Finding 1\n", "Finding 5\n")


async def test_queued_tasks_are_seen_with_their_place(stage: Stage) -> None:
    names = ("one", "two", "three", "four", "five", "six")
    with stage.screen(delegate(*names), {"text": "all reported"}) as pi:
        await pi.enter("please delegate")
        await pi.shows("Sub-agents: 4 running, 2 queued", "six • queued, place 2")
        await (await stage.driver.next_child(0)).answer_and_exit("done")
        await pi.shows("4 running, 1 queued, 1 done", "six • queued, place 1")
        for index in range(1, 6):
            await (await stage.driver.next_child(index)).answer_and_exit("done")
        await pi.shows("all reported", "Sub-agents: 6 done")


async def test_the_clock_ticks_without_any_news(stage: Stage) -> None:
    with stage.screen(delegate("silent"), {"text": "all reported"}) as pi:
        await pi.enter("please delegate")
        silent = await stage.driver.child("the prompt of silent")
        await pi.shows("silent • 2s/600s")
        await silent.answer_and_exit("done")
        await pi.shows("all reported")


@pytest.mark.sample
async def test_escape_stops_every_child_and_keeps_what_they_said(stage: Stage) -> None:
    with stage.screen(delegate("one", "two")) as pi:
        await pi.enter("please delegate")
        one = await stage.driver.child("the prompt of one")
        two = await stage.driver.child("the prompt of two")
        await one.say("half way", stop_reason="toolUse")
        await pi.shows("half way")
        pi.press("Escape")
        await one.gone()
        await two.gone()
        await pi.shows("Sub-agents: 2 stopped", "half way", "Session IDs")


async def test_the_list_of_profiles_is_shown_whole(stage: Stage) -> None:
    for number in range(20):
        path = stage.project.agent_dir / "agent-profiles" / f"p{number}.md"
        path.write_text(f"---\nname: p{number}\n---\n")
    turns = (call("list_subagent_profiles"), delegate("busy"), {"text": "all reported"})
    with stage.screen(*turns) as pi:
        await pi.enter("please look")
        await (await stage.driver.child("the prompt of busy")).answer_and_exit("done")
        await pi.shows("all reported", "profile: p0", "profile: p9")


async def test_a_conversation_that_goes_on_shows_its_windows_and_finds_its_sessions(
    stage: Stage,
) -> None:
    with stage.screen(delegate("busy"), {"text": "all reported"}) as pi:
        await pi.enter("please delegate")
        await (await stage.driver.child("the prompt of busy")).answer_and_exit(TWENTY)
        shown = await pi.shows("all reported")
        before = pi.screen.block("delegate_to_subagents")
        pi.press("C-d")
        await pi.shows("To resume this session")
    (session_id,) = re.findall(r"busy: ([0-9a-f]{16})", shown)
    look = call("get_subagent_output", sessionId=session_id)
    with stage.screen(look, {"text": "seen"}, arguments=("--continue",)) as pi:
        await pi.shows("all reported")
        assert pi.screen.block("delegate_to_subagents") == before
        await pi.enter("please look")
        await pi.shows("seen", "Finding 15", "... (5 more lines)")
        assert pi.host.tool_results()[-1] == TWENTY
