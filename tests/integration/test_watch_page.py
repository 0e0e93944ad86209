"""The page in a real browser: it shows what is on the disk, obeys keys, and runs nobody's text."""

from __future__ import annotations

import json
import struct
import threading
import time
from typing import TYPE_CHECKING

import pytest
from scripts.screenshot_chromium import Browser, a_browser
from tests.fakes.chromium import needs_chromium
from tests.fakes.driver import PATIENCE_S
from tests.fakes.fleet_place import USAGE, FleetPlace

from pi_subagents.core.run import events as ev
from pi_subagents.errors import ResumeStillRunning
from pi_subagents.faces.watch.web import WatchServer
from pi_subagents.faces.watch.web_stream import Hub
from pi_subagents.service import messages
from pi_subagents.service.fleet import Fleet
from pi_subagents.service.fleet_actions import ActionReport, FleetActions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = needs_chromium
EVIL = "<img src=x onerror=alert(1)><script>document.title='evil'</script>"


class Noted(FleetActions):
    """Actions that are written down instead of done."""

    def __init__(self) -> None:
        self.done: list[tuple[str, ...]] = []

    def stop(self, run_id: str) -> ActionReport:
        self.done.append(("stop", run_id))
        return ActionReport(f"stopped {EVIL}")

    def steer(self, run_id: str, message: str) -> ActionReport:
        self.done.append(("steer", run_id, message))
        return ActionReport(f"read {EVIL}")

    def resume(self, run_id: str, prompt: str) -> ActionReport:
        self.done.append(("resume", run_id, prompt))
        return ActionReport("goes on")

    def changes(self, run_id: str) -> ActionReport:
        self.done.append(("changes", run_id))
        return ActionReport(f"1 file changed\n\ndiff --git a/x b/x\n@@ -1 +1 @@\n-old\n+{EVIL}")

    def apply(self, run_id: str) -> ActionReport:
        self.done.append(("apply", run_id))
        return ActionReport("applied")

    def discard(self, run_id: str) -> ActionReport:
        self.done.append(("discard", run_id))
        return ActionReport("discarded")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as one:
        yield one


@pytest.fixture
def place(tmp_path: Path) -> FleetPlace:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return FleetPlace(tmp_path / "project", {"HOME": str(tmp_path / "home")})


@pytest.fixture
def actions() -> Noted:
    return Noted()


@pytest.fixture
def address(place: FleetPlace, actions: Noted) -> Iterator[str]:
    hub = Hub(Fleet(place.runs, place.env))
    with WatchServer(0, hub, actions) as server:
        hub.start()
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        yield server.guard.address
        hub.close()
        server.shutdown()
        serving.join(PATIENCE_S)


def names(browser: Browser) -> list[str]:
    found = browser.asks("[...document.querySelectorAll('#rows .name')].map((e) => e.textContent)")
    assert isinstance(found, list)
    return found


def test_the_page_follows_the_runs_and_obeys_the_keys(
    browser: Browser, place: FleetPlace, actions: Noted, address: str
) -> None:
    place.finished("old", output="Done.", usage=USAGE)
    run = place.going_on("new", "a-session")
    browser.size(1100, 700)
    browser.open(address)
    browser.sees("1 waiting")
    assert names(browser) == ["new", "old"]

    run.does(ev.StateChanged("running"), ev.AssistantMessage(f"I look. {EVIL}"))
    browser.sees("I look. <img")

    browser.press("k")  # the first that was listed is chosen, and that may be the older one
    browser.press("o", ctrl=True)
    browser.sees("run 00020000 · session a-sessio · ")
    run.does(ev.AssistantMessage("Later words."))
    browser.until("document.getElementById('said').innerText.includes('Later words.')")
    picture = browser.picture()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", picture[16:24]) == (1100, 700)

    browser.press("m")
    browser.until("document.activeElement.id === 'message'")
    browser.types("Look at src. s")
    browser.press("Enter")
    browser.sees("read <img")
    assert actions.done == [("steer", run.run_dir.run_id, "Look at src. s")]
    assert browser.asks("document.getElementById('message').value") == ""
    actions.done.clear()
    browser.press("Escape")
    browser.until("document.activeElement.id !== 'message'")

    browser.press("s")
    browser.sees("Stop new?")
    browser.press("Enter")  # the focus is on the harmless answer
    assert actions.done == []
    browser.press("s")
    browser.until("document.getElementById('ask-stop').open")
    browser.click("#ask-stop button[value=yes]")
    browser.sees("stopped <img")
    assert actions.done == [("stop", run.run_dir.run_id)]

    run.ends(output="Found.")
    browser.sees("✓ completed after 1s · new")
    # The list hears of it by itself, perhaps a moment later.
    browser.until("document.querySelector('#rows tr').innerText.includes('completed')")
    browser.press("s")
    browser.sees("It has already ended.")
    browser.press("r")
    browser.until("document.activeElement.tagName === 'TEXTAREA'")
    browser.types("Now fix it.\nAll of it.")
    browser.press("Enter", ctrl=True)
    browser.sees("goes on")
    assert actions.done[1:] == [("resume", run.run_dir.run_id, "Now fix it.\nAll of it.")]

    browser.press("Escape")
    browser.until("!document.getElementById('near').classList.contains('open')")
    # Whatever the runs said, it was text.
    assert browser.asks("document.title") == "subagents watch"
    assert browser.asks("document.querySelectorAll('img, script').length") == 1


def test_the_list_is_filtered_and_the_keys_are_told(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    place.finished("old")
    place.finished("new")
    browser.open(address)
    browser.until("document.querySelectorAll('#rows tr').length === 2")
    browser.press("?", shift=True)
    browser.until("document.getElementById('keys').open")
    browser.press("Escape")
    browser.until("!document.getElementById('keys').open")

    browser.press("/")
    browser.types("old")
    browser.until("document.querySelectorAll('#rows tr').length === 1")
    assert names(browser) == ["old"]
    browser.press("Escape")
    browser.until("document.querySelectorAll('#rows tr').length === 2")
    browser.press("f")
    browser.sees("No run matches the filter.")
    browser.click("[data-which=all]")
    browser.until("document.querySelectorAll('#rows tr').length === 2")
    browser.press("ArrowDown")
    assert browser.asks("document.querySelector('.chosen .name').textContent") == "old"


def test_an_open_run_shows_its_whole_task_and_a_clock_that_runs(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    task = "Look around.\nThen say what you saw."
    began = time.time_ns() // 1_000_000
    run = place.going_on("task-1", task=task, taskLength=len(task), startedAt=began)
    run.does(ev.StateChanged("running"))
    browser.size(1100, 700)
    browser.open(address)
    browser.sees("Look around. Then say what you saw.")
    browser.press("Enter")
    browser.until(
        "document.getElementById('said').innerText.startsWith('Task\\nLook around.\\nThen')"
    )
    heading = "document.getElementById('heading').innerText"
    browser.until(f"/^● running for \\d/.test({heading})")
    seen = browser.asks(heading)
    browser.until(f"{heading} !== {json.dumps(seen)}")
    run.ends()


def test_an_open_run_that_failed_says_why_and_what_to_do(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    raw = '429 {"error": {"type": "rate_limit_error", "message": "slow down"}}'
    place.finished("fix", status="failed", error_message=raw)
    browser.size(1100, 700)
    browser.open(address)
    browser.sees("The provider limits how often it is asked (429).")
    browser.press("Enter")
    browser.sees("Wait a little, or run fewer at once: --concurrency 1.")
    assert "rate_limit_error" not in browser.asks("document.body.innerText")


def test_an_open_run_that_the_filter_hides_is_still_known(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    hidden = place.finished("hidden")
    browser.open(address)
    browser.until("document.querySelectorAll('#rows tr').length === 1")
    browser.press("Enter")
    browser.sees("✓ completed after 1s · hidden")
    browser.press("f")
    browser.until("document.querySelectorAll('#rows tr').length === 0")
    browser.press("d")
    browser.until("document.querySelectorAll('#notices p').length === 1")
    assert str(hidden.path) in str(browser.asks("document.getElementById('notices').innerText"))
    browser.press("s")
    browser.sees("It has already ended.")
    browser.press("r")
    browser.sees("Go on with the session of hidden.")


def test_a_session_at_work_is_asked_for_no_prompt(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    place.finished("old", "a-session")
    run = place.going_on("new", "a-session")
    refusal = messages.not_resumed(str(ResumeStillRunning("a-session")))
    browser.open(address)
    browser.until("document.querySelectorAll('#rows tr').length === 2")
    for key in ("ArrowUp", "ArrowDown"):  # neither by the run nor by an earlier one
        browser.press(key)
        browser.press("r")
        assert not browser.asks("document.getElementById('ask-resume').open")
    said = "[...document.querySelectorAll('#notices p')].map((e) => e.textContent)"
    assert browser.asks(said) == [refusal, refusal]
    run.ends()


def test_a_page_whose_server_is_gone_says_so(
    browser: Browser, place: FleetPlace, actions: Noted
) -> None:
    hub = Hub(Fleet(place.runs, place.env))
    with WatchServer(0, hub, actions) as server:
        hub.start()
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        browser.open(server.guard.address)
        browser.sees("No runs here yet")
        hub.close()
        server.shutdown()
        serving.join(PATIENCE_S)
    browser.sees("no connection")


def test_a_wrong_address_shows_nothing(browser: Browser, address: str) -> None:
    browser.open(address[:-2] + "/")
    browser.until("document.readyState === 'complete' && location.href !== 'about:blank'")
    assert "subagents" not in str(browser.asks("document.documentElement.outerHTML"))


def test_what_a_run_changed_is_shown_in_its_colours_taken_and_thrown_away(
    browser: Browser, place: FleetPlace, actions: Noted, address: str
) -> None:
    run = place.finished("old", output="Done.", usage=USAGE)
    browser.open(address)
    browser.sees("1 completed")
    browser.press("v")
    browser.sees("-old")
    colours = "[...document.querySelectorAll('#said span')].map((e) => e.className).join()"
    assert browser.asks(colours) == ",,file,hunk,removed,added"
    assert browser.asks("document.title") != "evil"
    browser.press("v")  # its transcript again
    browser.until("!document.querySelector('#said span')")
    browser.press("t")
    browser.press("Enter")  # does no harm: Cancel has the focus
    browser.until("!document.querySelector('dialog[open]')")
    for key, button, said in (("t", "ask-take", "applied"), ("x", "ask-discard", "discarded")):
        browser.press(key)
        browser.asks(f"document.querySelector('#{button} [value=yes]').click()")
        browser.sees(said)
    assert [(what, *_) for what, *_ in actions.done] == [
        ("changes", run.run_id), ("apply", run.run_id), ("discard", run.run_id),
    ]  # fmt: skip
