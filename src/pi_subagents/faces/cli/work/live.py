"""
Run a delegation for a person: windows or lines of progress, Ctrl+C that cleans up, answers.

The first Ctrl+C (or TERM, HUP) stops every child in good order, the second forces it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.progress import ProgressFormatter, failure_line
from pi_subagents.core.run.record import short_id
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.stop_switch import RUNNING, StopSwitch
from pi_subagents.core.task.request import checked_request, is_unnamed
from pi_subagents.faces.cli import messages
from pi_subagents.faces.cli.console import FALLBACK_WIDTH, Console, Verbosity
from pi_subagents.faces.cli.main import EXIT_FAILED, EXIT_INTERRUPTED
from pi_subagents.faces.cli.work.asking import ask, ask_for_line
from pi_subagents.faces.terminal.cells import cells, cut
from pi_subagents.service.foreground import delegate_request
from pi_subagents.view.failure import ending_lines, retry_line
from pi_subagents.view.states import shown_state
from pi_subagents.view.time_spent import length
from pi_subagents.view.window_view import window_title

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from pi_subagents.core.task.request import Task
    from pi_subagents.faces.terminal.display import Display
    from pi_subagents.service.call import Options
    from pi_subagents.service.delegation import PlannedTask, Update

T = TypeVar("T")

MAX_NAME = 30
WIDE = 160  # where nobody sees where a line ends
LEAST = 20  # of a line, however narrow the terminal
COLOURS = ("cyan", "magenta", "green", "blue", "yellow", "bright_red")


class ProgressPrinter:
    """One line per event worth a line, prefixed with the task's name."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._formatters: dict[int, ProgressFormatter] = {}

    def __call__(self, update: Update) -> None:
        """Print what happened, for whoever wants to know."""
        if self._console.verbosity == Verbosity.QUIET:
            return
        task = update.run.task
        name = one_line(task.prompt if is_unnamed(task.name) else task.name, MAX_NAME)
        if isinstance(update.what, RunResult):  # whole: why it failed is said here alone
            lines = [printable(line) for line in _ended(update.what)]
        else:
            text = self._text(update.run, update.what)
            texts = (text, failure_line(update.what))
            lines = [_fitting(each, name) for each in texts if each]
        colour = COLOURS[update.run.index % len(COLOURS)]
        prefix = self._console.style(f"[{name}]", sys.stderr, fg=colour)
        for line in lines:
            self._console.beside(f"{prefix} {line}")

    def _text(self, run: PlannedTask, what: ev.Event) -> str:
        verbose = self._console.verbosity >= Verbosity.VERBOSE
        match what:
            case ev.StateChanged(state):
                if state == "running" and verbose:
                    return f"run {short_id(run.spec.run_id)} in {run.kept_in}"
                return {"running": "started", "stopping": "stopping"}.get(state, "")
            case ev.Retrying():
                return retry_line(what)
            case _:
                formatter = self._formatters.setdefault(run.index, ProgressFormatter())
                text = formatter.text(what)
                # That a tool finished well goes without saying; that it failed does not.
                routine = isinstance(what, ev.ToolFinished) and not what.failed
                return "" if routine and not verbose else text


def _ended(result: RunResult) -> tuple[str, ...]:
    """Return how a task ended, why if it failed, what to do, and what else is worth knowing."""
    word = shown_state(result.status).word
    ended = f"{word} after {length(result.duration_ms)}"
    return (ended, *ending_lines(result.error_message, result.notes))


def _fitting(text: str, name: str) -> str:
    """Return the text as one line that fits behind a name in brackets."""
    width = columns()
    if width is None:
        return one_line(text, max(WIDE - len(name) - 3, LEAST))
    room = max(width - cells(name) - 3, LEAST)
    return cut(one_line(text, room), room)


def run_stoppable(
    console: Console,
    options: Options,
    work: Callable[[Options], Coroutine[Any, Any, T]],
    *,
    plain: bool,
) -> tuple[T, bool]:
    """Run the work with progress and a switch that signals throw; return whether they did."""
    stop = StopSwitch()
    display = None if plain else _display(console)
    say = display.say if display else console.progress

    def on_signal() -> None:
        if stop.level == RUNNING:
            say(messages.DISPLAY_STOPPING)
            stop.stop()
        else:
            stop.force()

    async def guarded() -> T:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, on_signal)
        watched: Options = {
            **options,
            "stop": stop,
            "on_update": ProgressPrinter(console),
            "on_notice": console.notice,
            "columns": columns(),
        }
        if sys.stdin.isatty() and sys.stderr.isatty():
            watched["ask"] = partial(ask, console, stop=stop)
            watched["on_question"] = display.ask if display else partial(ask_for_line, console)
        if display is None:
            return await work(watched)
        watched["on_update"] = display.changed
        watched["on_notice"] = display.notice
        watched["on_windows"] = display.show
        try:
            return await work(watched)
        finally:
            display.close()

    value = asyncio.run(guarded())
    return value, stop.level > RUNNING


def columns() -> int | None:
    """Return how wide the terminal is that shows progress, wherever the answers go."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or FALLBACK_WIDTH
    except (OSError, ValueError):
        return None


def _display(console: Console) -> Display | None:
    """Return a display where a person watches; who wants more, or less, than windows gets lines."""
    if console.verbosity != Verbosity.NORMAL or not sys.stderr.isatty():
        return None
    from pi_subagents.faces.terminal.display import open_display

    return open_display(sys.stderr.fileno(), os.environ, tell=console.notice)


def delegate_live(
    console: Console,
    tasks: list[Task],
    options: Options,
    *,
    as_json: bool,
    plain: bool,
    most_rows: int | None = None,
) -> int:
    """Delegate, show what happens, print what came of it, and return the exit code."""
    profile = options.get("profile")
    delegation, stopped = run_stoppable(
        console,
        options,
        lambda watched: delegate_request(checked_request(tasks, profile), watched),
        plain=plain,
    )
    names = [window_title(window) for window in delegation.windows]
    if as_json:
        console.json(delegation.to_json())
    else:
        from pi_subagents.faces.cli.work.answers import print_answers

        print_answers(console, delegation.results, names, most_rows)
    if stopped:
        named = zip(delegation.results, names, strict=True)
        ended = [one_line(name, 60) for result, name in named if result.status == "aborted"]
        console.notice(f"Interrupted. Stopped: {', '.join(ended) or 'nothing was left to stop'}.")
        return EXIT_INTERRUPTED
    return 0 if all(result.completed for result in delegation.results) else EXIT_FAILED
