"""The page in a real browser: it shows what is on the disk, obeys keys, and acts on runs."""

from __future__ import annotations

import json
import struct
import time
from typing import TYPE_CHECKING

from tests.fakes.fleet_place import USAGE
from tests.fakes.page_server import LISTED, Noted, page_served

from pi_subagents.core.run import events as ev
from pi_subagents.errors import ResumeStillRunning
from pi_subagents.service import messages

if TYPE_CHECKING:
    from scripts.screenshot_chromium import Browser
    from tests.fakes.fleet_place import FleetPlace

RUNS = "document.querySelectorAll('.entry.run').length"


def test_the_page_follows_the_runs_and_obeys_the_keys(
    browser: Browser, place: FleetPlace, actions: Noted, address: str
) -> None:
    place.finished("old", output="Done.", usage=USAGE)
    run = place.going_on("new", "a-session")
    browser.open(address)
    browser.sees("1 active (1 waiting)")
    browser.until(f"{RUNS} === 2")
    assert browser.asks(LISTED) == ["new", "old"]
    assert browser.asks("document.title") == "(1) shop on build-7 · subagents watch"

    run.does(ev.StateChanged("running"), ev.AssistantMessage("I look. <img src=x>"))
    browser.sees("I look. <img")

    browser.press("Home")
    browser.press("j")
    browser.press("o", ctrl=True)
    browser.sees("run 00020000 · session a-sessio")
    run.does(ev.AssistantMessage("Later words."))
    browser.until("document.querySelector('.said').innerText.includes('Later words.')")
    picture = browser.picture()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", picture[16:24]) == (1100, 700)

    browser.press("Escape")
    browser.until("!document.querySelector('.near')")
    run.ends()


def test_a_run_is_steered_stopped_and_resumed_by_keys(
    browser: Browser, place: FleetPlace, actions: Noted, address: str
) -> None:
    run = place.going_on("new")
    run.does(ev.StateChanged("running"))
    browser.open(address)
    browser.until(f"{RUNS} === 1")
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
    browser.until("!document.getElementById('ask').open")
    assert actions.done == []
    browser.press("s")
    browser.until("document.getElementById('ask').open")
    browser.click("#ask-yes")
    browser.sees("stopped <img")
    assert actions.done == [("stop", run.run_dir.run_id)]

    run.ends(output="Found.")
    browser.sees("✓ completed after 1s")
    browser.press("s")
    browser.sees("It has already ended.")
    browser.press("r")
    browser.until("document.activeElement.tagName === 'TEXTAREA'")
    browser.types("Now fix it.\nAll of it.")
    browser.press("Enter", ctrl=True)
    browser.sees("goes on")
    assert actions.done[1:] == [("resume", run.run_dir.run_id, "Now fix it.\nAll of it.")]

    browser.until("document.title === 'shop on build-7 · subagents watch'")


def test_the_list_is_filtered_and_the_keys_are_listed(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    place.finished("old")
    place.finished("new")
    browser.open(address)
    browser.until(f"{RUNS} === 2")
    browser.press("?", shift=True)
    browser.until("document.getElementById('keys').open")
    browser.press("Escape")
    browser.until("!document.getElementById('keys').open")

    browser.press("/")
    browser.types("old")
    browser.until(f"{RUNS} === 1")
    assert browser.asks(LISTED) == ["old"]
    browser.press("Escape")
    browser.until(f"{RUNS} === 2")
    browser.press("f")
    browser.sees("No run matches the filter.")
    browser.click("[data-which=all]")
    browser.until(f"{RUNS} === 2")
    browser.press("End")
    chosen = "document.querySelector('[aria-selected=true] .name').textContent"
    assert browser.asks(chosen) == "old"
    counts = "[...document.querySelectorAll('#filters button')].map((e) => e.textContent)"
    assert browser.asks(counts) == [
        "all", "active0", "completed2", "failed0", "stopped0", "interrupted0",
    ]  # fmt: skip


def test_an_open_run_shows_its_whole_task_and_a_clock_that_runs(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    task = "Look around.\nThen say what you saw."
    began = time.time_ns() // 1_000_000
    run = place.going_on("task-1", task=task, taskLength=len(task), startedAt=began)
    run.does(ev.StateChanged("running"))
    browser.open(address)
    browser.sees("Look around. Then say what you saw.")
    browser.press("Enter")
    browser.until(
        "document.querySelector('.task')?.innerText.startsWith('Task\\nLook around.\\nThen')"
    )
    standing = "document.querySelector('.standing').innerText"
    browser.until(f"/^● running for \\d/.test({standing})")
    seen = browser.asks(standing)
    browser.until(f"{standing} !== {json.dumps(seen)}")
    run.ends()


def test_an_open_run_that_failed_says_why_and_what_to_do(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    raw = '429 {"error": {"type": "rate_limit_error", "message": "slow down"}}'
    place.finished("fix", status="failed", error_message=raw)
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
    browser.until(f"{RUNS} === 1")
    browser.press("Enter")
    browser.sees("✓ completed after 1s")
    browser.press("f")
    browser.until(f"{RUNS} === 0")
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
    browser.until(f"{RUNS} === 2")
    said = "[...document.querySelectorAll('#notices p')].map((e) => e.textContent)"
    for key in ("End", "k", "k"):  # neither by the run nor by an earlier one; a day has none
        browser.press(key)
        browser.press("r")
        assert not browser.asks("document.getElementById('ask').open")
    assert browser.asks(said) == [refusal, refusal]
    run.ends()


def test_a_page_whose_server_is_gone_says_so(
    browser: Browser, place: FleetPlace, actions: Noted
) -> None:
    with page_served(place.runs, place.env, actions) as address:
        browser.open(address)
        browser.sees("No runs here yet")
    browser.sees("no connection")


def test_a_wrong_address_shows_nothing(browser: Browser, address: str) -> None:
    browser.open(address[:-2] + "/")
    browser.until("document.readyState === 'complete' && location.href !== 'about:blank'")
    assert "subagents" not in str(browser.asks("document.documentElement.outerHTML"))


def test_what_a_run_changed_is_shown_in_its_colours_taken_and_thrown_away(
    browser: Browser, place: FleetPlace, actions: Noted, address: str
) -> None:
    run = place.finished("old", output="Done.", usage=USAGE, changes="1 file changed")
    browser.open(address)
    browser.until(f"{RUNS} === 1")
    browser.press("v")
    browser.sees("-old")
    colours = "[...document.querySelectorAll('.patch span')].map((e) => e.className).join()"
    assert browser.asks(colours) == "file,hunk,removed,added"
    browser.press("v")  # its transcript again
    browser.until("document.getElementById('view-changes').hidden")
    browser.press("t")
    browser.press("Enter")  # does no harm: Cancel has the focus
    browser.until("!document.querySelector('dialog[open]')")
    for key, said in (("t", "applied"), ("x", "discarded")):
        browser.press(key)
        browser.click("#ask-yes")
        browser.sees(said)
    done = [each for each in actions.done if each[0] != "changes"]
    assert done == [("apply", run.run_id), ("discard", run.run_id)]


def test_a_run_without_a_worktree_is_offered_no_changes(
    browser: Browser, place: FleetPlace, actions: Noted, address: str
) -> None:
    place.finished("old", output="Done.")
    browser.open(address)
    browser.until(f"{RUNS} === 1")
    browser.press("Enter")
    browser.sees("✓ completed after 1s")
    shown = "[...document.querySelectorAll('.near button')].filter((e) => e.checkVisibility()).map((e) => e.textContent)"
    assert browser.asks(shown) == [
        "Resume (r)", "Copy id (c)", "Copy directory (d)", "Transcript", "Time and cost (b)",
    ]  # fmt: skip
    for key in ("v", "t", "x"):
        browser.press(key)
    said = "[...document.querySelectorAll('#notices p')].map((e) => e.textContent)"
    assert browser.asks(said) == ["It had no worktree of its own: there is nothing to take."] * 3
    assert actions.done == []


def test_a_question_is_answered_by_a_choice_or_in_words(
    browser: Browser, place: FleetPlace, actions: Noted, address: str
) -> None:
    run = place.going_on("new")
    run.does(ev.StateChanged("running"))
    run.asks("Which colour?", "red", "blue")
    browser.open(address)
    browser.sees("Asks: Which colour?")
    browser.press("a")
    browser.until("document.activeElement.placeholder === 'Your answer (a)'")
    browser.types("green")
    browser.press("Enter")
    browser.sees("answered <img")
    browser.click(".options button:nth-child(2)")
    browser.until("document.querySelectorAll('#notices p').length === 4")
    run_id = run.run_dir.run_id
    assert actions.done == [("answer", run_id, "green", "1"), ("answer", run_id, "blue", "1")]
    run.ends()
