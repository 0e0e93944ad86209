"""
`subagents profile add` and `preset add`: write a definition from a template that we ship.

In: the name of a template.  Out: one private file, its path and how to use it; nothing is replaced
without --force.  None of them exists until it is added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import click

from pi_subagents.core.definitions.templates import TEMPLATES
from pi_subagents.faces.cli import messages

if TYPE_CHECKING:
    from pi_subagents.core.definitions.definition import Loaded
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.faces.cli.definitions.lookup import Catalogue

L = TypeVar("L", bound="Loaded")

force_option = click.option("--force", is_flag=True, help="Replace a file that is there already.")


def add_command(catalogue: Catalogue[L]) -> click.Command:
    """Return the verb that writes a file from a template."""
    noun = catalogue.noun

    @click.command(
        "add",
        short_help=f"Add a {noun} to begin with: {', '.join(TEMPLATES)}.",
        help=f"""
        Add a {noun} from a template: a file of yours, to use as it is or to edit.

        \b
        scout     finds its way around a code base; reads and searches only
        reviewer  looks for bugs and reports them by file and line; reads and searches only
        worker    carries out one change and checks it; may edit files and run commands
        """,
    )
    @click.argument("template", type=click.Choice(TEMPLATES), metavar="|".join(TEMPLATES))
    @click.option("--name", help=f"Name of the {noun} (default: that of the template).")
    @click.option("--model", help="The model it runs with; `subagents models` lists them.")
    @click.option(
        "--scope",
        type=click.Choice(["global", "project"]),
        default="global",
        help="For you in every project (global, the default), or for this project.",
    )
    @force_option
    @click.pass_obj
    def add(
        console: Console,
        template: str,
        *,
        name: str | None,
        model: str | None,
        scope: str,
        force: bool,
    ) -> None:
        called = name or template
        catalogue.check_name(called)
        files = catalogue.files(console)
        path = files.add(template, called, scope, model=model or "", force=force)
        console.answer(messages.definition_added(noun, called, str(path)))
        console.progress(messages.use_definition(noun, called), dim=True)
        if not model:
            console.progress(messages.no_model_yet(noun, template), dim=True)
        if model:
            for problem in files.lint(files.models_to_check()[0]):
                if problem.path == str(path) and not problem.is_note:
                    console.notice(str(problem))
        used = files.choices()[called].loaded
        if used and used.path != str(path):
            console.notice(messages.note_hidden(noun, called, used.scope, used.path))

    return add
