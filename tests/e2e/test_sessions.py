"""Sessions of a project as the command lists them, with the real pi and the offline model."""

import json
import re

import pytest
from tests.e2e.command import subagents
from tests.e2e.conftest import Project

pytestmark = pytest.mark.pi


def test_sessions_lists_what_was_handed_out_newest_first(project: Project) -> None:
    turns = project.path / "script.json"
    turns.write_text(json.dumps([{"text": "fine", "usage": {"input": 10, "output": 2}}]))
    ran = [
        subagents(
            project, "run", "--json", "--offline-script", str(turns), "Do it.", "--name", name
        ).json["details"]["results"][0]
        for name in ("one", "two")
    ]
    listed = subagents(project, "sessions", "--json")
    assert (listed.code, listed.err) == (0, "")
    assert listed.json["total"] == 2
    sessions = listed.json["sessions"]
    started = [session["startedAt"] for session in sessions]
    assert started == sorted(started, reverse=True)
    model = sessions[0]["model"]
    assert sessions == [
        {
            "sessionId": result["sessionId"],
            "status": "completed",
            "taskName": result["name"],
            "model": model,
            "startedAt": at,
            "usage": result["usage"],
            "runCount": 1,
            "runs": [
                {
                    "runId": result["runId"],
                    "sessionId": result["sessionId"],
                    "taskName": result["name"],
                    "status": "completed",
                    "errorMessage": None,
                    "exitCode": 0,
                    "model": model,
                    "usage": result["usage"],
                    "startedAt": at,
                }
            ],
        }
        for result, at in zip(ran[::-1], started, strict=True)
    ]
    table = subagents(project, "sessions").out.splitlines()
    assert [line.split()[-1] for line in table] == ["TASK", "two", "one"]
    assert re.match(rf"{ran[1]['sessionId'][:8]}  1     ✓ completed  \d+[sm]", table[1])
    assert subagents(project, "output", sessions[0]["sessionId"]).out == "fine\n"
