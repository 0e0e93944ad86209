"""The list by day and call, timelines, tokens and cost over time: of real journals, and live."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from tests.fakes.page_stage import Staged, set_page_stage

from pi_subagents.core.run import events as ev
from pi_subagents.view.timeline import CONDENSED, MAX_SEGMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.screenshot_chromium import Browser
    from tests.fakes.fleet_place import FleetPlace

NOON_MS = 1_900_000_000_000 // 86_400_000 * 86_400_000 + 12 * 3_600_000
CALL = "ca11" + "f" * 28
SHAPES = (
    "[...document.querySelectorAll('.line')].map((line) => [line.querySelector('.name').textContent,"
    " [...line.querySelectorAll('.segment')].map((e) => e.className.replace('segment ', '')).join()])"
)


@pytest.fixture
def stage(place: FleetPlace) -> Iterator[list[Staged]]:
    going = set_page_stage(place.runs, NOON_MS)
    yield going
    for each in going:
        each.log.close()
        os.close(each.lock)


def test_runs_stand_by_day_and_call_and_can_be_folded(
    browser: Browser, place: FleetPlace, stage: list[Staged], address: str
) -> None:
    browser.size(1300, 900)
    browser.open(address)
    browser.until("document.querySelectorAll('.entry.day').length > 1")
    heads = "[...document.querySelectorAll('.entry.day, .entry.call')].slice(0, 3).map((e) => e.innerText.split('\\n').join(' '))"
    assert browser.asks(heads) == [
        "At work 5 runs · 20.0k tokens · $0.0475",
        "11:56 ✓1 ✗1 ●1 review the rounding, check the links, write the tests 17.8k tokens · $0.0425",
        "Sun, 17 Mar 2030 9 runs · 225.9k tokens · $0.5603",
    ]
    levels = "[...document.querySelectorAll('[role=treeitem]')].slice(0, 5).map((e) => e.ariaLevel).join()"
    assert browser.asks(levels) == "1,2,2,2,3"
    tree = "document.querySelectorAll('.entry.run').length"
    before = browser.asks(tree)
    browser.press("Home")
    browser.press("ArrowLeft")
    browser.until(f"{tree} !== {before} && document.querySelector('.day').ariaExpanded === 'false'")
    browser.press("ArrowRight")
    browser.until(f"{tree} === {before}")


def test_a_call_has_a_timeline_and_its_tokens_and_cost_by_when(
    browser: Browser, place: FleetPlace, stage: list[Staged], address: str
) -> None:
    browser.open(f"{address}#call={CALL}")
    browser.until("document.querySelectorAll('.segment').length > 6")
    assert browser.asks(SHAPES) == [
        ["✓ review the rounding", "tool,tool failed,tool,limit"],
        ["✗ check the links", "tool"],
        ["● write the tests", "tool,tool"],
    ]
    hatched = "getComputedStyle(document.querySelector('.segment.limit')).backgroundImage"
    assert str(browser.asks(hatched)).startswith("repeating-linear-gradient")
    said = "[...document.querySelectorAll('.chart [role=img]')].map((e) => e.ariaLabel.split(' after')[0])"
    browser.until("document.querySelectorAll('.steps').length === 2")
    assert browser.asks(said) == ["Tokens: 17.8k", "Cost: $0.0425"]
    label = "document.querySelector('.track').ariaLabel"
    assert (
        browser.asks(label)
        == "review the rounding: completed, 1m4s, 3 tool calls, 1 failed, 1 wait"
    )


def test_a_bar_leads_to_that_moment_of_the_transcript(
    browser: Browser, place: FleetPlace, stage: list[Staged], address: str
) -> None:
    browser.open(f"{address}#call={CALL}")
    browser.until("document.querySelectorAll('.segment').length > 6")
    browser.asks(
        "(() => { const at = document.querySelector('.segment.failed').getBoundingClientRect();"
        " document.querySelector('.track').dispatchEvent(new MouseEvent('click',"
        " { clientX: at.left - 1, clientY: at.top, bubbles: true })); })()"
    )
    browser.until("document.querySelector('.found')?.innerText.includes('make test')")


def test_a_day_and_all_of_it_are_charted(
    browser: Browser, place: FleetPlace, stage: list[Staged], address: str
) -> None:
    browser.open(f"{address}#day=2030-03-17")
    browser.until("document.querySelectorAll('.column').length === 48")
    filled = "[...document.querySelectorAll('.chart:first-child .fill')].filter((e) => e.offsetHeight > 0).length"
    browser.until(f"{filled} === 4")
    browser.press("u")
    browser.until("document.querySelector('.overview h2').textContent === 'Runs of shop'")
    tiles = "[...document.querySelectorAll('.tiles dd')].map((e) => e.textContent).join()"
    browser.until(f"{tiles} === '3,1,22,1,3,0'")


def test_what_is_at_work_is_drawn_as_it_goes_on(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    run = Staged(place.runs, 1, "new", time.time_ns() // 1_000_000 - 60_000)
    run.after(1, ev.StateChanged("running"))
    browser.open(f"{address}#day=work")
    browser.until("document.querySelectorAll('.line').length === 1")
    run.tool(20, "bash", command="make")
    browser.until(f"({SHAPES})[0][1] === 'tool'")
    run.tool(20, "bash", "no", failed=True, command="make test")
    browser.until(f"({SHAPES})[0][1] === 'tool,tool failed'")
    run.ends()
    browser.until(
        "document.querySelector('.overview h2') && !document.querySelector('.entry.active')"
    )


def test_thousands_of_calls_are_drawn_as_few_hundred(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    run = Staged(place.runs, 1, "many", NOON_MS)
    for number in range(MAX_SEGMENTS + CONDENSED):
        run.tool(1, "bash", command=f"make {number}")
    run.ends()
    browser.open(f"{address}#run={run.run_id}")
    browser.sees("make 4999")
    browser.press("b")
    browser.until("document.querySelectorAll('.segment').length > 0")
    assert browser.asks("document.querySelectorAll('.segment').length") <= 302
