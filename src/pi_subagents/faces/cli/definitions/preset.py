"""
`subagents preset`: which presets there are, where they are kept, what is wrong with them.

In: a verb, or the name of a preset, which shows it.  Out: text or JSON.  Nothing is changed: a
preset is a file to be edited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.definitions.definition_verbs import DefinitionGroup
from pi_subagents.faces.cli.definitions.lookup import (
    PRESETS,
    origin_to_json,
    print_detail,
    print_problems,
    problem_to_json,
    problems_of,
)

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console


@click.command("show", short_help="Show one preset.")
@click.argument("name", shell_complete=PRESETS.complete)
@options.json_option
@click.pass_obj
def show(console: Console, name: str, *, as_json: bool) -> None:
    """Show all that the preset NAME sets, and where it comes from."""
    from pi_subagents.core.preset.preset import preset_detail, preset_fields

    found = PRESETS.load()
    loaded, note = PRESETS.find_used(console, name, found)
    problems = problems_of(loaded, found)
    if as_json:
        fields = preset_fields(loaded.preset)
        rows = [problem_to_json(each) for each in problems]
        more = {"notes": [note]} if note else {}
        console.json({**origin_to_json(loaded, found), "preset": fields, "problems": rows, **more})
        return
    print_detail(console, preset_detail(loaded.preset), loaded, found)
    print_problems(console, problems)
    if note:
        console.notice(note)


@click.group("preset", cls=DefinitionGroup, catalogue=PRESETS, show=show, aliases={"ls": "list"})
def preset() -> None:
    """
    Presets are kinds of sub-agents that calls name: a prompt, tools and a model of their own.

    Each is a Markdown file with front matter, in a directory of yours (global) or of this project:
    the nearest `.pi/subagents` here or above that holds any. A project's preset takes
    precedence over a global one of the same name.

    `subagents preset NAME` is short for `subagents preset show NAME`.
    """
