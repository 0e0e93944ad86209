"""The full-screen view, driven by textual's own pilot over real run directories."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.driver import PATIENCE_S
from tests.fakes.fleet_place import START_MS, USAGE, FleetPlace
from textual.widgets import Input, RichLog, Static, TextArea
from textual.widgets._footer import FooterKey

from pi_subagents.core.run import events as ev
from pi_subagents.errors import ResumeStillRunning
from pi_subagents.faces.watch import messages as watch_messages
from pi_subagents.faces.watch.app import WatchApp
from pi_subagents.faces.watch.dialogs import (
    AnswerQuestion,
    DiscardQuestion,
    Help,
    ResumeQuestion,
    SteerQuestion,
    StopQuestion,
    TakeQuestion,
)
from pi_subagents.faces.watch.fleet_list import HEADING_LINES, FleetList
from pi_subagents.faces.watch.patch import ChangesScreen
from pi_subagents.faces.watch.transcript import Transcript
from pi_subagents.service import messages as service_messages
from pi_subagents.service.fleet import Fleet
from pi_subagents.service.fleet_actions import ActionReport, FleetActions
from pi_subagents.view.fleet import WHICH

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from textual.pilot import Pilot

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the news are Linux's"),
]


@pytest.fixture
def place(tmp_path: Path) -> FleetPlace:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return FleetPlace(tmp_path / "project", {"HOME": str(tmp_path / "home")})


class Noted(FleetActions):
    """Actions that are written down instead of done."""

    def __init__(self, tell: Callable[[ActionReport], None]) -> None:
        self.tell = tell
        self.done: list[tuple[str, ...]] = []
        self.desktop = False

    def stop(self, run_id: str) -> ActionReport:
        self.done.append(("stop", run_id))
        return ActionReport("it is stopped [b]")

    def steer(self, run_id: str, message: str) -> ActionReport:
        self.done.append(("steer", run_id, message))
        return ActionReport("it has read that [b]")

    def answer(self, run_id: str, text: str, question: str = "") -> ActionReport:
        self.done.append(("answer", run_id, text, question))
        return ActionReport("it goes on [b]")

    def resume(self, run_id: str, prompt: str) -> ActionReport:
        self.done.append(("resume", run_id, prompt))
        return ActionReport("refused", bad=True)

    def changes(self, run_id: str) -> ActionReport:
        return ActionReport(f"changes of {run_id}\n-old\n+new [b]")

    def apply(self, run_id: str) -> ActionReport:
        self.done.append(("apply", run_id))
        return ActionReport("it is applied [b]")

    def discard(self, run_id: str) -> ActionReport:
        self.done.append(("discard", run_id))
        return ActionReport("it is discarded [b]")

    def open_on_desktop(self, path: str) -> bool:
        self.done.append(("open", path))
        return self.desktop


class HeardApp(WatchApp):
    """The app, and what it has said to the person before it."""

    heard: tuple[str, ...] = ()

    def notify(self, message: str, **options: Any) -> None:
        self.heard += (message,)
        super().notify(message, **options)


@dataclass
class Seen:
    """A person before the app."""

    app: HeardApp
    pilot: Pilot[None]
    actions: Noted

    def shown(self) -> list[str]:
        """Return the lines of the list that are in view, without their blanks at the end."""
        widget = self.app.screen_stack[0].query_one(FleetList)
        lines = (widget.render_line(y).text.rstrip() for y in range(widget.size.height))
        return [line for line in lines if line]

    def listed(self) -> int:
        """Return how many runs the list has, in view or not."""
        size = self.app.screen_stack[0].query_one(FleetList).virtual_size
        return size.height - HEADING_LINES

    def line(self, name: str) -> str:
        widget = self.app.screen_stack[0].query_one(f"#{name}", Static)
        return str(widget.render())

    def keys_in_view(self) -> list[str]:
        """Return what the keys of the last line do, as far as it is not cut."""
        room = self.app.size.width
        keys = self.app.screen.query(FooterKey)
        return [key.description for key in keys if 0 < key.region.right <= room]

    def box(self) -> tuple[int, int, int, int]:
        """Return where the box of a dialog is, and how large."""
        x, y, width, height = self.app.screen.query_one(".box").region
        return x, y, width, height

    def said(self) -> list[str]:
        return list(self.app.heard)

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not true():
                await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()


@asynccontextmanager
async def watching(
    place: FleetPlace, *, size: tuple[int, int] = (110, 24), machine: bool = False
) -> AsyncIterator[Seen]:
    made: list[Noted] = []

    def actions(tell: Callable[[ActionReport], None]) -> Noted:
        made.append(Noted(tell))
        return made[-1]

    app = HeardApp(Fleet(place.runs, place.env, machine=machine), actions, machine=machine)
    async with app.run_test(size=size) as pilot:
        seen = Seen(app, pilot, made[0])
        await seen.until(lambda: watch_messages.LOADING not in "".join(seen.shown()))
        yield seen
    assert app.failure is None


async def test_runs_are_listed_with_the_totals_and_followed(place: FleetPlace) -> None:
    place.finished("old", output="Done.", usage=USAGE)
    run = place.going_on("new")
    async with watching(place) as seen:
        run.does(ev.StateChanged("running"), ev.AssistantMessage("I look.", model="mini"))
        await seen.until(lambda: "I look." in "".join(seen.shown()))
        heading, new, old = seen.shown()
        assert heading.split() == [
            "STATUS",
            "AGE",
            "TIME",
            "TASK",
            "MODEL",
            "LAST",
            "TOKENS",
            "COST",
        ]
        assert [word for word in new.split() if not word.endswith("d")] == [
            " ▌●".strip(), "running", "new", "mini", "I", "look.", "-", "-",
        ]  # fmt: skip
        assert old.split()[:2] == ["✓", "completed"]
        assert old.split()[-2:] == ["1.2k", "$0.5000"]
        assert seen.line("totals").startswith("1 active · 1 completed · today ")
        assert seen.line("wanted") == "all  active  completed  failed  stopped  interrupted"
        run.ends(output="Found.")
        await seen.until(lambda: "Found." in "".join(seen.shown()))


async def test_the_choice_stays_with_its_run_and_moves_by_keys(place: FleetPlace) -> None:
    for name in ("a", "b", "c"):
        place.finished(name)
    async with watching(place, size=(110, 10)) as seen:
        fleet = seen.app.query_one(FleetList)

        def chosen() -> str:
            assert fleet.chosen is not None
            return fleet.chosen.name

        assert chosen() == "c"
        await seen.press("down")
        assert chosen() == "b"
        place.finished("d")
        await seen.until(lambda: "d " in "".join(seen.shown()))
        assert chosen() == "b"
        for keys, name in ((("end",), "a"), (("down",), "a"), (("k",), "b"), (("home", "up"), "d"),
                           (("j", "pagedown"), "a"), (("pageup",), "d")):  # fmt: skip
            await seen.press(*keys)
            assert chosen() == name
        assert "run 00040000" in seen.line("details")


async def test_what_is_chosen_is_always_in_view(place: FleetPlace) -> None:
    for number in range(30):
        place.finished(f"run-{number:02}")
    async with watching(place, size=(110, 13)) as seen:
        for key, name in (("end", "run-00"), ("home", "run-29"), ("pagedown", "run-2")):
            await seen.press(key)
            await seen.until(lambda: any("▌" in line for line in seen.shown()))
            (line,) = [line for line in seen.shown() if "▌" in line]
            assert name in line
        place.finished("one more")  # pushes it down
        await seen.until(lambda: seen.listed() == 31)
        assert any("▌" in line for line in seen.shown())
        room = len(seen.shown())
        await seen.pilot.resize_terminal(110, 9)
        await seen.until(lambda: len(seen.shown()) < room)
        await seen.until(lambda: any("▌" in line for line in seen.shown()))


async def test_what_was_scrolled_to_stays_in_view_when_runs_change(place: FleetPlace) -> None:
    for number in range(20):
        place.finished(f"run-{number:02}")
    async with watching(place, size=(110, 12)) as seen:
        fleet = seen.app.query_one(FleetList)

        def scrolled() -> bool:
            fleet.scroll_to(y=10, animate=False, immediate=True)
            return fleet.scroll_offset.y == 10

        await seen.until(lambda: seen.listed() == 20 and "run" in seen.line("details"))
        await seen.pilot.pause()  # what is chosen has come into view
        await seen.until(scrolled)
        place.finished("one more")
        await seen.until(lambda: seen.listed() == 21)
        await seen.pilot.pause()
        assert fleet.scroll_offset.y == 10
        assert fleet.chosen is not None
        assert fleet.chosen.name == "run-19"


async def test_the_mouse_chooses_and_opens(place: FleetPlace) -> None:
    place.finished("a")
    place.finished("b")
    async with watching(place) as seen:
        await seen.pilot.click(FleetList, offset=(5, 2))
        fleet = seen.app.query_one(FleetList)
        assert fleet.chosen is not None
        assert fleet.chosen.name == "a"
        await seen.pilot.click(FleetList, offset=(5, 0))
        await seen.pilot.click(FleetList, offset=(5, 15))
        assert fleet.chosen.name == "a"
        await seen.pilot.double_click(FleetList, offset=(5, 1))
        await seen.until(lambda: isinstance(seen.app.screen, Transcript))
        assert fleet.chosen.name == "b"


async def test_words_filter_while_they_are_typed(place: FleetPlace) -> None:
    for name in ("apple pie", "pear", "apple juice"):
        place.finished(name)
    async with watching(place) as seen:
        await seen.press("slash", *"ap")
        seen.app.query_one(Input).value += "ple pie"
        await seen.until(lambda: len(seen.shown()) == 2)
        assert "apple pie" in seen.shown()[1]
        assert seen.line("wanted").endswith("  / apple pie")
        await seen.press("enter")
        assert seen.app.query_one(FleetList).has_focus
        assert len(seen.shown()) == 2
        await seen.press("escape")
        await seen.until(lambda: len(seen.shown()) == 4)
        assert seen.app.query_one(Input).value == ""
        await seen.press("slash")
        seen.app.query_one(Input).value = "[b]x"
        await seen.until(lambda: len(seen.shown()) == 2)
        assert seen.line("wanted").endswith("/ [b]x")
        assert seen.shown()[1].strip() == watch_messages.NOTHING_WANTED


async def test_runs_are_listed_by_how_they_stand(place: FleetPlace) -> None:
    place.finished("good")
    place.finished("bad", status="failed")
    place.finished("enough", status="aborted")
    place.finished("lost", status="interrupted")
    run = place.going_on("working")
    async with watching(place) as seen:
        listed = []
        for _ in WHICH:
            listed.append([" ".join(line.split()[:2]).strip("▌ ") for line in seen.shown()[1:]])
            await seen.press("f")
            await seen.pilot.pause()
        states = ["○ waiting", "! interrupted", "■ stopped", "✗ failed", "✓ completed"]
        assert (listed[0], listed[1:]) == (
            states, [[states[0]], [states[4]], [states[3]], [states[2]], [states[1]]],
        )  # fmt: skip
        assert seen.line("totals").startswith(
            "1 active (1 waiting) · 1 completed · 1 failed · 1 stopped · 1 interrupted · "
        )
        await seen.press("f")
        await seen.pilot.pause()
        assert "working" in seen.shown()[1]
        seen.app.action_which("failed")
        await seen.pilot.pause()
        assert "bad" in seen.shown()[1]
        run.ends()


async def test_a_click_on_a_word_of_the_filter_counts(place: FleetPlace) -> None:
    place.finished("good")
    async with watching(place) as seen:
        await seen.pilot.click("#wanted", offset=(6, 0))  # active
        await seen.until(lambda: watch_messages.NOTHING_WANTED in "".join(seen.shown()))


async def test_every_clock_goes_on_while_nothing_happens(
    place: FleetPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.finished("old")
    run = place.going_on("new")
    run.does(ev.StateChanged("running"))
    now_s = START_MS / 1000 + 5
    monkeypatch.setattr(time, "time_ns", lambda: int(now_s * 1e9))
    async with watching(place) as seen:
        await seen.until(lambda: seen.shown()[1].split()[2:4] == ["4s", "4s"])
        assert seen.shown()[2].split()[2:4] == ["4s", "1s"]
        assert "running for 4s" in seen.line("details")
        now_s += 1
        await seen.until(lambda: seen.shown()[1].split()[2:4] == ["5s", "5s"])
        assert seen.shown()[2].split()[2:4] == ["5s", "1s"]
        await seen.until(lambda: "running for 5s" in seen.line("details"))
        await seen.press("enter")
        await seen.until(lambda: isinstance(seen.app.screen, Transcript))
        heading = seen.app.screen.query_one("#heading", Static)
        await seen.until(lambda: str(heading.render()).startswith("● running for 5s"))
        now_s += 60
        await seen.until(lambda: str(heading.render()).startswith("● running for 1m5s"))
    run.ends()


async def test_a_run_from_near_begins_with_its_whole_task(place: FleetPlace) -> None:
    run = place.going_on("task-1", task="Count the files.\nThen say how many.", taskLength=35)
    run.does(ev.StateChanged("running"), ev.AssistantMessage("Two."))
    async with watching(place) as seen:
        await seen.until(lambda: "Count the files." in seen.shown()[1])
        await seen.press("enter")
        await seen.until(lambda: isinstance(seen.app.screen, Transcript))
        await seen.until(lambda: "Two." in log_of(seen))
        assert log_of(seen)[:4] == ["Task", "Count the files.", "Then say how many.", ""]
    run.ends()


async def test_a_run_that_failed_says_why_and_what_to_do_when_it_is_opened(
    place: FleetPlace,
) -> None:
    raw = '429 {"error": {"type": "rate_limit_error", "message": "slow down"}}'
    place.finished("fix", status="failed", error_message=raw)
    async with watching(place) as seen:
        await seen.until(lambda: "The provider limits how often" in seen.shown()[1])
        await seen.press("enter")
        await seen.until(lambda: isinstance(seen.app.screen, Transcript))
        ending = seen.app.screen.query_one("#ending", Static)
        await seen.until(lambda: ending.display)
        assert str(ending.render()).split("\n") == [
            "The provider limits how often it is asked (429).",
            "Wait a little, or run fewer at once: --concurrency 1.",
        ]


def log_of(seen: Seen) -> list[str]:
    return [strip.text.rstrip() for strip in seen.app.screen.query_one(RichLog).lines]


@pytest.mark.parametrize("key", ["enter", "o", "ctrl+o"])
async def test_a_transcript_is_opened_and_followed(place: FleetPlace, key: str) -> None:
    run = place.going_on("new")
    run.does(ev.StateChanged("running"), ev.AssistantMessage("First [b]words[/b]."))
    async with watching(place) as seen:
        wanted = seen.line("wanted")
        await seen.press(key)
        await seen.until(lambda: isinstance(seen.app.screen, Transcript))
        await seen.until(lambda: "First [b]words[/b]." in log_of(seen))
        run.does(ev.AssistantMessage("Later."))
        await seen.until(lambda: "Later." in log_of(seen))
        run.ends()
        screen = seen.app.screen
        await seen.until(
            lambda: str(screen.query_one("#heading", Static).render()).startswith("✓ completed")
        )
        await seen.press("f", "slash", "enter")  # of the list only
        assert seen.app.screen_stack[1:] == [screen]
        assert seen.line("wanted") == wanted
        assert not seen.app.screen_stack[0].query_one(Input).has_class("asked")
        await seen.press("escape")
        assert not isinstance(seen.app.screen, Transcript)
        await seen.press(key)
        await seen.until(lambda: isinstance(seen.app.screen, Transcript))
        assert seen.app.return_code is None
        await seen.pilot.press("ctrl+c")
        assert seen.app.return_code == 0


async def test_news_that_come_before_the_transcript_is_there_are_in_it(place: FleetPlace) -> None:
    place.going_on("new").does(ev.AssistantMessage("First."))
    async with watching(place) as seen:
        (row,) = Fleet(place.runs, place.env).read_once()
        screen = Transcript(row)
        screen.look(row)
        seen.app.push_screen(screen)
        await seen.until(lambda: screen.is_mounted and "First." in log_of(seen))


async def test_news_that_come_while_the_transcript_goes_end_nothing(place: FleetPlace) -> None:
    place.going_on("new").does(ev.AssistantMessage("said"))
    async with watching(place) as seen:
        (row,) = Fleet(place.runs, place.env).read_once()
        screen = Transcript(row)
        await seen.app.push_screen(screen)
        await screen.query("*").remove()
        screen.look(row)
        assert screen.is_running


async def test_a_long_transcript_stays_where_it_is_read(place: FleetPlace) -> None:
    run = place.going_on("new")
    run.does(*(ev.AssistantMessage(f"line {number}") for number in range(100)))
    async with watching(place) as seen:
        await seen.press("enter")
        await seen.until(lambda: "line 99" in log_of(seen))
        log = seen.app.screen.query_one(RichLog)
        await seen.until(lambda: log.is_vertical_scroll_end)
        await seen.press("home")
        await seen.until(lambda: log.scroll_y == 0)
        run.does(ev.AssistantMessage("line 100"))
        await seen.until(lambda: "line 100" in log_of(seen))
        assert log.scroll_y == 0
        await seen.press("G")
        await seen.until(lambda: log.is_vertical_scroll_end)
        await seen.pilot.resize_terminal(40, 12)
        await seen.until(lambda: log.is_vertical_scroll_end and "line 100" in log_of(seen))
        run.ends()


async def test_changes_are_shown_and_taken_or_thrown_away_after_a_yes(place: FleetPlace) -> None:
    run = place.finished("old")
    async with watching(place) as seen:
        await seen.press("v")
        await seen.until(lambda: isinstance(seen.app.screen, ChangesScreen))
        await seen.until(lambda: "+new [b]" in log_of(seen))
        await seen.press("escape")
        for key, question, what in (
            ("t", TakeQuestion, "apply"),
            ("x", DiscardQuestion, "discard"),
        ):
            await seen.press(key)
            assert isinstance(seen.app.screen, question)
            await seen.press("enter")
            assert ("apply", run.run_id) not in seen.actions.done[1:]
            await seen.press(key, "y")
            await seen.until(lambda what=what: (what, run.run_id) in seen.actions.done)  # type: ignore[misc]  # bound now
        assert [what for what, _ in seen.actions.done] == ["apply", "discard"]


async def test_a_run_is_stopped_only_after_a_yes(place: FleetPlace) -> None:
    run = place.going_on("new [b]")
    async with watching(place) as seen:
        for answer in ("n", "escape", "enter"):
            await seen.press("s")
            assert isinstance(seen.app.screen, StopQuestion)
            await seen.press(answer)
            assert not isinstance(seen.app.screen, StopQuestion)
        assert seen.actions.done == []
        await seen.press("s", "y")
        await seen.until(lambda: "it is stopped [b]" in seen.said())
        assert seen.actions.done == [("stop", run.run_dir.run_id)]
        await seen.press("s")
        await seen.pilot.click("#yes")
        await seen.until(lambda: len(seen.actions.done) == 2)
        run.ends()
        await seen.until(lambda: "completed" in seen.shown()[1])
        await seen.press("s")
        assert service_messages.RUN_IS_OVER in seen.said()


async def test_what_a_run_asks_is_shown_and_answered(place: FleetPlace) -> None:
    run = place.going_on("new [b]")
    async with watching(place) as seen:
        await seen.press("a")
        assert service_messages.ASKS_NOTHING in seen.said()
        run.does(ev.StateChanged("running"))
        run.asks("Which [b]database?\x1b[2J", "staging", "production")
        await seen.until(lambda: "asks" in seen.shown()[1])
        await seen.press("a")
        assert isinstance(seen.app.screen, AnswerQuestion)
        question = str(seen.app.screen.query_one(".question", Static).content)
        assert question == "new [b] asks:\nWhich [b]database?\n1. staging\n2. production"
        await seen.press("escape", "a", "2", "enter")
        await seen.until(lambda: "it goes on [b]" in seen.said())
        assert seen.actions.done == [("answer", run.run_dir.run_id, "2", "1")]
        run.ends()


async def test_a_run_at_work_is_sent_a_message(place: FleetPlace) -> None:
    run = place.going_on("new [b]")
    async with watching(place) as seen:
        await seen.press("m")
        assert isinstance(seen.app.screen, SteerQuestion)
        assert seen.box() == (25, 6, 60, 12)  # the question takes two lines
        await seen.press("x", "escape", "m", "enter")  # turned back, then nothing to say
        assert isinstance(seen.app.screen, SteerQuestion)
        await seen.press(*"mq s", "enter")
        await seen.until(lambda: "it has read that [b]" in seen.said())
        assert watch_messages.steering("new [b]") in seen.said()
        assert seen.actions.done == [("steer", run.run_dir.run_id, "mq s")]
        await seen.press("o", "m")  # from the transcript, too
        assert isinstance(seen.app.screen_stack[1], Transcript)
        below = list(seen.app.screen_stack[1].active_bindings.values())
        assert not {"Open", "Filter", "Status"} & {each.binding.description for each in below}
        await seen.press("y", "enter")
        await seen.until(lambda: len(seen.actions.done) == 2)
        run.ends()
        await seen.until(lambda: "completed" in seen.shown()[1])
        await seen.press("m")
        assert service_messages.RUN_IS_OVER in seen.said()
        assert not isinstance(seen.app.screen, SteerQuestion)


async def test_a_session_goes_on_with_a_new_prompt(place: FleetPlace) -> None:
    done = place.finished("old")
    async with watching(place) as seen:
        await seen.press("r")
        assert isinstance(seen.app.screen, ResumeQuestion)
        assert seen.box() == (25, 6, 60, 11)
        await seen.press("enter")  # nothing to go on with
        assert isinstance(seen.app.screen, ResumeQuestion)
        await seen.press(*"a q", "ctrl+j", "b")
        assert seen.app.screen.query_one(TextArea).text == "a q\nb"
        await seen.press("enter")
        await seen.until(lambda: "refused" in seen.said())
        assert seen.actions.done == [("resume", done.run_id, "a q\nb")]
        await seen.press("r", "x", "escape")
        assert len(seen.actions.done) == 1


async def test_a_session_at_work_is_asked_for_no_prompt(place: FleetPlace) -> None:
    place.finished("old", "a-session")
    run = place.going_on("new", "a-session")
    refusal = service_messages.not_resumed(str(ResumeStillRunning("a-session")))
    async with watching(place) as seen:
        await seen.press("r", "down", "r")  # neither by the run nor by an earlier one
        assert seen.said() == [refusal, refusal]
        assert seen.app.screen is seen.app.screen_stack[0]
        run.ends()


async def test_id_and_directory_can_be_had(place: FleetPlace) -> None:
    done = place.finished("old")
    async with watching(place) as seen:
        await seen.press("c")
        assert seen.app.clipboard == done.run_id
        await seen.press("d")
        assert seen.app.clipboard == str(done.path)
        seen.actions.desktop = True
        await seen.press("c", "d")
        assert seen.said()[-1] == watch_messages.opened(str(done.path))
        assert seen.app.clipboard == done.run_id


async def test_the_keys_are_told(place: FleetPlace) -> None:
    async with watching(place) as seen:
        await seen.press("question_mark")
        assert isinstance(seen.app.screen, Help)
        await seen.press("escape")
        assert not isinstance(seen.app.screen, Help)


@pytest.mark.parametrize(
    ("machine", "text"),
    [(False, watch_messages.NO_RUNS), (True, watch_messages.NO_RUNS_ANYWHERE)],
)
async def test_where_there_is_nothing_keys_do_nothing(
    place: FleetPlace, machine: bool, text: str
) -> None:
    async with watching(place, machine=machine, size=(110, 24)) as seen:
        assert seen.shown()[1].strip() == text
        await seen.press("enter", "s", "r", "c", "d", "down", "end", "pageup")
        assert seen.app.screen is seen.app.screen_stack[0]
        assert seen.actions.done == []
        place.finished("first")
        await seen.until(lambda: "first" in "".join(seen.shown()))


async def test_forty_columns_are_enough(place: FleetPlace) -> None:
    run = place.going_on("a name that is quite long", "a-session")
    run.does(ev.StateChanged("running"), ev.AssistantMessage("and words that are longer still"))
    async with watching(place, size=(40, 15)) as seen:
        await seen.until(lambda: "and words" in "".join(seen.shown()))
        heading, line = seen.shown()
        assert heading.split() == ["AGE", "TASK", "LAST"]
        assert len(line) <= 40
        assert line.startswith("▌●")
        assert "a name that…" in line
        assert seen.line("totals") == "1 active · today 0 tokens"
        await seen.until(lambda: seen.keys_in_view()[:3] == ["Keys", "Leave", "Open"])
        run.ends()


async def test_what_an_action_finds_out_later_is_said(place: FleetPlace) -> None:
    async with watching(place) as seen:
        seen.actions.tell(ActionReport("Not resumed: why", bad=True))
        await seen.until(lambda: seen.said() == ["Not resumed: why"])


async def test_a_view_that_cannot_follow_ends_and_says_why(
    place: FleetPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(place.runs, place.env)

    def broken(_: object) -> None:
        raise OSError("broken")

    monkeypatch.setattr(fleet, "follow", broken)
    app = WatchApp(fleet, Noted, machine=False)
    async with app.run_test() as pilot:
        async with asyncio.timeout(PATIENCE_S):
            while app.failure is None:
                await pilot.pause()
    assert str(app.failure) == "broken"
