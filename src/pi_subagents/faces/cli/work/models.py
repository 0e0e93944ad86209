"""`subagents models`: which models sub-agents here can be given, by the names that presets use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.core import messages as core_messages
from pi_subagents.core.engine_values import model_to_json
from pi_subagents.core.plain_text import one_line
from pi_subagents.faces.cli import messages, options
from pi_subagents.faces.cli.console import width
from pi_subagents.view.time_spent import age

if TYPE_CHECKING:
    from pi_subagents.core.engine_values import Model
    from pi_subagents.faces.cli.console import Console

GAP = "  "
LEAST_NAME = 8


@click.command("models")
@click.argument("pattern", required=False, default="", metavar="[PATTERN]")
@click.option(
    "--refresh", is_flag=True, help="Ask pi again, even if its last answer is still valid."
)
@options.json_option
@click.pass_obj
def models(console: Console, pattern: str, *, refresh: bool, as_json: bool) -> None:
    """
    List the models that sub-agents can use here: those whose provider has a key or login.

    PATTERN lists only those whose id or name contains it. pi is asked with this project's trust;
    its answer is kept for a day, or until its configuration or a key changes.
    """
    known = console.place(Path.cwd()).models(refresh=refresh)
    shown = [m for m in known.models if pattern.lower() in f"{m.reference}\n{m.name}".lower()]
    if as_json:
        rows = [model_to_json(model) for model in shown]
        console.json({"total": len(known.models), "cached": known.cached, "models": rows})
        return
    if not known.models:
        console.answer(core_messages.NOTE_NO_MODEL)
        return
    _print(console, shown)
    kept = age(known.age_ms) if known.cached else ""
    console.notice(messages.models_listed(len(shown), len(known.models), kept))


def _print(console: Console, models: list[Model]) -> None:
    """Print a line per model; its name only where that says more than its id."""
    wide = max((len(model.reference) for model in models), default=0)
    room = max(width(sys.stdout) - wide - len(GAP), LEAST_NAME)
    for model in models:
        name = "" if model.name == model.model_id else one_line(model.name, room)
        console.answer(f"{model.reference.ljust(wide)}{GAP}{name}".rstrip())
