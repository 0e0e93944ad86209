"""
The full-screen view in a terminal: list, filter, totals, and what can be done to a run.

In: a fleet, actions.  Out: a screen that follows the disk until the user leaves.  A thread of its
own waits for news, so the keys always answer; while nothing changes, only the clocks are painted.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Footer, Input, Static

from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.core.run.messages import question_shown
from pi_subagents.errors import ResumeStillRunning
from pi_subagents.faces.watch import messages
from pi_subagents.faces.watch.dialogs import (
    AnswerQuestion,
    DiscardQuestion,
    Help,
    ResumeQuestion,
    SteerQuestion,
    StopQuestion,
    TakeQuestion,
)
from pi_subagents.faces.watch.fleet_list import FleetList
from pi_subagents.faces.watch.once import today_ms
from pi_subagents.faces.watch.patch import ChangesScreen
from pi_subagents.faces.watch.transcript import Transcript
from pi_subagents.service import messages as service_messages
from pi_subagents.view.fleet import WHICH, Wanted, Which, arranged, totals
from pi_subagents.view.fleet_table import details, totals_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.screen import ModalScreen

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.service.fleet import Fleet
    from pi_subagents.service.fleet_actions import ActionReport, FleetActions

TICK_S = 1.0
MAX_NAME = 60
OF_THE_LIST = ("open", "filter", "next_which", "clear", "quit")


class WatchApp(App[None]):
    """All runs, live."""

    TITLE = "subagents watch"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #totals { height: 1; padding: 0 1; text-style: bold; background: $surface-lighten-1; }
    #wanted { height: 1; padding: 0 1; color: $text-muted; }
    #words { display: none; height: 1; border: none; padding: 0 1; }
    #words.asked { display: block; }
    #details { height: auto; max-height: 3; padding: 0 1; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        # In the order of the last line, which a narrow terminal cuts: first what leads to the rest.
        Binding("question_mark", "help", "Keys", key_display="?"),
        Binding("q,ctrl+c", "quit", "Leave"),
        Binding("enter,o,ctrl+o", "open", "Open", key_display="⏎"),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("f", "next_which", "Status"),
        Binding("s", "stop", "Stop"),
        Binding("m", "steer", "Message"),
        Binding("a", "answer", "Answer"),
        Binding("r", "resume", "Resume"),
        Binding("c", "copy_id", "Copy id"),
        Binding("d", "directory", "Directory"),
        Binding("v", "changes", "Changes", show=False),
        Binding("t", "take", "Apply", show=False),
        Binding("x", "discard", "Discard", show=False),
        Binding("escape", "clear", show=False),
    ]

    def __init__(
        self,
        fleet: Fleet,
        actions: Callable[[Callable[[ActionReport], None]], FleetActions],
        *,
        machine: bool,
    ) -> None:
        super().__init__()
        self._fleet = fleet
        self._actions = actions(partial(self._in_loop, self._report))
        self.failure: BaseException | None = None
        self._machine = machine
        self._wanted = Wanted()
        self._rows: tuple[RunRecord, ...] = ()
        self._home = os.environ.get("HOME", "")
        self._totals = Static(id="totals", markup=False)
        self._filter = Static(id="wanted")
        self._words = Input(id="words", placeholder="words to look for", compact=True)
        self._list = FleetList()
        self._details = Static(id="details", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the list with what stands above and below it."""
        yield self._totals
        yield self._filter
        yield self._words
        yield self._list
        yield self._details
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Begin to follow; a signal to end leaves the terminal as it was."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit)
        self._list.focus()
        self._paint_wanted()
        self.set_interval(TICK_S, self._tick)
        self._in_thread(partial(self._fleet.follow, partial(self._in_loop, self._take)))

    def on_resize(self) -> None:
        """Use fewer words where there is less room."""
        self.call_after_refresh(self._paint_totals)

    def on_unmount(self) -> None:
        """End the thread that follows."""
        self._fleet.close()

    def _report(self, report: ActionReport) -> None:
        """Show how an action went."""
        self.notify(report.text, severity="error" if report.bad else "information", markup=False)

    def _break(self, failure: BaseException) -> None:
        """End: what does not follow the disk any more would show untruths."""
        self.failure = failure
        self.exit()

    def _take(self) -> None:
        """Show the rows as they are now."""
        self._rows = self._fleet.rows
        none = messages.NO_RUNS_ANYWHERE if self._machine else messages.NO_RUNS
        self._list.empty_text = messages.NOTHING_WANTED if self._rows else none
        self._list.show(arranged(self._rows, self._wanted))
        self._paint_totals()
        for screen in self.screen_stack:
            if isinstance(screen, Transcript):
                same = (row for row in self._rows if row.run_id == screen.row.run_id)
                screen.look(next(same, screen.row))

    def _current(self) -> RunRecord | None:
        """Return the run that a key is meant for: the one that is read, or the chosen one."""
        if isinstance(self.screen, Transcript):
            return self.screen.row
        return self._list.chosen

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what belongs to the list only there, not below a dialog over a transcript."""
        del parameters
        reading = any(isinstance(screen, Transcript) for screen in self.screen_stack)
        return action not in OF_THE_LIST or not reading

    # What is painted

    def _tick(self) -> None:
        """Let every clock go on."""
        self._list.refresh()
        self._paint_totals()  # the day may have changed
        self._paint_details()
        for screen in self.screen_stack:
            if isinstance(screen, Transcript):
                screen.tick()

    def _paint_totals(self) -> None:
        found = totals(self._rows, today_ms(), self._wanted.text)
        self._totals.update(totals_line(found, self._totals.content_size.width))

    def _paint_wanted(self) -> None:
        words = [
            Content.from_markup(
                f"[@click=app.which('{each}')]{f'[b r]{each}[/]' if here else each}[/]"
            )
            for each in WHICH
            for here in (each == self._wanted.which,)
        ]
        line = Content("  ").join(words)
        if self._wanted.text:
            line += Content(f"  / {self._wanted.text}")
        self._filter.update(line)

    def on_fleet_list_chosen(self) -> None:
        """Show more of the chosen run."""
        self._paint_details()

    def _paint_details(self) -> None:
        row = self._list.chosen
        now_ms = time.time_ns() // 1_000_000
        self._details.update(details(row, now_ms, self._home) if row else "")

    # What is wanted

    def action_filter(self) -> None:
        """Ask for words."""
        self._words.add_class("asked")
        self._words.focus()

    def action_which(self, which: Which) -> None:
        """List the runs that stand so."""
        self._want(Wanted(self._wanted.text, which))

    def action_next_which(self) -> None:
        """List the runs that stand otherwise."""
        self.action_which(WHICH[(WHICH.index(self._wanted.which) + 1) % len(WHICH)])

    def action_clear(self) -> None:
        """List everything again."""
        self._words.value = ""
        self._words.remove_class("asked")
        self._list.focus()
        self._want(Wanted())

    def on_input_changed(self, event: Input.Changed) -> None:
        """List what has these words, while they are typed."""
        self._want(Wanted(event.value, self._wanted.which))

    def on_input_submitted(self) -> None:
        """Go back to the list, which stays filtered."""
        self._words.remove_class("asked")
        self._list.focus()

    def _want(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._paint_wanted()
        self._take()

    # What is done to a run

    def on_fleet_list_opened(self) -> None:
        """Open what was clicked twice."""
        self.action_open()

    def action_open(self) -> None:
        """Show the transcript."""
        if row := self._current():
            self.push_screen(Transcript(row))

    def _active(self) -> RunRecord | None:
        """Return the run that a key is meant for, if it is active; show where it is not."""
        row = self._current()
        if row is not None and not row.active:
            self.notify(service_messages.RUN_IS_OVER)
            return None
        return row

    def action_stop(self) -> None:
        """Ask, then stop."""
        if row := self._active():
            question = StopQuestion(messages.stop_question(_name(row)))
            work = partial(self._actions.stop, row.run_id)
            self._ask(question, lambda _: work(), messages.stopping(_name(row)))

    def action_steer(self) -> None:
        """Ask for a message, then send it."""
        if row := self._active():
            question = SteerQuestion(messages.steer_question(_name(row)))
            work = partial(self._actions.steer, row.run_id)
            self._ask(question, work, messages.steering(_name(row)))

    def action_answer(self) -> None:
        """Show what it asks, then take an answer to that very question."""
        row = self._active()
        if row is None:
            return
        if (waiting := row.question) is None:
            self.notify(service_messages.ASKS_NOTHING)
            return
        asked = question_shown(_name(row), waiting.text, waiting.options)
        act = partial(self._actions.answer, row.run_id, question=waiting.id)
        self._ask(AnswerQuestion(printable(asked)), act)

    def action_resume(self) -> None:
        """Ask what to do now, then resume; ask nothing where it would be refused."""
        row = self._current()
        if row is None:
            return
        if any(each.active and each.session_id == row.session_id for each in self._rows):
            refusal = ResumeStillRunning(row.session_id)
            self.notify(service_messages.not_resumed(str(refusal)), markup=False)
            return
        question = ResumeQuestion(messages.resume_question(_name(row)))
        self._ask(question, partial(self._actions.resume, row.run_id))

    def action_copy_id(self) -> None:
        """Put the id on the clipboard."""
        if row := self._current():
            self._copy(row.run_id, row.short_id)

    def action_directory(self) -> None:
        """Show the directory on the desktop, or copy where it is."""
        if row := self._current():
            if self._actions.open_on_desktop(row.path):
                self.notify(messages.opened(row.path), markup=False)
            else:
                self._copy(row.path, row.path)

    def action_changes(self) -> None:
        """Show what it changed in its worktree."""
        if row := self._current():

            def show(report: ActionReport) -> None:
                if report.bad:
                    self._report(report)
                else:
                    self.push_screen(ChangesScreen(report.text))

            work = partial(self._actions.changes, row.run_id)
            self._in_thread(lambda: self._in_loop(show, work()))

    def action_take(self) -> None:
        """Ask, then take what it changed."""
        if row := self._current():
            work = partial(self._actions.apply, row.run_id)
            self._ask(TakeQuestion(messages.take_question(_name(row))), lambda _: work())

    def action_discard(self) -> None:
        """Ask, then throw away what it changed."""
        if row := self._current():
            work = partial(self._actions.discard, row.run_id)
            self._ask(DiscardQuestion(messages.discard_question(_name(row))), lambda _: work())

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(Help())

    def _copy(self, text: str, shown: str) -> None:
        self.copy_to_clipboard(text)
        self.notify(messages.copied(shown), markup=False)

    def _ask(
        self, question: ModalScreen[Any], act: Callable[[Any], ActionReport], notice: str = ""
    ) -> None:
        """Ask, then do in a thread what the answer says, and show how it went."""

        def answered(answer: object) -> None:
            if answer:
                if notice:
                    self.notify(notice, markup=False)
                self._in_thread(lambda: self._in_loop(self._report, act(answer)))

        self.push_screen(question, answered)

    def _in_loop(self, work: Callable[..., None], *given: object) -> None:
        """Do something for another thread, which does not wait for it."""
        self.call_later(work, *given)

    def _in_thread(self, work: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - shown where the user is
                self._in_loop(self._break, error)

        threading.Thread(target=guarded, name="watch", daemon=True).start()


def _name(row: RunRecord) -> str:
    return one_line(row.title, MAX_NAME)
