"""The transcript of a run: calls that open, Markdown, search, links, and long ones in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakes.page_stage import ANSWER

from pi_subagents.core.run import events as ev

if TYPE_CHECKING:
    from scripts.screenshot_chromium import Browser
    from tests.fakes.fleet_place import FleetPlace, GoingOn

EDIT = {"path": "a.py", "edits": [{"oldText": "one\ntwo", "newText": "one\n2"}]}
NOTES = 2000
TEXTS = "[...document.querySelectorAll('.item .body')].map((e) => e.textContent)"


def of_long(place: FleetPlace) -> GoingOn:
    run = place.going_on("long")
    run.does(ev.StateChanged("running"), *(ev.Note(f"line {n}") for n in range(NOTES)))
    return run


def test_a_call_opens_and_shows_what_it_was_given_what_it_changed_and_its_output(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    run = place.going_on("new")
    run.does(ev.StateChanged("running"), ev.ToolStarted(ev.ToolCall("1", "edit", EDIT)))
    browser.open(f"{address}#run={run.run_dir.run_id}")
    browser.until("document.querySelector('.toolcall .sign')?.textContent === '●'")
    browser.click(".toolcall summary")
    browser.sees("It is still at work.")
    run.does(ev.ToolFinished("1", "edit", "Edited.", failed=False, duration_ms=1500))
    browser.until("document.querySelector('.toolcall .sign').textContent === '✓'")
    browser.sees("Edited.")
    summary = "document.querySelector('.toolcall summary').innerText.split('\\n').join(' ')"
    assert browser.asks(summary) == "✓ edit → a.py (1 edit) +2/-2 1.5s"
    lines = "[...document.querySelectorAll('.patch span')].map((e) => [e.className, e.textContent])"
    assert browser.asks(lines) == [
        ["file", "--- a.py\n"], ["hunk", "@@\n"], ["", " one\n"], ["removed", "-two\n"], ["added", "+2\n"],
    ]  # fmt: skip
    failed = ev.ToolCall("2", "bash", {"command": "make"})
    run.does(ev.ToolStarted(failed), ev.ToolFinished("2", "bash", "no rule", failed=True))
    browser.until("document.querySelectorAll('.toolcall .sign')[1]?.textContent === '✗'")
    assert (
        browser.asks("document.querySelector('.toolcall:last-child .reason').textContent")
        == "no rule"
    )
    run.ends()


def test_answers_are_shown_as_the_markdown_they_are(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    run = place.going_on("new")
    run.does(ev.AssistantMessage(ANSWER, model="mini"))
    browser.open(f"{address}#run={run.run_dir.run_id}")
    browser.sees("Two findings")
    shape = "[...document.querySelector('.text').children].map((e) => e.tagName).join()"
    assert browser.asks(shape) == "H4,OL,DIV,PRE,BLOCKQUOTE"
    assert browser.asks("document.querySelectorAll('.text td.figure').length") == 2
    link = "[document.querySelector('.text a').href, document.querySelector('.text a').rel]"
    assert browser.asks(link) == ["https://example.org/style", "noopener noreferrer nofollow"]
    run.ends()


def test_of_a_long_transcript_the_newest_is_shown_and_the_rest_is_a_button_away(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    run = of_long(place)
    browser.open(f"{address}#run={run.run_dir.run_id}")
    browser.until(f"{TEXTS}[0] === 'line 1600' && {TEXTS}.at(-1) === 'line 1999'")
    browser.click(".transcript .more")
    browser.until(f"{TEXTS}[0] === 'line 1200'")
    browser.click(".transcript .more")
    browser.until(f"{TEXTS}[0] === 'line 800'")
    assert browser.asks(f"{TEXTS}.length") == 800  # those at the other end are not kept
    assert browser.asks(f"{TEXTS}.at(-1)") == "line 1599"
    run.does(ev.Note("newer"))
    browser.click(".mores .more")
    browser.until(f"{TEXTS}.at(-1) === 'line 1999'")
    browser.click(".mores .more")
    browser.until(f"{TEXTS}.at(-1) === 'newer'")
    browser.click(".newest")
    browser.until(f"{TEXTS}[0] === 'line 1601' && {TEXTS}.at(-1) === 'newer'")
    run.does(ev.Note("newest"))
    browser.until(f"{TEXTS}.at(-1) === 'newest'")
    run.ends()


def test_a_search_finds_what_is_not_in_the_page_and_leads_there(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    run = of_long(place)
    browser.open(f"{address}#run={run.run_dir.run_id}")
    browser.until(f"{TEXTS}.at(-1) === 'line 1999'")
    browser.press("w")
    browser.until("document.activeElement.className === 'find'")
    browser.types("LINE 1234")
    browser.sees("line 1234")
    hits = "[...document.querySelectorAll('.hits a')].map((e) => e.textContent.slice(9))"
    assert browser.asks(hits) == ["line 1234"]
    assert browser.asks("[...document.querySelectorAll('mark')].map((e) => e.textContent)") == [
        "line",
        "1234",
    ]
    browser.click(".hits a")
    browser.until("document.querySelector('.found')?.textContent === 'line 1234'")
    browser.until(
        "(({ top, bottom }, box) => top > box.top && bottom < box.bottom)("
        "document.querySelector('.found').getBoundingClientRect(),"
        "document.querySelector('.said').getBoundingClientRect())"
    )
    link = browser.asks("location.href")
    browser.open("about:blank")
    browser.open(str(link))  # and so does its address, in a page of its own
    browser.until("document.querySelector('.found')?.textContent === 'line 1234'")
    run.ends()


def test_a_long_text_is_cut_and_can_be_had_whole(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    run = place.going_on("new")
    run.does(ev.UserMessage("a" * 25_000 + " the end"))
    browser.open(f"{address}#run={run.run_dir.run_id}")
    browser.sees("Show 5.0k more characters")
    browser.click(".item .more")
    browser.sees("a the end")
    assert not browser.asks("!!document.querySelector('.item .more')")
    run.ends()


def test_a_link_to_a_run_that_is_not_there_says_so(browser: Browser, address: str) -> None:
    browser.open(f"{address}#run=00000000000000000000000000000000")
    browser.sees("There is no such run here.")
