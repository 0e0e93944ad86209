"""What runs say is text wherever it is shown; a flood of it is held; thousands of runs are listed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tests.fakes.driver import PATIENCE_S
from tests.fakes.fleet_place import USAGE
from tests.fakes.page_server import EVIL, Noted, page_served

from pi_subagents.core.run import events as ev
from pi_subagents.faces.watch.web_hub import About

if TYPE_CHECKING:
    from scripts.screenshot_chromium import Browser
    from tests.fakes.fleet_place import FleetPlace, GoingOn

STRANGE = "document.querySelectorAll('img, script:not([src]), [onerror], iframe, object').length"
MARKUP = f"""# {EVIL}

{EVIL}

[x](javascript:document.title='evil') <b onclick=alert(1)>b</b> ![{EVIL}](http://127.0.0.1:1/x.png)
[y](data:text/html,evil) [z](&#106;avascript:alert(1)) <javascript:alert(1)> &lt;img src=x&gt;

| {EVIL} | b |
|---|---|
| {EVIL} | 1 |

```{EVIL}
{EVIL}
```
"""
ARGUMENTS = {EVIL: EVIL, "path": f"a{EVIL}.py", "oldText": EVIL, "newText": f"{EVIL} 2"}
FLOOD = 20_000


def evil_run(place: FleetPlace) -> GoingOn:
    """Begin a run in which everything that can be said is markup."""
    run = place.going_on(
        EVIL, EVIL, profile=EVIL, task=EVIL, taskLength=len(EVIL), cwd=f"/{EVIL}", callId=EVIL
    )
    run.does(
        ev.StateChanged("running"),
        ev.UserMessage(f"{EVIL} asked"),
        ev.AssistantMessage(MARKUP, error_message=EVIL, model=EVIL, usage=USAGE),
        ev.ToolStarted(ev.ToolCall(EVIL, EVIL, ARGUMENTS)),
        ev.ToolFinished(EVIL, EVIL, f"diff --git {EVIL}\n+{EVIL}", failed=True),
        ev.ToolFinished("other", EVIL, EVIL, failed=True),
        ev.Retrying(1, 2, 1, EVIL),
        ev.Limited(EVIL, 1, text=EVIL),
        ev.OutputText(EVIL),
        ev.ErrorText(EVIL),
        ev.Note(EVIL),
        ev.Steer("1", "delivered", EVIL, EVIL),
        ev.ValueGiven({EVIL: EVIL}),
        ev.ValueRefused(EVIL),
    )
    run.asks(EVIL, EVIL)
    return run


def test_whatever_a_run_says_is_text_everywhere(browser: Browser, place: FleetPlace) -> None:
    run = evil_run(place)
    failed = place.finished(
        f"{EVIL} 2", status="failed", error_message=EVIL, changes=EVIL, notes=(EVIL,)
    )
    with page_served(place.runs, place.env, Noted(), About(EVIL, EVIL)) as address:
        browser.size(1300, 900)
        browser.open(address)
        browser.until("document.querySelectorAll('.entry.run').length === 2")
        browser.until("document.querySelectorAll('.segment').length > 1")
        browser.open(f"{address}#run={run.run_dir.run_id}")
        browser.until("document.querySelectorAll('.item').length >= 12")
        browser.asks("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
        browser.until("document.querySelectorAll('.patch').length === 2")
        browser.click(".options button")
        browser.sees(f"answered {EVIL}")
        browser.press("w")
        browser.types("img onerror")
        browser.until("document.querySelectorAll('.hits mark').length > 4")
        links = "[...document.querySelectorAll('.text a')].map((e) => e.href)"
        assert browser.asks(links) == []
        assert browser.asks("document.querySelector('.text code').textContent") == f"{EVIL}"
        browser.press("Escape")
        browser.press("b")
        browser.until("document.querySelectorAll('.near .segment').length > 1")
        browser.asks("[...document.querySelectorAll('.tabs button')][0].click()")
        assert browser.asks(STRANGE) == 0
        browser.open(f"{address}#run={failed.run_id}")
        browser.sees("failed after 1s")
        browser.press("v")
        browser.until("document.querySelectorAll('.changes .patch .added').length === 1")
        browser.press("t")
        browser.sees(f"Take what {EVIL[:40]}")
        assert browser.asks(STRANGE) == 0
        assert browser.asks("[window.refused, document.title.startsWith('(1) <img src=x')]") == [
            [],
            True,
        ]
        run.ends()


def test_a_script_that_got_into_the_page_would_not_run(browser: Browser, address: str) -> None:
    browser.open(address)
    browser.sees("No runs here yet")
    for attempt in (
        "document.body.append(Object.assign(document.createElement('script'), { text: 'window.ran = 1' }))",
        "document.body.setAttribute('onclick', 'window.ran = 1'), document.body.click()",
        "document.body.innerHTML = '<img src=x onerror=window.ran=1>'",
    ):
        browser.asks(f"(() => {{ try {{ {attempt} }} catch {{ }} }})()")
    browser.asks("fetch('http://127.0.0.1:1/').catch(() => 0)")
    assert browser.asks("window.ran") is None
    assert browser.asks("window.refused.length") >= 3
    browser.asks("window.refused.length = 0")  # they were meant to be


def test_a_flood_of_events_is_held_and_the_page_still_answers(
    browser: Browser, place: FleetPlace, address: str
) -> None:
    run = place.going_on("new")
    run.does(ev.StateChanged("running"), ev.AssistantMessage("I begin."))
    browser.open(f"{address}#run={run.run_dir.run_id}")
    browser.until("!!document.querySelector('.text')")

    def flood() -> None:
        for number in range(FLOOD):
            call = ev.ToolCall(f"{number}", "bash", {"command": f"echo {number}"})
            run.does(
                ev.ToolStarted(call), ev.ToolFinished(f"{number}", "bash", "x" * 100, failed=False)
            )

    flooding = threading.Thread(target=flood)
    flooding.start()
    most, looks = 0, 0
    while flooding.is_alive():
        most = max(most, int(browser.asks("document.querySelectorAll('.item').length")))
        looks += 1
        browser.press("b")  # it obeys meanwhile
        browser.press("b")
    flooding.join(PATIENCE_S)
    run.does(ev.AssistantMessage("I am through."))
    browser.until(
        "document.querySelector('.items').lastChild.textContent.includes('I am through.')"
    )
    assert looks > 1
    assert most <= 1200  # what is kept, and what has just come
    assert browser.asks("document.querySelectorAll('.item').length") <= 800
    run.ends()
    browser.until("document.querySelector('.standing').textContent.startsWith('✓ completed')")
