from __future__ import annotations

from pi_subagents.core.stop_switch import FORCING, RUNNING, STOPPING, StopSwitch


def test_it_only_goes_up_and_tells_every_step_once() -> None:
    switch = StopSwitch()
    heard: list[int] = []
    switch.listen(heard.append)
    assert (switch.level, heard) == (RUNNING, [])
    switch.stop()
    switch.stop()
    switch.force()
    switch.stop()
    switch.force()
    assert (switch.level, heard) == (FORCING, [STOPPING, FORCING])


def test_force_alone_skips_the_first_step() -> None:
    switch = StopSwitch()
    heard: list[int] = []
    switch.listen(heard.append)
    switch.force()
    assert heard == [FORCING]


def test_who_comes_late_is_told_at_once() -> None:
    switch = StopSwitch()
    heard: list[int] = []
    switch.stop()
    switch.listen(heard.append)
    assert heard == [STOPPING]


def test_who_left_is_told_no_more() -> None:
    switch = StopSwitch()
    heard: list[int] = []
    others: list[int] = []
    leave = switch.listen(heard.append)
    switch.listen(others.append)
    leave()
    switch.stop()
    assert (heard, others) == ([], [STOPPING])


def test_a_listener_may_leave_while_it_is_told() -> None:
    switch = StopSwitch()
    heard: list[int] = []
    leave = switch.listen(lambda _: leave())
    switch.listen(heard.append)
    switch.stop()
    assert heard == [STOPPING]
