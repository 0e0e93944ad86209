"""Nobody is kept out: axe finds no fault of weight, every width fits, everything goes by keys."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

import pytest
from tests.agents.installed import program
from tests.fakes.page_stage import Staged, set_page_stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scripts.screenshot_chromium import Browser
    from tests.fakes.fleet_place import FleetPlace

CALL = "ca11" + "f" * 28
FAULTS = """axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))"""


@pytest.fixture
def stage(place: FleetPlace) -> Iterator[list[Staged]]:
    going = set_page_stage(place.runs)
    yield going
    for each in going:
        each.log.close()
        os.close(each.lock)


@pytest.fixture(scope="module")
def axe() -> str:
    with open(program("axe"), encoding="utf-8") as file:
        return file.read()


@pytest.mark.parametrize(("width", "dark"), [(1300, False), (1300, True), (400, False)])
def test_axe_finds_no_serious_fault(
    browser: Browser, stage: list[Staged], address: str, axe: str, width: int, dark: bool
) -> None:
    browser.size(width, 900, dark=dark)
    browser.open(address)
    browser.until("document.querySelectorAll('.entry.run').length > 3")
    browser.asks(f"{axe};1")
    faults = {"list": browser.asks(FAULTS)}
    review = (
        "[...document.querySelectorAll('.entry.run')].find((e) => e.innerText.includes('rounding'))"
    )
    browser.asks(f"{review}.click()")
    browser.until("!!document.querySelector('.near .text table')")
    browser.asks("document.querySelectorAll('.toolcall').forEach((e) => { e.open = true; })")
    browser.until("document.querySelectorAll('.patch').length > 0")
    faults["transcript"] = browser.asks(FAULTS)
    browser.press("b")
    browser.until("document.querySelectorAll('.near .steps').length === 2")
    faults["time"] = browser.asks(FAULTS)
    browser.press("v")
    browser.sees("-old")
    faults["changes"] = browser.asks(FAULTS)
    browser.press("t")
    browser.sees("Take what review the rounding changed")
    faults["question"] = browser.asks(FAULTS)
    browser.press("Escape")
    browser.asks("location.hash = 'overview='")
    browser.until("document.querySelectorAll('.overview .segment').length > 0")
    faults["overview"] = browser.asks(FAULTS)
    browser.press("?", shift=True)
    browser.until("document.getElementById('keys').open")
    faults["keys"] = browser.asks(FAULTS)
    browser.press("Escape")
    assert {where: found for where, found in faults.items() if found} == {}


@pytest.mark.parametrize("width", [400, 700, 1160, 1600])
def test_every_width_is_filled_and_none_is_too_narrow(
    browser: Browser, stage: list[Staged], address: str, tmp_path: Path, width: int
) -> None:
    browser.size(width, 900)
    for where in ("", "#overview=", f"#call={CALL}", f"#run={stage[0].run_id}"):
        browser.open("about:blank")
        browser.open(f"{address}{where}")
        browser.sees("write the tests")
        assert browser.asks("document.documentElement.scrollWidth") == width
        out = "[...document.querySelectorAll('#pane button, #pane .button, header button, header input')]"
        inside = "({ left, right, width: w }) => !w || (left >= 0 && right <= innerWidth)"
        assert browser.asks(f"{out}.every((e) => ({inside})(e.getBoundingClientRect()))")
    picture = browser.picture()
    assert struct.unpack(">II", picture[16:24]) == (width, 900)


def test_the_list_says_which_entry_is_chosen_and_how_it_stands(
    browser: Browser, stage: list[Staged], address: str
) -> None:
    browser.open(address)
    browser.until("document.querySelectorAll('.entry.run').length > 3")
    assert browser.asks("document.activeElement.id") == "tree"
    browser.press("Home")
    browser.press("j")
    chosen = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"
    said = f"[{chosen}.ariaSelected, {chosen}.ariaLevel, {chosen}.ariaPosInSet, {chosen}.ariaSetSize, {chosen}.innerText.split('\\n').slice(0, 3).join(' ')]"
    assert browser.asks(said) == ["true", "2", "1", "3", "○ waiting: lint"]
