"""
`subagents tools` and `call`: which tools hosts can call, and run one of them as a host would.

In: the name of a tool and its parameters as JSON.  Out: text or JSON; `call` prints one object,
also where the call is refused.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.given import text_or_typed
from pi_subagents.faces.cli.main import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_REFUSED
from pi_subagents.faces.cli.messages import not_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.call import Options


@click.command("tools")
@options.json_option
@click.pass_obj
def tools(console: Console, *, as_json: bool) -> None:
    """
    List every tool with its parameters, as hosts see them.

    `subagents call NAME JSON` runs one. With --json: name, description and JSON schema of each.
    """
    from pi_subagents.service.tools.registry import all_tools

    if as_json:
        rows = [
            {"name": t.name, "description": t.description, "parameters": t.parameters}
            for t in all_tools()
        ]
        console.json({"tools": rows})
        return
    for tool in all_tools():
        console.answer(tool.name, bold=True)
        console.answer(f"  {tool.description}")
        for line in _parameters(tool.parameters, "  "):
            console.answer(line)
        console.answer("")


@click.command("call")
@click.argument("tool")
@click.argument("parameters", metavar="[JSON|-]", default="{}")
@options.child_options
@options.plain_option
@options.verbosity_options
@click.pass_obj
def call(
    console: Console,
    *,
    tool: str,
    parameters: str,
    chosen: Options,
    plain: bool,
) -> int:
    """
    Run TOOL with JSON parameters and print one object: content, details, isError.

    `-` reads the parameters from standard input. Progress goes to standard error, on a terminal
    as a rolling window per sub-agent. Exit code: 0 all completed, 1 some task
    failed, 2 the call was refused (isError is true and content says why), 130 interrupted.

    \b
    Example:
      subagents call delegate_to_subagents --offline \\
        '{"tasks": [{"name": "count", "prompt": "Count the Python files in src"}]}'
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    from pi_subagents import api
    from pi_subagents.faces.cli.work.live import run_stoppable
    from pi_subagents.view.answers import refusal_to_json

    try:
        decoded: object = json.loads(text_or_typed(console, parameters, "the JSON"))
    except (ValueError, RecursionError) as error:
        console.json(refusal_to_json(not_json(str(error))))
        return EXIT_REFUSED
    answer, stopped = run_stoppable(
        console, chosen, lambda watched: api.call_tool(tool, decoded, **watched), plain=plain
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


def _parameters(schema: Mapping[str, object], indent: str) -> list[str]:
    """Return a line per parameter; those of a list's items stand below it."""
    properties, required = schema.get("properties"), schema.get("required", ())
    assert isinstance(properties, dict)
    assert isinstance(required, list | tuple)
    lines = []
    for name, about in properties.items():
        mark = "" if name in required else "?"
        kind = about.get("type") or " or ".join(about.get("enum", ()))
        shown = (kind, about.get("description", ""))
        lines.append(f"{indent}- {name}{mark}: {' '.join(filter(None, shown))}")
        items = about.get("items")
        if items and "properties" in items:
            lines += _parameters(items, indent + "    ")
    return lines
