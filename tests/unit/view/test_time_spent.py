from __future__ import annotations

from pi_subagents.core.run import events as ev
from pi_subagents.view.time_spent import TimeSpent, ToolTime, time_spent


def test_the_time_of_messages_and_of_each_tool_is_added_up_the_longest_first() -> None:
    spent = time_spent(
        [
            ev.AssistantMessage("a", duration_ms=1200),
            ev.ToolFinished("1", "read", "", failed=False, duration_ms=5),
            ev.ToolFinished("2", "bash", "", failed=True, duration_ms=300),
            ev.ToolFinished("3", "bash", "", failed=False, duration_ms=400),
            ev.AssistantMessage("b", duration_ms=800),
        ]
    )
    assert spent == TimeSpent(2000, (ToolTime("bash", 2, 700), ToolTime("read", 1, 5)))
    assert spent.tools_ms == 705


def test_what_a_script_called_is_part_of_the_scripts_own_call() -> None:
    nested = ev.ToolFinished("1/1", "bash", "", failed=False, parent_id="1", duration_ms=90)
    script = ev.ToolFinished("1", "codemode", "", failed=False, duration_ms=100)
    assert time_spent([nested, script]) == TimeSpent(0, (ToolTime("codemode", 1, 100),))


def test_a_child_that_tells_no_durations_spent_none() -> None:
    events: list[ev.Event] = [
        ev.AssistantMessage("a"),
        ev.ToolFinished("1", "read", "", failed=False),
    ]
    assert time_spent(events) == time_spent([]) == TimeSpent()
