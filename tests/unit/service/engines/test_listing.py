"""What is listed of engines: what is there, what each can do, and what came of starting them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fakes.fake_node import write_script

from pi_subagents.core.engine_values import EngineReport
from pi_subagents.core.profile.profile import FIELDS, OWN_FIELDS
from pi_subagents.engines.acp import messages
from pi_subagents.service.engines.listing import engines_to_json, known_agents, list_engines
from pi_subagents.system.home import CheckedPlace

if TYPE_CHECKING:
    from pi_subagents.service.call import Options

STUB = Path(__file__).parents[3] / "fakes" / "acp_agent_stub.py"
OF_AGENTS = ["opencode", "codex", "claude", "gemini", "qwen", "pi-acp"]


def place(root: Path, **engines: dict[str, Any]) -> Options:
    """Return where somebody has set up agents of their own."""
    agent_dir = root / "home" / ".pi" / "agent"
    agent_dir.mkdir(parents=True)
    (agent_dir / "settings.json").write_text(json.dumps({"subagents": {"engines": engines}}))
    (root / "bin").mkdir()
    env = {"HOME": str(root / "home"), "PATH": str(root / "bin")}
    return {"cwd": root, "env": env, "trust_project": False}


def stub(*manner: str, **more: Any) -> dict[str, Any]:
    return {"command": [sys.executable, str(STUB), *manner], **more}


def test_every_engine_is_listed_and_an_absent_one_says_how_to_get_it(tmp_path: Path) -> None:
    listed = list_engines(place(tmp_path))
    assert [each.report.name for each in listed] == ["pi", *(f"acp:{name}" for name in OF_AGENTS)]
    codex = listed[2]
    package = "@agentclientprotocol/codex-acp"
    assert codex.report == EngineReport(
        "acp:codex",
        "Codex",
        login="codex login",
        problem=f"codex-acp {messages.NOT_ON_PATH}",
        fix=messages.how_to_install(package),
    )
    fields = {"model", "thinking_level", "append_system_prompt", "isolation", "budget"}
    fields |= {"questions", "permissions", "extra_args", *OWN_FIELDS}
    honoured = [name for name, field in FIELDS.items() if field in fields]
    shown = engines_to_json(listed)["engines"]
    assert isinstance(shown, list)
    assert shown[2]["can"] == {
        "profileFields": honoured,
        "permissions": ["edit"],
        "steering": True,
        "questions": True,
        "schemaTool": True,
        "nativeResume": True,
        "usage": "turn",
    }


def test_what_is_found_has_the_version_of_its_package_and_a_login_by_its_file(
    tmp_path: Path,
) -> None:
    options = place(tmp_path)
    package = tmp_path / "node_modules" / "codex-acp"
    write_script(package / "dist" / "index.js", "#!/bin/sh\n")
    (package / "package.json").write_text('{"version": "2.6.0"}')
    (tmp_path / "bin" / "codex-acp").symlink_to(package / "dist" / "index.js")
    here: Options = {**options, "cwd": tmp_path / "home"}
    (report,) = [each.report for each in list_engines(here) if each.report.program]
    program = str(tmp_path / "bin" / "codex-acp")
    assert (report.program, report.version, report.logged_in) == (program, "2.6.0", None)
    (tmp_path / "home" / ".codex").mkdir()
    (tmp_path / "home" / ".codex" / "auth.json").touch()
    agents = known_agents(CheckedPlace(tmp_path / "home", options["env"]))
    (agent,) = [each for each in agents if each.program]
    assert (agent.name, agent.logged_in) == ("acp:codex", True)


def test_agents_of_the_users_own_are_started_and_say_who_they_are(tmp_path: Path) -> None:
    options = place(
        tmp_path,
        good=stub(),
        talks=stub("chatters", like="qwen", env={"OPENAI_API_KEY": "x"}),
        ends=stub("ends"),
        other=stub("other-version"),
        refuses=stub("refuses"),
        paints=stub("paints"),
        nests=stub("nests"),
        gone={"command": ["/nowhere/agent"]},
        near={"command": ["./agent"]},
        likes=stub(like="nobody"),
    )
    reports = {each.report.name: each.report for each in list_engines(options, start=True)}
    found = {
        name.removeprefix("acp:"): (report.version, report.starts, report.problem)
        for name, report in reports.items()
        if name.removeprefix("acp:") not in ("pi", *OF_AGENTS)
    }
    assert found == {
        "good": ("7.1", True, ""),
        "talks": ("7.1", True, ""),
        "ends": ("", False, messages.did_not_start(3, "no licence")),
        "other": ("7.1", False, messages.other_protocol(2)),
        "refuses": ("", False, "not today"),
        "paints": (f"7.1 {'1' * 55}…", True, ""),
        "nests": ("7.1", False, messages.other_protocol([])),
        "gone": ("", None, f"/nowhere/agent {messages.NOT_RUNNABLE}"),
        "near": ("", None, f"./agent {messages.NOT_RUNNABLE}"),
        "likes": ("", None, f'"like": "nobody" {messages.UNKNOWN_LIKE}'),
    }
    assert (reports["acp:good"].logged_in, reports["acp:talks"].logged_in) == (None, True)
