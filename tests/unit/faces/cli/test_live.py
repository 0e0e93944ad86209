"""What a command hands to the work it runs: where progress goes, and notices."""

from __future__ import annotations

import io
import os
import select
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.fakes.driver import PATIENCE_S
from tests.fakes.pty_command import open_pty, set_size
from tests.unit.service.fake_runner import planned

from pi_subagents.core.run import events as ev
from pi_subagents.core.task.request import Task
from pi_subagents.faces.cli.console import Console, Verbosity
from pi_subagents.faces.cli.work.live import ProgressPrinter, run_stoppable
from pi_subagents.faces.terminal import display
from pi_subagents.faces.terminal.display import Display
from pi_subagents.faces.terminal.terminal import Terminal
from pi_subagents.service.delegation import PlannedTask, Update
from pi_subagents.view.window import Window, WindowLine, WindowTitle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pi_subagents.service.call import Options


class OneWindow:
    """What a delegation would show."""

    def now(self) -> tuple[Window, ...]:
        return (Window(WindowTitle("t"), "running", lines=(WindowLine.said("hello"),)),)


@contextmanager
def a_person() -> Iterator[int]:
    """Put standard error on a terminal, where a display may paint; give the other end of it."""
    with open_pty() as (master, slave), pytest.MonkeyPatch.context() as patch:

        def open_display(_: int, __: Mapping[str, str], *, tell: Callable[[str], None]) -> Display:
            path = os.ttyname(slave)
            terminal = Terminal(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY))
            return Display(terminal, coloured=False, tell=tell)

        with io.TextIOWrapper(os.fdopen(os.dup(slave), "wb", buffering=0)) as stream:
            stream.reconfigure(write_through=True)
            patch.setattr(display, "open_display", open_display)
            patch.setattr(sys, "stderr", stream)
            patch.setenv("NO_COLOR", "1")
            yield master


def read_until(master: int, last: str) -> str:
    """Return what was sent to the terminal, up to and with something that is sent for sure."""
    sent = ""
    while last not in sent:
        assert select.select([master], [], [], PATIENCE_S)[0], f"never sent, but: {sent!r}"
        sent += os.read(master, 65536).decode()
    return sent


async def work_with_notices(watched: Options) -> str:
    watched["on_notice"]("Said before.")
    if "on_windows" in watched:
        watched["on_windows"](OneWindow())  # type: ignore[arg-type]  # it has what is painted
    watched["on_notice"]("Said during.")
    return "done"


def test_a_notice_is_said_before_the_windows_or_after_them_but_not_into_them() -> None:
    with a_person() as person:
        assert run_stoppable(Console(), {}, work_with_notices, plain=False) == ("done", False)
        sent = read_until(person, "Said during.\r\n")
    before, entered, rest = sent.partition("\x1b[?1049h")
    shown, left, after = rest.partition("\x1b[?1049l")
    assert (before, bool(entered), bool(left)) == ("Said before.\r\n", True, True)
    assert "hello" in shown
    assert "Said" not in shown
    assert after.splitlines()[-1] == "Said during."


@pytest.mark.parametrize(
    ("console", "plain"), [(Console(), True), (Console(Verbosity.VERBOSE), False)]
)
def test_where_there_are_no_windows_notices_are_lines(console: Console, plain: bool) -> None:
    with a_person() as person:
        assert run_stoppable(console, {}, work_with_notices, plain=plain) == ("done", False)
        sent = read_until(person, "Said during.\r\n")
    assert sent == "Said before.\r\nSaid during.\r\n"


def test_quiet_says_nothing_at_all() -> None:
    async def work(watched: Options) -> None:
        await work_with_notices(watched)
        watched["on_update"](None)  # type: ignore[arg-type]  # not even looked at
        os.write(sys.stderr.fileno(), b"end")

    with a_person() as person:
        run_stoppable(Console(Verbosity.QUIET), {}, work, plain=False)
        assert read_until(person, "end") == "end"


def test_the_width_is_that_of_the_terminal_progress_is_shown_on() -> None:
    async def work(watched: Options) -> int | None:
        return watched["columns"]

    for plain in (True, False):
        with a_person() as person:
            set_size(person, 61, 24)
            assert run_stoppable(Console(), {}, work, plain=plain) == (61, False)
            set_size(person, 0, 0)  # a terminal that does not know
            assert run_stoppable(Console(), {}, work, plain=plain) == (100, False)
    with open(os.devnull, "w") as nowhere, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", nowhere)
        assert run_stoppable(Console(), {}, work, plain=False) == (None, False)


def named(name: str) -> PlannedTask:
    return PlannedTask(0, Task(name, "1"), planned(0).spec)


def test_a_line_of_progress_takes_no_more_cells_than_the_terminal_has() -> None:
    with a_person() as person:
        set_size(person, 40, 24)
        for text in ("日本語" * 9, "x" * 99, "日" * 17 + "a"):
            ProgressPrinter(Console())(Update(planned(0), ev.Note(text)))
        os.write(sys.stderr.fileno(), b"end")
        lines = read_until(person, "end").splitlines()
    assert lines == [
        "[t0] " + "日本語" * 5 + "日本…",
        "[t0] " + "x" * 34 + "…",
        "[t0] " + "日" * 17 + "a",
        "end",
    ]


def test_the_name_before_a_line_of_progress_counts_by_its_cells() -> None:
    with a_person() as person:
        set_size(person, 40, 24)
        ProgressPrinter(Console())(Update(named("日本語"), ev.Note("x" * 99)))
        assert read_until(person, "\n") == "[日本語] " + "x" * 30 + "…\r\n"


def test_progress_that_nobody_watches_is_cut_by_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ProgressPrinter(Console())(Update(named("日本語"), ev.Note("日" * 200)))
    assert capsys.readouterr().err == "[日本語] " + "日" * 153 + "…\n"
