from __future__ import annotations

from tests.fakes.specs import make_spec

from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.settings import Settings
from pi_subagents.core.task.attachment import FileSpec
from pi_subagents.core.task.request import Task
from pi_subagents.core.usage import Usage, usage_to_json
from pi_subagents.service.delegation import PlannedTask, Preparation, Update
from pi_subagents.service.foreground import Windows
from pi_subagents.view.window import WindowLine, WindowTitle
from pi_subagents.view.window_view import window_to_json

PROFILE = Profile("reviewer", provider="p", model="m", thinking_level="high")


def planned(
    index: int, profile: Profile | None = None, name: str = "", tools: int | None = None
) -> PlannedTask:
    task = Task(f"t{index}", "x", timeout_s=30, files=(FileSpec("f"),), profile=name or None)
    spec = make_spec("r" * 32, f"session-{index}", task.name, (), "/project")
    return PlannedTask(index, task, spec, Preparation(profile), tools)


def test_a_window_begins_with_what_is_known_of_its_task() -> None:
    preset = Profile("scout", model="p/m")
    runs = [
        planned(0, PROFILE, "reviewer", 2),
        planned(1, name="nope"),
        planned(2),
        planned(3, preset, tools=0),
        planned(4, preset),
    ]
    windows = Windows(runs, Settings(), home="/h").now()
    assert [window.title for window in windows] == [
        WindowTitle("t0", "reviewer", "p", "m", "high", 2, 1, 30, "session-0", "x"),
        WindowTitle("t1", "nope", file_count=1, timeout_s=30, session_id="session-1", prompt="x"),
        WindowTitle("t2", file_count=1, timeout_s=30, session_id="session-2", prompt="x"),
        WindowTitle("t3", "scout", "", "p/m", "", 0, 1, 30, "session-3", "x"),
        WindowTitle("t4", "scout", "", "p/m", "", None, 1, 30, "session-4", "x"),
    ]
    assert {window.status for window in windows} == {"queued"}


def test_a_window_at_work_is_told_with_the_values_it_has_then() -> None:
    runs = [planned(0), planned(1)]
    windows = Windows(runs, Settings(max_lines_per_window=2), home="/h")
    call = ev.ToolCall("1", "ls", {"path": "src"})
    said = ev.AssistantMessage("Hello.\nWorld.", (call,), provider="acme", model="big")
    windows.apply(Update(runs[1], ev.StateChanged("running")))
    windows.apply(Update(runs[1], said))
    windows.apply(Update(runs[1], ev.ToolFinished("1", "ls", "a.py\nb/", failed=False)))
    waiting, working = (window_to_json(window) for window in windows.now())
    assert (waiting["status"], waiting["lines"], waiting["elapsedMs"]) == ("queued", [], 0)
    assert isinstance(working.pop("startedAt"), int)
    assert isinstance(working.pop("elapsedMs"), int)
    assert working == {
        "name": "t1", "profile": None, "provider": "acme", "model": "big", "thinkingLevel": None,
        "toolCount": None, "fileCount": 1, "timeoutS": 30, "sessionId": "session-1",
        "status": "running", "callCount": 1, "todo": None, "errorMessage": None,
        "usage": usage_to_json(Usage()),
        "lines": [
            {"text": "World.", "kind": "text"},
            {"text": "ls → src → 1 file, 1 dir", "kind": "tool"},
        ],
    }  # fmt: skip


def test_updates_reach_the_window_of_their_run() -> None:
    runs = [planned(0), planned(1)]
    windows = Windows(runs, Settings(max_lines_per_window=1), home="/h", columns=24)
    command = "echo aaaaaaaaaa && echo bbbbbbbbbb"
    call = ev.ToolCall("1", "bash", {"command": command})
    windows.apply(Update(runs[1], ev.StateChanged("running")))
    windows.apply(Update(runs[1], ev.AssistantMessage("Hello.\nWorld.", (call,))))
    first, second = windows.now()
    assert (first.status, second.status, second.call_count) == ("queued", "running", 1)
    assert second.history[:2] == (WindowLine.said("Hello."), WindowLine.said("World."))
    assert len(second.lines) == 1
    assert len(second.history) > 3  # the preview took several lines of 20 characters
    windows.apply(Update(runs[1], RunResult("r" * 32, "session-1", "t1", "completed")))
    assert windows.now()[1].status == "completed"
