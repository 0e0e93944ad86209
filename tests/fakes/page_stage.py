"""A project with runs of every kind, as a page shows them: in calls, with tools, waits and answers."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.question import asked, waiting_for
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.store.run_log import RunLog

if TYPE_CHECKING:
    from pi_subagents.service.runs import Runs
    from pi_subagents.store.run_dir import RunDir

SECOND = 1000
ANSWER = """## Two findings

1. `cents()` rounds **down**; prices end a cent too low.
2. The cart never asks for `discount` twice, which is right.

| file | lines | verdict |
|---|--:|---|
| `src/shop/prices.py` | 48 | change |
| `src/shop/cart.py` | 112 | leave |

```python
def cents(price):
    return round(price * 100)
```

> See the [style guide](https://example.org/style) for money.
"""


class Staged:
    """One run whose events come at times of their own."""

    def __init__(self, runs: Runs, number: int, name: str, begin_ms: int, **meta: object) -> None:
        runs.store.prepare()
        self.run_id = f"{number:08x}" + "0" * 24
        session = str(meta.pop("session", f"{number:016x}"))
        self.dir: RunDir = runs.store.run_dir(self.run_id)
        self.at_ms = self.begin_ms = begin_ms
        facts = {
            "schemaVersion": 1, "runId": self.run_id, "sessionId": session, "name": name,
            "cwd": str(runs.project), "createdAt": begin_ms, "startedAt": begin_ms,
            "attached": True, **meta,
        }  # fmt: skip
        self.lock = self.dir.begin(facts, b"")
        runs.index.add([(self.run_id, session, str(self.dir.path), begin_ms, False)])
        self.log = RunLog(self.dir, name)
        self.result = RunResult(
            self.run_id, session, name, "completed", model="mini", started_at_ms=begin_ms
        )
        self.calls = 0
        self.usage = Usage()

    def after(self, seconds: float, *events: ev.Event) -> Staged:
        self.at_ms += round(seconds * SECOND)
        for event in events:
            if isinstance(event, ev.AssistantMessage):
                self.usage += event.usage
            self.log.record(event, self.at_ms)
        return self

    def tool(
        self,
        seconds: float,
        name: str,
        output: str = "ok",
        *,
        failed: bool = False,
        **arguments: object,
    ) -> Staged:
        self.calls += 1
        call_id = f"call-{self.calls}"
        self.after(0.2, ev.ToolStarted(ev.ToolCall(call_id, name, arguments)))
        done = ev.ToolFinished(
            call_id, name, output, failed=failed, duration_ms=round(seconds * SECOND)
        )
        return self.after(seconds, done)

    def says(self, seconds: float, text: str, tokens: int = 2000) -> Staged:
        used = Usage(input=tokens, output=200, total_tokens=tokens + 200, cost=tokens / 400_000)
        return self.after(
            seconds,
            ev.AssistantMessage(
                text, model="mini", usage=used, duration_ms=round(seconds * SECOND)
            ),
        )

    def asks(self, text: str, *options: str) -> Staged:
        question = asked("1", text, options, 600)
        self.dir.desk.note_waits((waiting_for(question, self.at_ms),))
        return self.after(0, question)

    def ends(self, status: str = "completed", **facts: object) -> Staged:
        self.log.close()
        took = self.at_ms - self.begin_ms
        known = {"finished_at_ms": self.at_ms, "duration_ms": took, "usage": self.usage, **facts}
        self.dir.write_result(replace(self.result, status=status, **known))
        os.close(self.lock)
        return self


def set_page_stage(runs: Runs, now_ms: int = 0) -> list[Staged]:
    """Make some days of work; return those that are still at work, for the caller to end."""
    now_ms = now_ms or time.time_ns() // 1_000_000
    number = 0

    def begins(name: str, ago_s: float, call: str, **meta: object) -> Staged:
        nonlocal number
        number += 1
        return Staged(runs, number, name, now_ms - round(ago_s * SECOND), callId=call, **meta)

    for hour in range(26, 2, -3):
        for place, name in enumerate(
            ("count the files", "review the cart", "write the tests")[: 1 + hour % 3]
        ):
            old = begins(
                name, hour * 3600 - place, f"ca11{hour:028x}", task=f"{name.capitalize()} in src."
            )
            old.after(1, ev.StateChanged("running")).tool(4, "bash", "80", command="ls src | wc -l")
            old.says(6, "There are **80** files.", 3000 * hour + 900 * place)
            old.ends(**({"status": "aborted"} if hour == 14 else {}), output="There are 80 files.")
    call = "ca11" + "f" * 28
    review = begins(
        "review the rounding",
        190,
        call,
        task="Review src/shop for rounding mistakes.\nName each with its line.",
    )
    review.after(
        9,
        ev.StateChanged("running"),
        ev.UserMessage("Review src/shop for rounding mistakes.\nName each with its line."),
    )
    review.says(6, "I look at the prices first.").tool(
        3, "read", "def cents(price):\n    return int(price * 100)\n", path="src/shop/prices.py"
    )
    review.tool(
        14,
        "bash",
        "FAILED test_prices.py::test_cents - assert 1998 == 1999\n1 failed, 13 passed",
        failed=True,
        command="make test",
    )
    review.tool(
        1,
        "edit",
        "Edited.",
        path="src/shop/prices.py",
        edits=[
            {
                "oldText": "def cents(price):\n    return int(price * 100)",
                "newText": "def cents(price):\n    return round(price * 100)",
            }
        ],
    )
    review.after(1, ev.Limited("acme", 20, text="429: slow down")).after(22).says(8, ANSWER, 9000)
    review.ends(output=ANSWER, changes="1 file changed, +1 \N{MINUS SIGN}1")
    links = begins("check the links", 190, call)
    links.after(30, ev.StateChanged("running")).tool(40, "grep", "9 links", pattern="https?://")
    links.says(3, "").ends(
        "failed",
        error_message='429 {"error": {"type": "rate_limit_error", "message": "slow down"}}',
    )
    tests = begins("write the tests", 188, call, task="Write tests for the cart.")
    tests.after(4, ev.StateChanged("running")).says(
        9, "I read the cart, then write its tests.", 4000
    )
    tests.tool(
        20,
        "write",
        "Wrote 40 lines.",
        path="tests/test_cart.py",
        content="def test_cart():\n    assert Cart().total == 0\n",
    )
    tests.after(
        0.2,
        ev.ToolStarted(
            ev.ToolCall("open", "bash", {"command": "python -m pytest tests/test_cart.py"})
        ),
    )
    asks = begins("translate the manual", 120, "ca12" + "0" * 28, task="Translate docs/manual.md.")
    asks.after(2, ev.StateChanged("running")).says(5, "Which language is meant is not said.").asks(
        "Into which language?", "German", "French"
    )
    waits = begins("lint", 20, "ca13" + "0" * 28, startedAt=0)
    return [tests, asks, waits]


def make_many(runs: Runs, count: int) -> None:
    """Make finished runs, as many as somebody who never tidies up has."""
    runs.store.prepare()
    noted = []
    for number in range(count):
        run_id, session, now = f"{number:032x}", f"{number:016x}", 1_000_000_000_000 + number
        run_dir = runs.store.run_dir(run_id)
        facts = {
            "schemaVersion": 1,
            "runId": run_id,
            "sessionId": session,
            "name": f"task {number}",
            "createdAt": now,
        }
        os.close(run_dir.begin(facts, b""))
        run_dir.write_result(
            RunResult(run_id, session, f"task {number}", "completed", "Done.", finished_at_ms=now)
        )
        noted.append((run_id, session, str(run_dir.path), now, False))
    runs.index.add(noted)
    runs.index.mark_ended(run_id for run_id, *_ in noted)
