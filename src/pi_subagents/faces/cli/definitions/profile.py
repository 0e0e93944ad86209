"""
`subagents profile`: which profiles there are, where they are kept, what is wrong with them.

In: a verb, or the name of a profile, which shows it.  Out: text or JSON in which keys are masked.
Only `create`, `edit` and `delete` change anything: one file, after a question or as options say.
"""

from __future__ import annotations

import click

from pi_subagents.faces.cli.definitions.definition_verbs import (
    DefinitionGroup,
    lint_command,
    list_command,
    path_command,
)
from pi_subagents.faces.cli.definitions.profile_delete import delete
from pi_subagents.faces.cli.definitions.profile_names import PROFILES
from pi_subagents.faces.cli.definitions.profile_show import show
from pi_subagents.faces.cli.definitions.profile_write import create, edit


@click.group(
    "profile",
    cls=DefinitionGroup,
    catalogue=PROFILES,
    show=show,
    aliases={"ls": "list", "new": "create", "rm": "delete", "remove": "delete"},
)
def command() -> None:
    """
    Profiles say how sub-agents run: model, tools, system prompt, and more, under a name.

    Each is a Markdown file with front matter, in a directory of yours (global) or of this project;
    a project's profile counts before a global one of the same name. Use one with
    `subagents run --profile NAME`.

    `subagents profile NAME` is short for `subagents profile show NAME`.
    """


command.add_command(list_command(PROFILES))
command.add_command(show)
command.add_command(create)
command.add_command(edit)
command.add_command(delete)
command.add_command(path_command(PROFILES))
command.add_command(lint_command(PROFILES))
