"""Print, JSON and RPC mode: what the main model sees, what the stream costs, which core serves."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.main_pi import CHILDREN, MAIN, call, delegate, main_pi, rpc
from tests.fakes.processes import children_of, command_lines
from tests.fakes.samples import first_as_sample

from pi_subagents.faces.bridge.messages import SHIM_WORDS
from pi_subagents.hosts.pi.extension import extension_dir

if TYPE_CHECKING:
    from tests.e2e.conftest import Project
    from tests.fakes.main_pi import MainPi, RpcPi

pytestmark = pytest.mark.pi

NEEDS_MODELS = ["subagent", "background_agent", "background_agent_status", "background_agent_stop"]
PAGE_KB = 64
FAKES = Path(__file__).parents[1] / "fakes"
SPY, FAILING = FAKES / "spy_extension.ts", FAKES / "failing_entries_extension.ts"


def cores_of(pi: RpcPi) -> list[int]:
    lines = command_lines()
    return [pid for pid in children_of(pi.process.pid) if b"\0bridge\0" in lines[pid]]


def prompted(pi: RpcPi, text: str) -> None:
    pi.send(type="prompt", message=text)
    pi.wait_for(type="agent_settled")


def commanded(pi: RpcPi, **command: object) -> dict[str, Any]:
    pi.send(**command)
    return pi.wait_for(type="response", command=command["type"])


@pytest.mark.parametrize("number", first_as_sample([1, 16]))
def test_the_main_model_sees_every_result_in_order(project: Project, number: int) -> None:
    names = [f"task-{index}" for index in range(number)]
    with main_pi(project, delegate(*names), {"text": "all done"}) as pi:
        done = pi.ran("-p", "please delegate")
        (seen,) = pi.tool_results()
    assert (done.returncode, done.stdout, done.stderr) == (0, "all done\n", "")
    lines, *answers = seen.splitlines()[:number], *seen.splitlines()[number:]
    assert [line.split(" (session: ")[0] for line in lines] == [
        f"✓ {name}: completed" for name in names
    ]
    said = [line for line in answers if line.startswith("the prompt of ")]
    assert said == [f"the prompt of {name}" for name in names]


def test_the_stream_does_not_grow_with_what_sub_agents_say(project: Project) -> None:
    def size(kilobytes: int) -> int:
        answer = {"text": "done", "fillKB": kilobytes, "repeat": True}
        names = [f"task-{index}" for index in range(16)]
        with main_pi(project, delegate(*names), {"text": "all done"}, children=[answer]) as pi:
            done = pi.ran("--mode", "json", "-p", "please delegate")
            assert done.returncode == 0
            return len(done.stdout)

    small, large = size(PAGE_KB), size(1024)
    # What is kept of windows and outputs is bounded, whatever the children say.
    assert large < small + 512 * 1024


def test_system_b_follows_the_models_there_are(project: Project) -> None:
    with main_pi(project, {"text": "hello", "repeat": True}) as host:
        (project.agent_dir / "models.json").unlink()
        host.main_model = ()
        with rpc(host, "-e", str(SPY)) as pi:
            assert not set(NEEDS_MODELS) & set(spied(pi)["active"])
            assert "delegate_to_subagents" in spied(pi)["active"]
            with_models(pi, host, "one", "two")
            known = spied(pi)
            assert set(NEEDS_MODELS) <= set(known["active"])
            assert known["models"] == ["late/one", "late/two"]
            with_models(pi, host, "two", "one")
            assert spied(pi) == {**known, "isSameDefinition": True}
            with_models(pi, host, "two")
            assert spied(pi) == {**known, "models": ["late/two"]}


def spied(pi: RpcPi) -> dict[str, Any]:
    pi.send(type="prompt", message="/spy")
    heard: dict[str, Any] = json.loads(pi.wait_for(method="notify")["message"])
    return heard


def with_models(pi: RpcPi, host: MainPi, *ids: str) -> None:
    """Give pi these models, and let it begin a turn: only then it may look."""
    pi.send(type="prompt", message=f"/spy-models {host.model.url_for(MAIN)} {' '.join(ids)}")
    pi.wait_for(method="notify", message="registered")
    commanded(pi, type="set_model", provider="late", modelId=ids[0])
    prompted(pi, "who are you")


def test_what_is_left_out_counts_from_pis_own_tools_and_those_that_are_active(
    project: Project,
) -> None:
    profile = project.agent_dir / "agent-profiles" / "careful.md"
    profile.write_text("---\nname: careful\nexcludeTools: bash\n---\n")
    with main_pi(project, delegate("one", profile="careful"), {"text": "done"}) as host:
        host.ran("-p", "please delegate")
        offered = host.model.requests(CHILDREN)[0]["tools"]
    # pi has grep, find and ls too, though they are not active.
    names = {tool["function"]["name"] for tool in offered}
    assert names == {"read", "edit", "write", "grep", "find", "ls"}


def test_a_new_session_keeps_the_core_and_forgets_the_view(project: Project) -> None:
    with main_pi(project, delegate("one"), {"text": "done"}) as host, rpc(host) as pi:
        prompted(pi, "please delegate")
        (core,) = cores_of(pi)
        commanded(pi, type="new_session")
        assert cores_of(pi) == [core]
        session_id = session_of(host)
    look = call("get_subagent_output", sessionId=session_id)
    with main_pi(project, look, {"text": "seen"}) as host, rpc(host) as pi:
        prompted(pi, "please look")
        assert host.tool_results()[-1] == "the prompt of one"  # from disk


def session_of(host: MainPi) -> str:
    return host.tool_results()[0].split("session: ")[1].split(")")[0]


def test_every_task_leaves_one_entry_however_often_a_session_starts(project: Project) -> None:
    with main_pi(project, delegate("one", "two"), {"text": "done"}) as host, rpc(host) as pi:
        prompted(pi, "please delegate")
        path = commanded(pi, type="get_state")["data"]["sessionFile"]
        commanded(pi, type="new_session")
        commanded(pi, type="switch_session", sessionPath=path)
    entries = [json.loads(line) for line in Path(path).read_text().splitlines()]
    kinds = [entry.get("customType") for entry in entries if entry["type"] == "custom"]
    assert kinds == ["pi-subagents", "pi-subagents"]


def test_an_entry_that_cannot_be_written_harms_nothing(project: Project) -> None:
    with main_pi(project, delegate("one"), {"text": "done"}) as host:
        host.loading = ("-e", str(FAILING))
        host.env["PI_SUBAGENTS_SHIM"] = str(extension_dir())
        with rpc(host) as pi:
            pi.send(type="prompt", message="please delegate")
            warned = pi.wait_for(method="notify")
            # On a busy machine the warning may come after the end of the turn.
            if all(record["type"] != "agent_settled" for record in pi.seen):
                pi.wait_for(type="agent_settled")
        assert host.tool_results()[0].startswith("✓ one: completed")
    assert (warned["notifyType"], warned["message"]) == (
        "warning",
        "A sub-agent's session could not be saved in this conversation: Error: the disk is full",
    )


def test_escape_ends_a_call_also_if_the_core_never_answers(project: Project) -> None:
    with main_pi(project, delegate("one"), {"text": "a pity"}) as host:
        host.env["PI_SUBAGENTS_CORE"] = f"{sys.executable} {FAKES / 'deaf_core.py'}"
        with rpc(host) as pi:
            pi.send(type="prompt", message="please delegate")
            pi.wait_for(type="tool_execution_start")
            pi.send(type="abort")
            ended = pi.wait_for(type="tool_execution_end")
    (heard,) = ended["result"]["content"]
    assert (ended["isError"], heard["text"]) == (True, SHIM_WORDS["unanswered"].replace("{}", "8"))


def test_a_core_that_never_answers_keeps_nobody_from_another_session(project: Project) -> None:
    with main_pi(project, {"text": "unused"}) as host:
        host.env["PI_SUBAGENTS_CORE"] = f"{sys.executable} {FAKES / 'deaf_core.py'}"
        with rpc(host) as pi:
            assert commanded(pi, type="new_session")["success"]


def test_prompt_templates_come_along(project: Project) -> None:
    with main_pi(project, {"text": "unused"}) as host, rpc(host) as pi:
        commands = commanded(pi, type="get_commands")["data"]["commands"]
    ours = {each["name"] for each in commands if each["source"] == "prompt"}
    assert ours == {"inspect-and-plan", "implement-and-review", "parallel-review"}
