"""Calls on the real pi as traces: the command tells a collector, and a trace goes on with its caller's."""

import json
import subprocess
import sys

import pytest
from tests.e2e.command import subagents
from tests.e2e.conftest import Project
from tests.fakes.otlp_receiver import open_receiver

pytestmark = pytest.mark.pi

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
WORK = [
    {
        "text": "looking",
        "toolCalls": [{"name": "bash", "arguments": {"command": "true"}}],
        "usage": {"input": 10, "output": 2},
    },
    {"text": "fine", "usage": {"input": 20, "output": 3}},
]
# A program that has nothing to do with OpenTelemetry makes a call.
PLAIN = """
import sys
from pi_subagents import delegate_sync

done = delegate_sync("Say hello", offline=True)
print(done.results[0].status, sorted(n for n in sys.modules if n.startswith("opentelemetry")))
"""


def test_a_call_of_the_command_is_a_trace_that_goes_on_with_its_callers(project: Project) -> None:
    (project.path / "script.json").write_text(json.dumps(WORK))
    with open_receiver() as receiver:
        env = {**receiver.env, "TRACEPARENT": f"00-{TRACE}-{CALLER}-01"}
        run = ("run", "--offline-script", "script.json", "Look", "--name", "look")
        ran = subagents(project, "--quiet", *run, **env)
        assert (ran.code, ran.out) == (0, "fine\n"), ran.err
        call, tool = (
            receiver.span("invoke_workflow pi_subagents"),
            receiver.span("execute_tool bash"),
        )
        (agent,) = (span for span in receiver.spans if span not in (call, tool))
        parents = [span.parent for span in (call, agent, tool)]
        assert parents == [CALLER, call.span_id, agent.span_id]
        assert {span.trace for span in receiver.spans} == {TRACE}
        told = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.response.finish_reasons": ["stop"],
            "gen_ai.usage.input_tokens": 30,
            "gen_ai.usage.output_tokens": 5,
            "pi_subagents.run.status": "completed",
            "pi_subagents.task.name": "look",
        }
        assert {name: agent.attributes.get(name) for name in told} == told
        assert agent.attributes["gen_ai.response.model"]
        assert not any(span.failed for span in receiver.spans)
        counted = {kind: value for name, value, kind in (
            (name, value, told.get("gen_ai.token.type"))
            for name, value, told in receiver.metrics if name == "gen_ai.client.token.usage"
        )}  # fmt: skip
        assert counted == {"input": 30, "output": 5}


def test_a_call_where_nobody_set_it_up_imports_nothing_of_it(project: Project) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLAIN],
        cwd=project.path, env=project.env, capture_output=True, text=True, check=True, timeout=100,
    )  # fmt: skip
    assert done.stdout == "completed []\n"
