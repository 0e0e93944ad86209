"""Children that start while their call is being written: in RPC mode and on a screen, and Escape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.forked import supervisors_of
from tests.fakes.main_pi import call, delegate, main_pi, rpc
from tests.fakes.private_tmux import needs_tmux
from tests.fakes.processes import children_of, command_lines

if TYPE_CHECKING:
    from tests.e2e.conftest import Project
    from tests.e2e_pi.conftest import Stage
from tests.fakes.main_pi import RpcPi

pytestmark = pytest.mark.pi

# Half a minute, of which nobody waits for the end: the second task stands in the first piece.
NEVER_FINISHED: dict[str, Any] = {**delegate("one", "two" * 2000), "chunkDelayMs": 500}
# The core answers it after everything that it was told before.
BARRIER = call("list_subagent_profiles")


def core_of(pi: RpcPi) -> int:
    lines = command_lines()
    (core,) = [pid for pid in children_of(pi.process.pid) if b"\0bridge\0" in lines[pid]]
    return core


@pytest.mark.parametrize(
    ("pieces", "children"), [(1, 1), (3, 2)], ids=["the call is named", "two tasks have begun"]
)
def test_children_are_up_before_there_is_a_call(
    project: Project, pieces: int, children: int
) -> None:
    with main_pi(project, NEVER_FINISHED, BARRIER, {"text": "well"}) as host, rpc(host) as pi:
        pi.send(type="prompt", message="please delegate")
        for _ in range(pieces):  # the first is the start of the call
            pi.wait_for(type="message_update")
        pi.send(type="abort")
        pi.wait_for(type="agent_settled")
        pi.send(type="prompt", message="which profiles are there?")
        assert pi.wait_for(type="tool_execution_start")["toolName"] == "list_subagent_profiles"
        pi.wait_for(type="agent_settled")
        assert len(supervisors_of(core_of(pi))) == children


@needs_tmux
async def test_a_child_is_up_when_escape_ends_the_writing(stage: Stage) -> None:
    with stage.screen(NEVER_FINISHED, BARRIER, {"text": "well then"}) as pi:
        await pi.enter("please delegate")
        await pi.shows("delegate_to_subagents 2 sub-agents")
        pi.press("Escape")
        await pi.shows("aborted")
        await pi.enter("which profiles are there?")
        await pi.shows("well then")
        assert len(supervisors_of(pi.core_pid())) == 2
    assert stage.driver.children == []
