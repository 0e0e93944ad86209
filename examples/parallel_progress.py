"""
Run several tasks side by side and show what happens while it happens.

    python examples/parallel_progress.py

Works in the current directory, with the built-in offline model.
"""

import asyncio
import sys

from pi_subagents import ProgressFormatter, RunResult, Task, Update, delegate

TASKS = (
    Task("files", "Find the Python files in .", timeout_s=120),
    Task("lines", "Count the lines in README.md", timeout_s=120),
    Task("headings", "Summarise the headings of README.md", timeout_s=120),
)


FORMATTERS = {task.name: ProgressFormatter() for task in TASKS}


def show(update: Update) -> None:
    """Print what happened in plain words; it is called in order and should return quickly."""
    if isinstance(update.what, RunResult):
        text = f"{update.what.status} after {update.what.duration_ms / 1000:.1f}s"
    else:
        text = FORMATTERS[update.run.task.name].text(update.what)
    if text:
        print(f"[{update.run.task.name}] {text}", file=sys.stderr)


async def main() -> int:
    """Return 0 if all tasks were completed."""
    delegation = await delegate(TASKS, offline=True, concurrency=2, on_update=show)
    for result in delegation.results:  # in the order of the tasks, whoever was first
        print(f"{result.name}: {result.output or result.error_message}")
    return 0 if all(result.completed for result in delegation.results) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
