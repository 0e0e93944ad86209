"""A browser, a place with runs, and the page of them; whatever its policy refused fails the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scripts.screenshot_chromium import PROGRAM, Browser, a_browser
from tests.fakes.fleet_place import FleetPlace
from tests.fakes.page_server import WATCHFUL, Noted, page_served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if PROGRAM is None:
        pytest.skip("there is no chromium here")
    with a_browser() as one:
        one.at_start(WATCHFUL)
        yield one


@pytest.fixture
def place(tmp_path: Path) -> FleetPlace:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return FleetPlace(tmp_path / "project", {"HOME": str(tmp_path / "home")})


@pytest.fixture
def actions() -> Noted:
    return Noted()


@pytest.fixture
def address(place: FleetPlace, actions: Noted, browser: Browser) -> Iterator[str]:
    browser.size(1100, 700)
    with page_served(place.runs, place.env, actions) as one:
        yield one
        assert browser.asks("window.refused") == []
        browser.open("about:blank")
