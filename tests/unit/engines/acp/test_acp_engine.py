"""The caller's side: how each agent is found, started and shaped by a profile."""

from __future__ import annotations

import fcntl
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pi_subagents.core.engine_values import AgentCommand
from pi_subagents.core.profile.permissions import Permissions
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.settings import Settings
from pi_subagents.engines.acp import messages
from pi_subagents.engines.acp.agent import Databases
from pi_subagents.engines.acp.agents.opencode import CONFIG
from pi_subagents.engines.acp.catalogue import NAMES, agent_of
from pi_subagents.engines.acp.engine import MAX_PROMPT, AcpEngine, engine_of
from pi_subagents.engines.acp.first_start import FOLDER, make_first_start
from pi_subagents.engines.acp.kept import kept_session
from pi_subagents.engines.acp.orders import AgentOrders, orders_text, read_orders
from pi_subagents.engines.base import CallPlace, ChildRequest
from pi_subagents.errors import AgentNotFound, ProfileRefused
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from pi_subagents.engines.base import ChildPlan


class Machine:
    """A machine with programs of some names on PATH."""

    def __init__(self, root: Path) -> None:
        self.bin, self.cwd = root / "bin", root / "project"
        self.bin.mkdir()
        self.cwd.mkdir()
        self.env = {"PATH": str(self.bin), "HOME": str(root)}
        self.agents: dict[str, AgentCommand] = {}

    def has(self, *programs: str, where: Path | None = None) -> Machine:
        for program in programs:
            path = (where or self.bin) / program
            path.write_text("#!/bin/sh\n")
            path.chmod(0o755)
        return self

    def open(self, agent: str) -> AcpEngine:
        place = CallPlace(self.cwd, self.env, Settings(), lambda _: False, agents=self.agents)
        return engine_of(agent).open(place)

    def plan(self, agent: str, **profile: Any) -> ChildPlan:
        return self.open(agent).plan_child(
            ChildRequest("run", str(self.cwd), trusted=False, profile=Profile("p", **profile))
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def orders_of(plan: ChildPlan) -> AgentOrders:
    return read_orders(plan.orders)


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_is_found_on_path_and_started_with_its_guards(machine: Machine, name: str) -> None:
    agent = agent_of(name)
    machine.has(agent.program, *agent.needs)
    plan = machine.plan(name)
    assert plan.order.argv == (str(machine.bin / agent.program), *agent.arguments)
    assert agent.environment.items() <= plan.order.environment.items()
    assert (plan.order.engine, plan.order.takes_commands) == (f"acp:{name}", True)
    assert plan.writes == tuple(str(machine.bin.parent / each) for each in agent.writes)


@pytest.mark.parametrize("name", NAMES)
def test_one_that_is_not_there_says_what_to_type(machine: Machine, name: str) -> None:
    agent = agent_of(name)
    with pytest.raises(AgentNotFound) as refused:
        machine.open(name)
    assert f"npm install -g {agent.package}" in str(refused.value)


def test_one_in_the_working_directory_is_not_used(machine: Machine) -> None:
    machine.env["PATH"] = str(machine.cwd)
    machine.has("opencode", where=machine.cwd)
    with pytest.raises(AgentNotFound, match=messages.INSIDE_CWD):
        machine.open("opencode")


def test_a_program_that_an_agent_needs_is_missed_by_its_name(machine: Machine) -> None:
    with pytest.raises(AgentNotFound, match="pi is not on PATH"):
        machine.has("pi-acp").open("pi-acp")


def test_the_document_names_what_is_set_for_each_agent_and_what_it_writes() -> None:
    rows = (Path(__file__).parents[4] / "docs" / "engines.md").read_text("utf-8").splitlines()
    for number, name in enumerate(NAMES, 2):
        agent = agent_of(name)
        set_by_us, written = (
            next(row for row in rows if row.startswith(f"| {beginning}")).split("|")[number]
            for beginning in ("set by us", "writes at home")
        )
        assert re.findall(r"`(\w+)`", set_by_us) == list(agent.environment)
        assert all(Path(each).parts[0] in written for each in agent.writes)


def test_a_guard_that_the_user_has_set_stays_as_it_is(machine: Machine) -> None:
    machine.env["OPENCODE_DISABLE_AUTOUPDATE"] = "0"
    added = machine.has("opencode").plan("opencode").order.environment
    assert "OPENCODE_DISABLE_AUTOUPDATE" not in added


def test_claude_code_does_not_know_that_its_parent_is_one_too(machine: Machine) -> None:
    machine.env["CLAUDECODE"] = "1"
    argv = machine.has("claude-agent-acp").plan("claude").order.argv
    assert argv[:2] == ("/usr/bin/env", "-uCLAUDECODE")


def test_what_opencode_is_configured_with_stays_but_for_what_a_profile_says(
    machine: Machine,
) -> None:
    given = {"model": "a/b", "permission": {"edit": "allow", "webfetch": "deny"}}
    machine.env[CONFIG] = json.dumps(given)
    plan = machine.has("opencode").plan(
        "opencode",
        system_prompt="Be brief.",
        exclude_tools=("webfetch",),
        permissions=Permissions(edit="deny", execute="ask"),
    )
    assert json.loads(plan.order.environment[CONFIG]) == {
        "model": "a/b",
        "permission": {"edit": "ask", "bash": "ask", "webfetch": "deny"},
        "agent": {
            "subagent": {
                "mode": "primary",
                "prompt": "Be brief.",
                "tools": {"webfetch": False},
            }
        },
        "default_agent": "subagent",
    }
    assert orders_of(plan).permissions == Permissions(edit="deny", execute="ask")


@pytest.mark.parametrize("given", ["", "{", "[]", "null"])
def test_a_configuration_that_cannot_be_read_is_replaced(machine: Machine, given: str) -> None:
    machine.env[CONFIG] = given
    plan = machine.has("opencode").plan("opencode", permissions=Permissions(edit="ask"))
    assert json.loads(plan.order.environment[CONFIG]) == {"permission": {"edit": "ask"}}


def test_prompts_and_tools_reach_the_others_as_their_rows_say(machine: Machine) -> None:
    machine.has("codex-acp", "claude-agent-acp", "qwen")
    appended = {"mode": "append", "content": [{"type": "text", "text": "Be brief."}]}
    codex = machine.plan(
        "codex", append_system_prompt="Be brief.", permissions=Permissions(edit="deny")
    )
    assert orders_of(codex).session == {"systemPrompt": appended}
    assert orders_of(codex).mode == "read-only"
    claude = orders_of(machine.plan("claude", append_system_prompt="Be brief.", tools=("Read",)))
    tools = {"claudeCode": {"options": {"tools": ["Read"]}}}
    assert claude.session == {"systemPrompt": appended, "_meta": tools}
    assert orders_of(machine.plan("claude", no_tools=True)).session == {
        "_meta": {"claudeCode": {"options": {"tools": []}}}
    }
    qwen = machine.plan("qwen", exclude_tools=("edit", "write_file"), extra_args=("--debug",))
    assert qwen.order.argv[2:] == ("--exclude-tools", "edit,write_file", "--debug")


def test_a_prompt_that_is_too_long_for_a_variable_is_refused(machine: Machine) -> None:
    profile = Profile("p", system_prompt="x" * (MAX_PROMPT + 1))
    with pytest.raises(ProfileRefused, match='"systemPrompt" is longer than 96 KiB'):
        machine.has("opencode").open("opencode").prepare_profile(profile, (), trusted=False)


def test_an_agent_of_the_users_own_has_its_command_and_the_ways_of_another(
    machine: Machine,
) -> None:
    program = str(machine.has("x").bin / "x")
    command = AgentCommand((program, "--acp"), "codex", {"TOKEN": "t"})
    machine.agents = {"mine": command, "qwen": AgentCommand((program,))}
    mine = machine.open("mine")
    assert (mine.name, mine.capabilities.steering) == ("acp:mine", True)
    plan = machine.plan("mine")
    assert plan.order.argv == (program, "--acp")
    assert (plan.order.mode, plan.order.environment["TOKEN"]) == ("codex", "t")
    assert "TOKEN" in orders_of(plan).variables
    assert machine.plan("qwen").order.argv == (program,)
    machine.agents = {"mine": AgentCommand((f"{program}-not",))}
    with pytest.raises(AgentNotFound):
        machine.open("mine")


def test_a_session_goes_on_with_its_agent_in_its_directory_only(machine: Machine) -> None:
    codex, here = machine.has("codex-acp").open("codex"), str(machine.cwd)
    kept = kept_session("codex", "s-1", here)
    assert codex.continue_session(kept, here).content == kept
    with pytest.raises(ValueError, match=messages.session_elsewhere(here)):
        codex.continue_session(kept, str(machine.bin))
    with pytest.raises(ValueError, match=messages.session_of_other_agent("qwen")):
        codex.continue_session(kept_session("qwen", "s-1", here), here)
    for damaged in (b"", b"{}", b'{"v": 2}', b"\xff"):
        with pytest.raises(ValueError, match=messages.SESSION_UNREADABLE):
            codex.continue_session(damaged, here)
    request = ChildRequest("r", here, trusted=False, profile=Profile("p"), session=kept)
    assert orders_of(codex.plan_child(request)).resume == "s-1"


def test_orders_come_back_as_they_were_or_not_at_all() -> None:
    orders = AgentOrders(
        "/w", "m", "high", "default", "s", {"a": 1}, ({"name": "x"},), Permissions(edit="ask"), ("t",), ("K",)
    )  # fmt: skip
    assert read_orders(orders_text(orders)) == orders
    assert read_orders("") == AgentOrders()
    for text in ("[]", "{", '{"cwd": 1}', '{"permissions": {"edit": "maybe"}}', '{"servers": [1]}'):
        with pytest.raises(ValueError):
            read_orders(text)


def test_the_first_start_in_a_home_is_made_once_and_waited_for(tmp_path: Path) -> None:
    databases = Databases("X_HOME", ".x", "state_*.sqlite")
    env = {"HOME": str(tmp_path)}
    started: list[str] = []

    def start() -> None:
        (lock,) = (data_dir(env) / FOLDER).iterdir()
        with lock.open() as file, pytest.raises(BlockingIOError):  # for whoever comes meanwhile
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        started.append("first")

    make_first_start("x", databases, env, start)
    make_first_start("x", databases, env, lambda: started.append("again"))
    assert started == ["first"]  # though it made no database that we know
    env["X_HOME"] = str(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "state_7.sqlite").touch()
    make_first_start("x", databases, env, lambda: started.append("there"))
    assert started == ["first"]


def test_looking_at_a_call_starts_no_agent(machine: Machine) -> None:
    place = CallPlace(machine.cwd, machine.env, Settings(), lambda _: False)
    script = machine.bin / "codex-acp"
    script.write_text(f"#!/bin/sh\necho started > {machine.bin.parent / 'started'}\n")
    script.chmod(0o755)
    request = ChildRequest("run", str(machine.cwd), trusted=False, profile=Profile("p"))
    engine_of("codex").preview(place).plan_child(request)
    assert not (machine.bin.parent / "started").exists()
    engine_of("codex").open(place).plan_child(request)
    assert (machine.bin.parent / "started").exists()
