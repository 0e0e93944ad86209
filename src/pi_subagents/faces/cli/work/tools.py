"""`subagents tools`: what a host can call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.faces.cli.console import Console


@click.command("tools")
@options.json_option
@click.pass_obj
def command(console: Console, *, as_json: bool) -> int:
    """
    List every tool with its parameters, as each host is told of them.

    `subagents call NAME JSON` runs one. With --json: name, description and JSON schema of each.
    """
    from pi_subagents.service.tools.registry import all_tools

    if as_json:
        tools = [
            {"name": t.name, "description": t.description, "parameters": t.parameters}
            for t in all_tools()
        ]
        console.json({"tools": tools})
        return 0
    for tool in all_tools():
        console.answer(tool.name, bold=True)
        console.answer(f"  {tool.description}")
        for line in _parameters(tool.parameters, "  "):
            console.answer(line)
        console.answer("")
    return 0


def _parameters(schema: Mapping[str, object], indent: str) -> list[str]:
    """Return a line per parameter; those of a list's items stand below it."""
    properties, required = schema.get("properties"), schema.get("required", ())
    assert isinstance(properties, dict)
    assert isinstance(required, list | tuple)
    lines = []
    for name, about in properties.items():
        mark = "" if name in required else "?"
        told = (about.get(key, "") for key in ("type", "description"))
        lines.append(f"{indent}- {name}{mark}: {' '.join(filter(None, told))}")
        items = about.get("items")
        if items and "properties" in items:
            lines += _parameters(items, indent + "    ")
    return lines
