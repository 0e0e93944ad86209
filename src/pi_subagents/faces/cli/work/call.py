"""`subagents call`: run a tool by name, as any host would."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.given import text_or_typed

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.faces.cli.console import Console


@click.command("call")
@click.argument("tool")
@click.argument("parameters", metavar="[JSON|-]", default="{}")
@options.trust_option
@options.concurrency_option
@options.runner_option
@options.offline_option
@options.script_option
@options.plain_option
@options.verbosity_options
@click.pass_obj
def command(
    console: Console,
    *,
    tool: str,
    parameters: str,
    trust_project: bool,
    concurrency: int | None,
    runner: str | None,
    offline: bool,
    offline_script: Path | None,
    plain: bool,
) -> int:
    """
    Run TOOL with JSON parameters and print one object: content, details, isError.

    Parameters of `-` are read from standard input. Progress goes to standard error, on a terminal
    as a rolling window per sub-agent. Exit code: 0 all completed, 1 some task
    failed, 2 the call was refused (isError is true and content says why), 130 interrupted.

    \b
    Example:
      subagents call delegate_to_subagents --offline \\
        '{"tasks": [{"name": "count", "prompt": "Count the Python files in src"}]}'
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    from pi_subagents import api
    from pi_subagents.faces.cli.main import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_REFUSED
    from pi_subagents.faces.cli.messages import not_json
    from pi_subagents.faces.cli.work.live import run_stoppable
    from pi_subagents.view.summary import refusal_to_json

    try:
        decoded: object = json.loads(text_or_typed(console, parameters, "the JSON"))
    except (ValueError, RecursionError) as error:
        console.json(refusal_to_json(not_json(str(error))))
        return EXIT_REFUSED
    chosen = options.offline_choice(offline=offline, script=offline_script)
    answer, stopped = run_stoppable(
        console,
        {
            "offline": chosen,
            "concurrency": concurrency,
            "runner": runner,
            "trust_project": trust_project,
        },
        lambda chosen: api.call_tool(tool, decoded, **chosen),
        plain=plain,
    )
    console.json(answer)
    if answer["isError"]:
        return EXIT_REFUSED
    if stopped:
        return EXIT_INTERRUPTED
    return 0 if _all_completed(answer) else EXIT_FAILED


def _all_completed(answer: dict[str, object]) -> bool:
    details = answer["details"]
    assert isinstance(details, dict)
    if details.get("status") == "refused":  # a message that nobody takes
        return False
    return all(entry["status"] == "completed" for entry in details.get("results", ()))
