"""The extension in the real pi: what the main model sees. More of it: `make e2e-pi`."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Project
from tests.e2e.pi_under_test import TRAITS
from tests.fakes.fake_node import write_script
from tests.fakes.main_pi import CHILDREN, MAIN, MainPi, call, delegate, main_pi, rpc

from pi_subagents.engines.pi import messages as pi_messages
from pi_subagents.hosts.pi.extension import extension_dir
from pi_subagents.service.tools.registry import TOOLS

pytestmark = pytest.mark.pi

FAKES = Path(__file__).parents[1] / "fakes"
HOSTILE, NOTING = FAKES / "hostile_renderers.ts", FAKES / "noting_core.py"
COMPILED = FAKES / "compiled_host_extension.ts"
SWITCHING, SWITCHING_CORE = FAKES / "switching_extension.ts", FAKES / "switching_core.py"


def ours(names: object) -> list[str]:
    assert isinstance(names, dict)
    return [name for name in names if name in TOOLS]


def test_the_main_model_sees_what_four_sub_agents_came_to(project: Project) -> None:
    names = ["one", "two", "three", "four"]
    with main_pi(project, delegate(*names), {"text": "all done"}) as pi:
        records = pi.records("please delegate")
        (seen,) = pi.tool_results()
        assert ours(pi.offered_tools()) == list(TOOLS)
    lines, _, answers = seen.partition("\nLines that begin with ")
    assert [line.split(" (session: ")[0] for line in lines.splitlines()] == [
        f"✓ {name}: completed" for name in names
    ]
    mark = answers.split(" ")[0]
    said = [line for line in answers.splitlines()[2:] if not line.startswith(mark)]
    assert "".join(f"{line}\n" for line in said).split("\n\n") == [
        *(f"the prompt of {name}" for name in names[:-1]),
        f"the prompt of {names[-1]}\n",
    ]
    (ended,) = [each for each in records if each["type"] == "tool_execution_end"]
    assert ended["isError"] is False
    results = ended["result"]["details"]["results"]
    assert [each["output"] for each in results] == [f"the prompt of {name}" for name in names]
    spent = ended["result"]["usage"]
    assert spent["totalTokens"] == sum(each["usage"]["totalTokens"] for each in results) > 0
    assert spent["cost"]["total"] > 0


def test_a_read_only_worker_inside_pi_can_read_and_search(project: Project) -> None:
    profiles = project.agent_dir / "agent-profiles"
    profiles.mkdir(exist_ok=True)
    text = "---\nname: read-only-worker\nexcludeTools: write,edit,bash\n---\n"
    (profiles / "read-only-worker.md").write_text(text)
    turns = (delegate("look", profile="read-only-worker"), {"text": "all done"})
    with main_pi(project, *turns) as pi:
        pi.records("please delegate")
        (asked,) = pi.model.requests(CHILDREN)
    offered = sorted(tool["function"]["name"] for tool in asked["tools"])
    assert offered == ["find", "grep", "ls", "read"]


WORKING = [
    {"text": "I look.", "toolCalls": [{"name": "bash", "arguments": {"command": "echo hello"}}]},
    {"text": "All is well."},
]


def updates_of(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each["partialResult"] for each in records if each["type"] == "tool_execution_update"]


def texts_of(updates: list[dict[str, Any]]) -> list[str]:
    return [update["content"][0]["text"] for update in updates]


def streamed(pi: MainPi, mode: str, prompt: str) -> list[dict[str, Any]]:
    """Return what a client of pi's stream gets of one turn."""
    if mode == "json":
        return pi.records(prompt)
    with rpc(pi) as client:
        client.send(type="prompt", message=prompt)
        client.wait_for(type="agent_settled")
        return client.seen


of_every_stream = pytest.mark.parametrize("mode", ["json", "rpc"])


@of_every_stream
def test_a_client_of_pis_stream_sees_the_windows_at_work(project: Project, mode: str) -> None:
    with main_pi(project, delegate("one"), {"text": "done"}, children=WORKING) as pi:
        updates = updates_of(streamed(pi, mode, "please delegate"))
    last = texts_of(updates)[-1]
    assert re.match(r"Sub-agents: 1 done\n\n✓ one • \d+s/600s • .* tokens .*\n", last)
    assert last.endswith("  I look.\n  → bash → echo hello\n  All is well.")
    (window,) = updates[-1]["details"]["windows"]
    assert window["lines"] == [
        {"text": "I look.", "kind": "text"},
        {"text": "bash → echo hello", "kind": "tool"},
        {"text": "All is well.", "kind": "text"},
    ]
    (session_id,) = updates[-1]["details"]["sessionIds"]
    assert {each["details"]["sessionIds"][0] for each in updates} == {session_id}


@of_every_stream
def test_a_client_of_pis_stream_reads_what_a_preset_does(project: Project, mode: str) -> None:
    write_scout(project)
    asked = call("subagent", preset="scout", task="the prompt of a scout")
    with main_pi(project, asked, {"text": "done"}, children=WORKING) as pi:
        updates = updates_of(streamed(pi, mode, "please look"))
    assert texts_of(updates) == [
        "I look.", "echo hello", "Command finished: echo hello", "All is well.",
    ]  # fmt: skip


def write_scout(project: Project) -> None:
    """Give the user a preset whose model is the children's."""
    path = project.agent_dir / "subagents" / "scout.md"
    path.parent.mkdir()
    model = f"model: {CHILDREN}/{CHILDREN}"
    path.write_text(f"---\nname: scout\ndescription: Looks around\n{model}\n---\nLook.\n")


def test_a_refused_call_is_an_error_for_the_model(project: Project) -> None:
    refused = call("get_subagent_output", sessionId="0123456789abcdef")
    with main_pi(project, refused, {"text": "a pity"}) as pi:
        records = pi.records("please look")
    (ended,) = [each for each in records if each["type"] == "tool_execution_end"]
    assert (ended["isError"], ended["result"]["content"][0]["text"]) == (
        True,
        'Session "0123456789abcdef" not found. The session may have expired or the ID is incorrect.',
    )


def choose_no_pi(pi: MainPi, project: Project) -> Path:
    """Leave it to the host; on PATH is a pi that only notes that it was taken."""
    del pi.env["PI_SUBAGENTS_PI"]
    taken = project.path.parent / "taken"
    other = write_script(project.path.parent / "bin" / "pi", f'#!/bin/sh\n: > "{taken}"\n')
    pi.env["PATH"] = f"{other.parent}:{pi.env['PATH']}"
    return taken


def pis_of_runs(project: Project) -> list[str]:
    return [
        json.loads(path.read_text())["pi"]["source"] for path in project.path.rglob("meta.json")
    ]


def test_children_run_on_the_hosts_own_pi_whatever_is_on_path(project: Project) -> None:
    with main_pi(project, delegate("one"), {"text": "done"}) as pi:
        taken = choose_no_pi(pi, project)
        pi.ran("-p", "please delegate")
        assert pi.tool_results()[0].startswith("✓ one: completed")
        (asked,) = pi.model.requests(CHILDREN)
    assert (pis_of_runs(project), taken.exists(), asked["model"]) == (["host"], False, CHILDREN)


def test_children_of_a_compiled_pi_run_on_that_program(project: Project) -> None:
    with main_pi(project, delegate("one"), {"text": "done"}) as pi:
        taken = choose_no_pi(pi, project)
        noted = project.path.parent / "noted"
        real = os.environ["PI_SUBAGENTS_PI"]
        note_and_run = f'#!/bin/sh\n: > "{noted}"\nexec {real} "$@"\n'
        compiled = write_script(project.path.parent / "opt" / "pi-linux", note_and_run)
        pi.loading = ("-e", str(COMPILED), *pi.loading)
        pi.ran("-p", "please delegate", COMPILED_PI=str(compiled))
        assert pi.tool_results()[0].startswith("✓ one: completed")
    assert (pis_of_runs(project), taken.exists(), noted.exists()) == (["host"], False, True)


def another_pi(project: Project) -> str:
    """Give sub-agents this pi in a package of another version; return that note."""
    folder = project.path.parent / "other"
    real = os.environ["PI_SUBAGENTS_PI"]
    script = write_script(folder / "cli", f'#!/bin/sh\nexec {real} "$@"\n')
    version = f"{TRAITS.version}-other"
    manifest = {"name": "@earendil-works/pi-coding-agent", "version": version}
    (folder / "package.json").write_text(json.dumps(manifest))
    settings = project.agent_dir / "settings.json"
    known = json.loads(settings.read_text())
    settings.write_text(json.dumps({**known, "subagents": {"pi_command": [str(script)]}}))
    chosen_by = "the setting subagents.pi_command"
    return pi_messages.other_pi_than_the_host(version, chosen_by, TRAITS.version)


@pytest.mark.parametrize("mode", ["print", "json"])
def test_that_versions_differ_is_said_on_standard_error_where_there_is_no_screen(
    project: Project, mode: str
) -> None:
    asked = delegate("one")
    with main_pi(project, asked, asked, {"text": "done"}) as pi:
        note = another_pi(project)
        del pi.env["PI_SUBAGENTS_PI"]
        streaming = ("--mode", "json") if mode == "json" else ()
        done = pi.ran(*streaming, "-p", "please delegate")
        assert pi.tool_results()[0].startswith("✓ one: completed")
    assert (done.returncode, done.stderr) == (0, f"{note}\n"), "once"


def test_that_versions_differ_is_a_notification_for_a_client_of_rpc(project: Project) -> None:
    with main_pi(project, delegate("one"), {"text": "done"}) as pi:
        note = another_pi(project)
        del pi.env["PI_SUBAGENTS_PI"]
        heard = [each for each in streamed(pi, "rpc", "please delegate") if "method" in each]
    said = [(each["notifyType"], each["message"]) for each in heard if each["method"] == "notify"]
    assert said == [("warning", note)]


def test_nothing_is_registered_inside_a_sub_agent(project: Project) -> None:
    with main_pi(project, {"text": "hello"}) as pi:
        pi.ran("-p", "who are you", PI_SUBAGENTS_CHILD="1")
        assert ours(pi.offered_tools()) == []


def test_models_are_offered_in_their_order_where_a_tool_takes_one(project: Project) -> None:
    with main_pi(project, {"text": "hello"}) as pi:
        pi.ran("-p", "who are you")
        offered = pi.offered_tools()
    models = ["main/main", "children/children"]
    assert offered["background_agent"]["properties"]["model"]["enum"] == models
    items = offered["subagent"]["properties"]["tasks"]["items"]
    assert items["properties"]["model"]["enum"] == models
    assert "main/main" not in json.dumps(offered["delegate_to_subagents"])


def test_no_value_makes_a_renderer_throw_or_leave_its_width(project: Project) -> None:
    with main_pi(project, {"text": "unused"}) as pi:
        pi.loading = ("-e", str(HOSTILE))
        heard = json.loads(pi.ran("-p", "x", PI_SUBAGENTS_SHIM=str(extension_dir())).stderr)
    assert heard["problems"] == []
    assert heard["painted"] > 10_000


def test_each_session_is_told_what_is_its_own_and_what_is_over_is_not_cancelled(
    project: Project,
) -> None:
    core = f"{sys.executable} {SWITCHING_CORE}"
    with main_pi(project, {"text": "unused"}) as pi:
        pi.loading = ("-e", str(SWITCHING))
        shim = {"PI_SUBAGENTS_SHIM": str(extension_dir()), "PI_SUBAGENTS_CORE": core}
        seen = json.loads(pi.ran("-p", "x", **shim).stderr)
    assert seen == {
        "told": ["first: welcome", "first: at the last moment", "second: welcome"],
        "came": ["hello", "call", "call", "close", "hello", "complete"],
    }


def test_a_session_is_known_again_when_the_conversation_goes_on(project: Project) -> None:
    with main_pi(project, delegate("one"), {"text": "done"}) as pi:
        pi.ran("-p", "please delegate")
        session_id = pi.tool_results()[0].split("session: ")[1].split(")")[0]
    look = call("get_subagent_output", sessionId=session_id)
    with main_pi(project, look, {"text": "seen"}) as pi:
        pi.ran("--continue", "-p", "please look")
        assert pi.tool_results()[-1] == "the prompt of one"
        assert pi.model.requests(MAIN)


def test_children_start_while_the_call_is_still_being_written(project: Project) -> None:
    names = ["one", "two", "three"]
    written_slowly = {**delegate(*names), "chunkDelayMs": 50}
    with main_pi(project, written_slowly, {"text": "all done"}) as pi:
        records = pi.records("please delegate")
    (ended,) = [each for each in records if each["type"] == "tool_execution_end"]
    results = ended["result"]["details"]["results"]
    assert [each["output"] for each in results] == [f"the prompt of {name}" for name in names]
    runs = [json.loads(path.read_text()) for path in project.path.rglob("meta.json")]
    # Nobody else starts a child for what is no run: these were up before there was one.
    markers = {run["marker"] for run in runs} - {run["runId"] for run in runs}
    assert len(markers) == 3


@pytest.mark.parametrize(("option", "trusted"), [("--approve", True), ("--no-approve", False)])
def test_the_core_is_told_which_ends_pi_shows_and_whether_it_trusts_the_project(
    project: Project, tmp_path: Path, option: str, trusted: bool
) -> None:
    notes = tmp_path / "notes"
    with main_pi(project, {"text": "unused"}) as pi:
        core = f"{sys.executable} {NOTING} {notes}"
        pi.ran(option, "-p", "/profile list", PI_SUBAGENTS_CORE=core)
    heard = [json.loads(line) for line in notes.read_text().splitlines()]
    hello, asked = [e["params"] for e in heard if e["method"] in ("hello", "profile")]
    assert hello["endsShown"] == []
    assert (asked["line"], asked["trusted"]) == ("list", trusted)


def test_the_core_is_told_of_each_task_once_as_it_begins_and_once_when_it_is_whole(
    project: Project, tmp_path: Path
) -> None:
    turn = delegate(*(name * 1500 for name in "abc"))
    refused_by_pi = {"name": "subagent", "arguments": {"tasks": [{}, {}, {}]}}
    turn["toolCalls"].insert(0, refused_by_pi)
    notes = tmp_path / "notes"
    with main_pi(project, {**turn, "chunkDelayMs": 15}, {"text": "all done"}) as pi:
        pi.records("please delegate", PI_SUBAGENTS_CORE=f"{sys.executable} {NOTING} {notes}")
    heard = [json.loads(line) for line in notes.read_text().splitlines()]
    (call,) = [each["params"] for each in heard if each["method"] == "call"]
    prewarmed = [each["params"] for each in heard if each["method"] == "prewarm"]
    tasks = [
        {"name": task["name"][:1000], "prompt": task["prompt"][:1000]}
        for task in call["arguments"].pop("tasks")
    ]
    del call["callId"], call["columns"]
    assert (call["cwd"], call["models"]) == (str(project.path), ["main/main", "children/children"])
    of_call = [each for each in prewarmed if each["tool"] == call["tool"]]
    known = [(len(each["arguments"]["tasks"]), each.pop("begun")) for each in of_call]
    assert (known[0], known[-1]) == ((0, 1), (3, 3))
    # pi may have read further than it tells: several can begin, or become whole, at once.
    assert known == sorted(set(known))
    assert of_call == [{**call, "arguments": {"tasks": tasks[:whole]}} for whole, _ in known]
