"""`subagents models`: which models sub-agents here can be given, by the names that presets use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.console import width

if TYPE_CHECKING:
    from pi_subagents.core.models import Model, ModelList
    from pi_subagents.faces.cli.console import Console

GAP = "  "
LEAST_NAME = 8


@click.command("models")
@click.argument("pattern", required=False, default="", metavar="[PATTERN]")
@click.option("--refresh", is_flag=True, help="Ask pi, even if what it told is still kept.")
@options.json_option
@click.pass_obj
def command(console: Console, pattern: str, *, refresh: bool, as_json: bool) -> None:
    """
    List the models that sub-agents have in this directory: those whose provider has a key or login.

    PATTERN keeps those in whose id or name it occurs. pi is asked with the trust that this project
    has; what it told is kept for a day, or until its configuration or a key changes.
    """
    from pi_subagents.core.models import model_to_json
    from pi_subagents.core.run import messages as run_messages
    from pi_subagents.faces.cli import messages

    told = console.place(Path.cwd()).models(refresh=refresh)
    shown = [model for model in told.models if _matches(model, pattern)]
    if as_json:
        models: list[object] = [model_to_json(model) for model in shown]
        console.json({"total": len(told.models), "cached": told.cached, "models": models})
        return
    if not told.models:
        console.answer(run_messages.NOTE_NO_MODEL)
        return
    _print(console, shown)
    console.notice(messages.models_told(len(shown), len(told.models), _age(told)))


def _matches(model: Model, pattern: str) -> bool:
    return any(pattern.lower() in text.lower() for text in (model.reference, model.name))


def _print(console: Console, models: list[Model]) -> None:
    """Print a line per model; its name only where that says more than its id."""
    from pi_subagents.core.plain_text import one_line

    wide = max((len(model.reference) for model in models), default=0)
    room = max(width(sys.stdout) - wide - len(GAP), LEAST_NAME)
    for model in models:
        name = "" if model.name == model.model_id else one_line(model.name, room)
        console.answer(f"{model.reference.ljust(wide)}{GAP}{name}".rstrip())


def _age(told: ModelList) -> str:
    from pi_subagents.faces.cli.look.runs import duration

    return duration(told.age_ms) if told.cached else ""
