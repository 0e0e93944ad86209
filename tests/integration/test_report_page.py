"""A report in a real browser: its style sheet passes its own policy, and it fits every width."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from scripts.screenshot_chromium import Browser, a_browser
from tests.fakes.chromium import needs_chromium
from tests.fakes.fleet_place import USAGE
from tests.fakes.records import record

from pi_subagents.faces.report.page import as_page
from pi_subagents.view.report.report import ReportedRun, WorkReport
from pi_subagents.view.states import shown_state
from pi_subagents.view.timeline import Bar, Segment, Timeline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = needs_chromium
EVIL = "<img src=x onerror=alert(1)><script>document.title='evil'</script>"
PATCH = f"""diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@
 same
-old
+new {EVIL} {"long " * 60}
"""
ANSWER = (
    f"# Done\n\n{EVIL}\n\n| a | b |\n|---|--:|\n| {'wide ' * 30} | 2 |\n\n```\n{'x' * 300}\n```"
)


def reported(run_id: str, status: str, *parts: Segment) -> ReportedRun:
    run = record(
        run_id, "s", f"{run_id} {EVIL}", status, output=ANSWER, usage=USAGE, duration_ms=60_000,
        changes=f"1 file changed {EVIL}", error_message="" if status == "completed" else EVIL,
    )  # fmt: skip
    state = shown_state(status)
    bar = Bar(run_id, "s", "ca11", run.title, state, 0, 60_000, active=False, segments=parts)
    return ReportedRun(run, EVIL, bar, PATCH)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as one:
        yield one


@pytest.mark.parametrize(("width", "dark"), [(1100, False), (1100, True), (400, False)])
def test_a_report_is_styled_fits_and_runs_nobodys_text(
    browser: Browser, tmp_path: Path, width: int, *, dark: bool
) -> None:
    runs = (
        reported(
            "one", "completed",
            Segment("start", 0, 9000),
            Segment("tool", 10_000, 30_000, "bash", EVIL),
            Segment("tool", 20_000, 25_000, "read", "a", failed=True, reason=EVIL, lane=1),
        ),
        reported("two", "failed", Segment("limit", 20_000, 50_000, "acme", "slow down")),
    )  # fmt: skip
    bars = tuple(run.bar for run in runs)
    page = tmp_path / "report.html"
    page.write_text(as_page(WorkReport(runs, (Timeline("ca11", 0, 60_000, bars),), 0, "a test")))
    browser.size(width, 900, dark=dark)
    browser.open(page.as_uri())
    browser.sees("Made by a test.")
    assert browser.asks("document.title") == "2 sub-agents"
    ground = {False: "rgb(251, 251, 250)", True: "rgb(20, 24, 28)"}[dark]
    assert browser.asks("getComputedStyle(document.body).backgroundColor") == ground
    assert browser.asks("document.documentElement.scrollWidth") == width
    assert browser.asks("document.querySelectorAll('script, img, [onerror]').length") == 0
    drawn = "[...document.querySelectorAll('article, .call')].map((e) => e.tagName)"
    assert browser.asks(drawn) == ["SECTION", "ARTICLE", "ARTICLE"]
    share = (
        "[...document.querySelectorAll('.drawn rect')].map((e) => e.getBoundingClientRect())"
        ".map((r, i, all) => Math.round(100 * r.width / all[0].width))"
    )
    assert browser.asks(share) == [100, 15, 33, 8, 100, 50]
    added = "getComputedStyle(document.querySelector('.diff .plus')).color"
    assert browser.asks(added) != browser.asks("getComputedStyle(document.body).color")
    browser.click("summary")
    assert browser.asks("document.querySelector('details').open") is True
    picture = browser.picture()
    assert struct.unpack(">II", picture[16:24]) == (width, 900)
    (tmp_path / "report.png").write_bytes(picture)
