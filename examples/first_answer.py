"""
Ask several sub-agents and stop the others as soon as one has answered.

    python examples/first_answer.py

The offline model plays a script here: one child answers at once, the others take minutes.
"""

import asyncio
import sys

from pi_subagents import RunResult, StopSwitch, Task, Update, delegate
from pi_subagents.core.offline.script import parse_script

SCRIPT = parse_script(
    {
        "conversations": [{"match": "quick", "turns": [{"text": "Here I am."}]}],
        "default": [{"text": "Too late.", "delayMs": 300_000}],
    }
)
TASKS = (
    Task("first", "a slow question"),
    Task("second", "a quick question"),
    Task("third", "another slow question"),
)


async def main() -> int:
    """Return 0 if somebody answered."""
    stop = StopSwitch()

    def stop_at_first_answer(update: Update) -> None:
        if isinstance(update.what, RunResult) and update.what.completed:
            stop.stop()

    delegation = await delegate(TASKS, offline=SCRIPT, stop=stop, on_update=stop_at_first_answer)
    for result in delegation.results:
        print(f"{result.name}: {result.status}: {result.output or result.error_message}")
    return 0 if any(result.completed for result in delegation.results) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
