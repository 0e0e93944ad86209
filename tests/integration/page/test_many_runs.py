"""Five thousand runs: all of them are listed, and only those that are seen are in the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakes.page_server import page_served
from tests.fakes.page_stage import make_many

from pi_subagents.system.calls import FileCalls

if TYPE_CHECKING:
    import pytest
    from scripts.screenshot_chromium import Browser
    from tests.fakes.fleet_place import FleetPlace
    from tests.fakes.page_server import Noted

COUNT = 5000


def test_five_thousand_runs_are_listed_with_few_elements(
    browser: Browser, place: FleetPlace, actions: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        FileCalls, "fsync", lambda _: None
    )  # whether they survive is not the matter
    make_many(place.runs, COUNT)
    with page_served(place.runs, place.env, actions) as address:
        browser.size(1300, 900)
        browser.open(address)
        browser.sees(f"{COUNT} completed")
        browser.until("document.querySelectorAll('.entry.run').length > 5")
        assert browser.asks("document.querySelectorAll('*').length") < 1500
        size = "document.querySelector('.entry.run').ariaSetSize"
        browser.until(f"{size} === '{COUNT}'")
        browser.press("End")
        browser.until(
            "document.querySelector('[aria-selected=true] .name')?.textContent === 'task 0'"
        )
        browser.press("/")
        browser.types("task 4321")
        browser.until("document.querySelectorAll('.entry.run').length === 1")
        browser.press("Enter")
        browser.press("j")
        browser.press("Enter")
        browser.sees("✓ completed")
        assert browser.asks("document.querySelector('.near h2').textContent") == "task 4321"
        assert browser.asks("window.refused") == []
