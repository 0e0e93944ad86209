"""A child's own session, as the real pi keeps it from the prompt on."""

from __future__ import annotations

import asyncio
import http.server
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.e2e.pi_under_test import needs_early_sessions

from pi_subagents.api import call_tool
from pi_subagents.config.preset_files import invalidate_presets_cache
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.conftest import Project

pytestmark = pytest.mark.pi


@contextmanager
def a_model_that_never_answers(asked: Callable[[], object]) -> Iterator[str]:
    """Serve a model that says when it was asked, and nothing else; yield its address."""
    leave = threading.Event()

    class Silence(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked()
            leave.wait()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silence) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        leave.set()
        server.shutdown()


@needs_early_sessions
async def test_a_child_that_was_stopped_before_it_answered_has_a_session_with_its_task(
    project: Project, child_mode: str
) -> None:
    del child_mode
    loop, asked, stop = asyncio.get_running_loop(), asyncio.Event(), StopSwitch()
    presets = project.agent_dir / "subagents"
    presets.mkdir()
    text = "---\nname: scout\ndescription: d\nmodel: silent/one\n---\nYou are a scout."
    (presets / "scout.md").write_text(text)
    invalidate_presets_cache()
    with a_model_that_never_answers(lambda: loop.call_soon_threadsafe(asked.set)) as url:
        provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "x"}
        models = {"providers": {"silent": {**provider, "models": [{"id": "one"}]}}}
        (project.agent_dir / "models.json").write_text(json.dumps(models))
        env = {**project.env, "PI_OFFLINE": "1"}
        call = {"preset": "scout", "task": "Look at the harbour."}
        work = asyncio.create_task(
            call_tool("subagent", call, cwd=project.path, env=env, stop=stop)
        )
        async with asyncio.timeout(30):
            await asked.wait()
            stop.stop()
            await work
    (run,) = Runs(project.path, project.env).store.runs()
    records = [json.loads(line) for line in run.child_session.read_text().splitlines()]
    users = [each["message"] for each in records if each.get("message", {}).get("role") == "user"]
    (message,) = users
    assert "Look at the harbour." in json.dumps(message["content"])
