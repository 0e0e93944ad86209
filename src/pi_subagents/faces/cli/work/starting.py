"""`subagents run --background`: start tasks that go on by themselves, and say where they are."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.task.request import checked_request
from pi_subagents.faces.cli import messages
from pi_subagents.faces.cli.main import EXIT_FAILED
from pi_subagents.faces.cli.work.asking import ask
from pi_subagents.service.background import start_request
from pi_subagents.view.background import never_started, row_to_json
from pi_subagents.view.failure import explain_failure

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.task.request import Task
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.call import Options

MAX_NAME = 60


def start_all(console: Console, tasks: list[Task], options: Options, *, as_json: bool) -> int:
    """Start the tasks, print a line of each, and return the exit code."""
    chosen: Options = {**options, "on_notice": console.notice}
    if sys.stdin.isatty() and sys.stderr.isatty():
        chosen["ask"] = partial(ask, console)
    request = checked_request(tasks, options.get("profile"))
    runs = asyncio.run(start_request(request, chosen))
    failed = [run for run in runs if never_started(run)]
    if as_json:
        console.json({"runs": [row_to_json(run) for run in runs]})
    else:
        for run in runs:
            _print(console, run, failed=run in failed)
    return EXIT_FAILED if failed else 0


def _print(console: Console, run: RunRecord, *, failed: bool) -> None:
    name = one_line(run.title, MAX_NAME)
    if failed:
        for line in explain_failure(run.error_message).lines:
            console.beside(f"{name}: {line}")
    else:
        console.answer(messages.background_started(name, run.short_id))
