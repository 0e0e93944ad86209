"""One call, several kinds of children at once: results in the order of the tasks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.agents.acp_agents import ACP_AGENTS, pi_shell
from tests.agents.scripted_models import scripted_models
from tests.e2e_acp.workbench import ended, workbench

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.pi

PORT = {"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}
TASKS: list[dict[str, Any]] = [
    {"name": "read", "prompt": "Count the words"},
    {"name": "port", "prompt": "Find the port", "engine": "acp:opencode", "outputSchema": PORT},
    {"name": "review", "prompt": "Review the change", "engine": "acp:codex"},
]
# Each waits for the other two.
TOGETHER = "touch {}; until [ -e pi ] && [ -e opencode ] && [ -e codex ]; do sleep 0.1; done"


def test_three_tasks_on_pi_opencode_and_codex_at_once(tmp_path: Path) -> None:
    answers = ("There are 12.", '{"port": 8080}', "It is good.")
    shells = {
        "pi": pi_shell,
        "opencode": ACP_AGENTS["opencode"].shell,
        "codex": ACP_AGENTS["codex"].shell,
    }
    parts = [
        {
            "match": task["prompt"],
            "turns": [{"toolCalls": [shell(TOGETHER.format(name))]}, {"text": answer}],
        }
        for task, (name, shell), answer in zip(TASKS, shells.items(), answers, strict=True)
    ]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps({"tasks": TASKS}))
    with (
        scripted_models({"conversations": parts}) as models,
        workbench(tmp_path, models, *shells) as bench,
    ):
        ran = ended(bench.start("run", "--json", "--task-file", str(path)))
        callers = {each.match: each.caller for each in models.asked() if each.match}
    assert callers == dict(zip([task["prompt"] for task in TASKS], shells, strict=True))
    assert [(each["name"], each["status"], each["output"]) for each in ran.results] == [
        (task["name"], "completed", answer) for task, answer in zip(TASKS, answers, strict=True)
    ]
    assert ran.results[1]["value"] == {"port": 8080}
    assert ran.code == 0
