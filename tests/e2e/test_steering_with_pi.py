"""Messages for the real pi while it works: from the shell, in `watch`, over MCP, to background runs."""

import asyncio
import json
import os
import shlex
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from scripts.screenshot_tmux import screen_of_our_own
from tests.e2e.command import ENTRY, Ran, start, subagents
from tests.e2e.conftest import Project
from tests.fakes.driver import PATIENCE_S
from tests.fakes.private_tmux import needs_tmux, private_tmux

from pi_subagents import Steered, Task, delegate, errors, parse_script, steer
from pi_subagents.config.preset_files import global_presets_dir, invalidate_presets_cache
from pi_subagents.engines.offline.server import OfflineModel
from pi_subagents.engines.pi import messages as pi_messages
from pi_subagents.engines.pi.rpc import GUARD
from pi_subagents.service import messages as service_messages

pytestmark = pytest.mark.pi

MESSAGE = "Use the other file."
WAITS = {"toolCalls": [{"name": "bash", "arguments": {"command": "echo > here; cat go"}}]}
ANSWERS_WHAT_IT_HEARD = {"echo": True, "repeat": True}


@dataclass
class AtWork:
    """A child of the real pi in a tool call that ends when it is let go."""

    project: Project

    def __post_init__(self) -> None:
        for name in ("here", "go"):
            os.mkfifo(self.project.path / name)

    def wait_for_the_tool(self) -> Path:
        """Return the run's directory, once its tool is at work."""
        (self.project.path / "here").read_bytes()
        (meta,) = self.project.path.glob(".pi/subagents/runs/*/meta.json")
        return meta.parent

    def let_go(self) -> None:
        (self.project.path / "go").write_text("gone on\n")

    def heard_by_pi(self, run_dir: Path) -> None:
        """Wait until pi has answered the command that brings it a message."""
        wait_for(run_dir / "stdout.log", b'"command":"steer","success":true')

    @contextmanager
    def let_go_when_heard(self, run_dir: Path) -> Iterator[None]:
        """Let the tool end as soon as pi has a message, which the block sends."""

        def let_go() -> None:
            self.heard_by_pi(run_dir)
            self.let_go()

        thread = threading.Thread(target=let_go)
        thread.start()
        yield
        thread.join(PATIENCE_S)

    def steer(self, *arguments: str) -> subprocess.Popen[str]:
        return start(self.project, "steer", *arguments)


@pytest.fixture
def at_work(project: Project) -> AtWork:
    return AtWork(project)


def wait_for(path: Path, words: bytes) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while words not in (path.read_bytes() if path.exists() else b""):
        assert not threading.Event().wait(0.02)
        assert time.monotonic() < deadline, f"never in {path.name}: {words!r}"


def ended(process: subprocess.Popen[str]) -> Ran:
    out, err = process.communicate(timeout=PATIENCE_S)
    return Ran(process.returncode, out, err)


@contextmanager
def running(project: Project, tmp_path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([WAITS, ANSWERS_WHAT_IT_HEARD]))
    with start(project, "run", "--offline-script", str(script), "Look around", "--name", "look",
               "--plain", *arguments) as run:  # fmt: skip
        try:
            yield run
        except BaseException:
            run.kill()  # or nobody would ever end the tool
            raise


def test_a_message_is_delivered_after_the_tool_call_and_seen_in_the_shell(
    at_work: AtWork, tmp_path: Path
) -> None:
    project = at_work.project
    with running(project, tmp_path) as run:
        run_dir = at_work.wait_for_the_tool()
        at_once = subagents(project, "steer", run_dir.name, MESSAGE, "--wait", "0")
        assert (at_once.code, at_once.out) == (
            0,
            "Accepted, not read yet. The sub-agent will read it after its current step.\n",
        )
        at_work.heard_by_pi(run_dir)
        at_work.let_go()
        heard = ended(run)
    assert heard.code == 0, heard
    assert heard.out.count(MESSAGE) == 1  # the answer is the last thing the model heard
    assert heard.err.count(f"[look] Steered: {MESSAGE}") == 1
    transcript = (run_dir / "transcript.log").read_text()
    assert transcript.count(f"Steered: {MESSAGE}\n") == 1
    session = json.loads((run_dir / "meta.json").read_text())["sessionId"]
    said = subagents(project, "session", session).out
    assert said.count(f"\n{MESSAGE}\n") == 2  # once as it was heard, once as the answer

    too_late = subagents(project, "steer", session, MESSAGE)
    assert (too_late.code, too_late.out) == (
        1,
        f"Not delivered to look. {service_messages.steer_after_end('completed', session)}\n",
    )
    parameters = json.dumps({"sessionId": session, "message": MESSAGE})
    called = subagents(project, "call", "steer_subagent", parameters)
    assert (called.code, called.json["details"]["status"]) == (1, "refused")
    unknown = subagents(project, "steer", "nobody", MESSAGE)
    assert (unknown.code, unknown.err) == (2, f"Error: {errors.SteerTargetNotFound('nobody')}\n")
    nothing = subagents(project, "steer", session, stdin=" \n")
    assert (nothing.code, nothing.err) == (2, "Error: message: must not be empty\n")
    assert (
        list(run_dir.glob("steer-*")) == []
    )  # messages lie out of the project, until they are read


def test_whoever_sent_it_waits_until_it_was_read(at_work: AtWork, tmp_path: Path) -> None:
    project = at_work.project
    with running(project, tmp_path) as run:
        run_dir = at_work.wait_for_the_tool()
        with at_work.steer(run_dir.name[:8], "-", "--json") as steering:
            assert steering.stdin is not None
            steering.stdin.write("/reload the plan\n")
            steering.stdin.close()
            steering.stdin = None
            at_work.heard_by_pi(run_dir)
            at_work.let_go()
            sent = ended(steering)
        heard = ended(run)
    session = json.loads((run_dir / "meta.json").read_text())["sessionId"]
    assert (sent.code, sent.json) == (
        0,
        {
            "schemaVersion": 1,
            "content": [{"type": "text", "text": "Delivered: look has read the message."}],
            "details": {
                "sessionId": session,
                "runId": run_dir.name,
                "taskName": "look",
                "status": "delivered",
                "reason": None,
            },
            "isError": False,
        },
    )
    assert f"{GUARD}/reload the plan" in heard.out  # data, not a command of pi's


async def test_python_steers_what_it_delegated_before_and_after_its_end(at_work: AtWork) -> None:
    project = at_work.project
    sent: list[Steered] = []

    def from_elsewhere() -> None:
        run_dir = at_work.wait_for_the_tool()
        with at_work.let_go_when_heard(run_dir):
            heard = steer(run_dir.name, MESSAGE, cwd=project.path, env=project.env)
            sent.append(asyncio.run(heard))

    elsewhere = threading.Thread(target=from_elsewhere)
    elsewhere.start()
    (result,) = (
        await delegate(
            [Task("look", "Look around")],
            cwd=project.path,
            env=project.env,
            offline=parse_script([WAITS, ANSWERS_WHAT_IT_HEARD]),
        )
    ).results
    elsewhere.join()
    assert (result.status, result.output) == ("completed", MESSAGE)
    known = Steered(result.run_id, result.session_id, "look", "delivered", called="look")
    assert sent == [known]
    after = await steer(result.session_id, MESSAGE, cwd=project.path, env=project.env)
    assert after == Steered(
        result.run_id,
        result.session_id,
        "look",
        "refused",
        service_messages.steer_after_end("completed", result.session_id),
        called="look",
    )
    with pytest.raises(errors.SteerTargetNotFound):
        await steer("no-such-session", MESSAGE, cwd=project.path, env=project.env)


@needs_tmux
def test_a_run_is_steered_by_who_watches_it(at_work: AtWork, tmp_path: Path) -> None:
    project = at_work.project
    env = {**project.env, "PS1": "$ ", "LC_ALL": "C.UTF-8", "TERM": "screen", "TMUX": ""}
    with (
        private_tmux() as tmux,
        running(project, tmp_path) as run,
        screen_of_our_own(tmux.runtime, cwd=project.path, env=env, columns=100, rows=24) as screen,
    ):
        run_dir = at_work.wait_for_the_tool()
        screen.see("$")
        screen.type(f"exec {shlex.join(ENTRY)} watch")
        screen.see("● running", "look", "m Message")
        screen.press("m")
        screen.see("What should look know?")
        screen.press(MESSAGE, "Enter")
        screen.see("Sent to look")
        at_work.heard_by_pi(run_dir)
        at_work.let_go()
        screen.see("Delivered: look has read the message.", "✓ completed")
        screen.press("Enter")
        screen.see(f"Steered: {MESSAGE}")
        assert ended(run).code == 0


def test_a_child_in_json_mode_takes_no_message(at_work: AtWork, tmp_path: Path) -> None:
    project = at_work.project
    settings = project.agent_dir / "settings.json"
    known = json.loads(settings.read_text())
    settings.write_text(json.dumps({**known, "subagents": {"child_mode": "json"}}))
    with running(project, tmp_path) as run:
        run_dir = at_work.wait_for_the_tool()
        refused = subagents(project, "steer", run_dir.name, MESSAGE)
        at_work.let_go()
        assert ended(run).code == 0
    assert (refused.code, refused.out) == (
        1,
        f"Not delivered to look. {pi_messages.STEER_JSON_MODE}\n",
    )
    assert list(run_dir.glob("steer-*")) == []


def test_a_background_run_is_steered_from_another_directory(
    at_work: AtWork, tmp_path: Path
) -> None:
    project = at_work.project
    with OfflineModel(parse_script([WAITS, ANSWERS_WHAT_IT_HEARD])) as model:
        serve(project, model)
        started = subagents(project, "background", "start", "scout", "Look around", "--json").json
        run_id = started["details"]["runId"]
        run_dir = at_work.wait_for_the_tool()
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        with start(Project(elsewhere, project.env), "steer", run_id, MESSAGE) as steering:
            at_work.heard_by_pi(run_dir)
            at_work.let_go()
            sent = ended(steering)
        waited = subagents(project, "background", "wait", run_id)
    assert (sent.code, sent.out) == (0, "Delivered: Look around has read the message.\n")
    assert waited.code == 0
    assert subagents(project, "show", run_id, "--output").out == f"{MESSAGE}\n"


async def test_a_host_of_the_protocol_steers_what_it_began(at_work: AtWork) -> None:
    project = at_work.project
    with OfflineModel(parse_script([WAITS, ANSWERS_WHAT_IT_HEARD])) as model:
        serve(project, model)
        server = StdioServerParameters(
            command=ENTRY[0], args=[*ENTRY[1:], "mcp"], cwd=project.path, env=project.env
        )
        async with Client(stdio_client(server), mode="legacy") as client:

            async def called(tool: str, **arguments: Any) -> dict[str, Any]:
                answer = await client.call_tool(tool, arguments)
                assert not answer.is_error, answer
                value = answer.structured_content
                assert isinstance(value, dict)
                return value

            began = await called("background_agent", preset="scout", task="Look around")
            run_dir = at_work.wait_for_the_tool()
            with at_work.let_go_when_heard(run_dir):
                sent = await called("steer_subagent", sessionId=began["sessionId"], message=MESSAGE)
            assert sent == {
                "sessionId": began["sessionId"],
                "runId": began["runId"],
                "taskName": "scout",
                "status": "delivered",
            }
            heard = await called(
                "get_subagent_output", sessionId=began["sessionId"], waitSeconds=PATIENCE_S
            )
            assert heard["text"] == MESSAGE
            refused = await called("steer_subagent", sessionId=began["runId"], message="Too late")
            assert refused["status"] == "refused"
            unknown = await client.call_tool(
                "steer_subagent", {"sessionId": "nobody", "message": "Hello"}
            )
            assert unknown.is_error


def serve(project: Project, model: OfflineModel) -> None:
    """Let pi have a model of ours, and its user the preset `scout`."""
    provider = {
        "baseUrl": model.url_for("all"),
        "api": "openai-completions",
        "apiKey": "x",
        "models": [{"id": "one"}],
    }
    (project.agent_dir / "models.json").write_text(
        json.dumps({"providers": {"scripted": provider}})
    )
    directory = global_presets_dir(project.env)
    directory.mkdir()
    fields = "name: scout\ndescription: Looks around\nmodel: one\ntools: bash"
    (directory / "scout.md").write_text(f"---\n{fields}\n---\nYou are a scout.\n")
    invalidate_presets_cache()
    project.env["PI_OFFLINE"] = "1"
