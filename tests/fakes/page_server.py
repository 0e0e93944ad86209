"""The page's server over a place with runs, whose actions are written down instead of done."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.fakes.driver import PATIENCE_S

from pi_subagents.faces.watch.web import WatchServer
from pi_subagents.faces.watch.web_hub import About, Hub
from pi_subagents.service.fleet import Fleet
from pi_subagents.service.fleet_actions import ActionReport, FleetActions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pi_subagents.service.runs import Runs

EVIL = "<img src=x onerror=alert(1)><script>document.title='evil'</script>"
# In pages that are opened from now on: what their policy refused, and what went wrong in them.
WATCHFUL = """
window.refused = [];
addEventListener("securitypolicyviolation", (e) => refused.push(e.violatedDirective + " " + e.blockedURI));
addEventListener("error", (e) => refused.push(e.message));
addEventListener("unhandledrejection", (e) => refused.push(String(e.reason)));
"""
# What the list shows, from top to bottom.
LISTED = (
    "[...document.querySelectorAll('.entry.run')]"
    ".sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)"
    ".map((e) => e.querySelector('.name').textContent)"
)


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

    def answer(self, run_id: str, text: str, question: str = "") -> ActionReport:
        self.done.append(("answer", run_id, text, question))
        return ActionReport(f"answered {EVIL}")

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


@contextmanager
def page_served(
    runs: Runs, env: Mapping[str, str], actions: FleetActions, about: About | None = None
) -> Iterator[str]:
    """Serve the page of these runs, and yield its address."""
    hub = Hub(Fleet(runs, env), about or About("shop", "build-7"))
    with WatchServer(0, hub, actions) as server:
        hub.start()
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        try:
            yield server.guard.address
        finally:
            hub.close()
            server.shutdown()
            serving.join(PATIENCE_S)
