"""
`subagents profile delete`: remove the file of one profile, after a question or `--yes`.

In: a name, and a scope where both have it.  Out: one file less.  A name that no profile may have,
or an answer that nobody can give, is refused before anything is touched.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli.definitions.lookup import candidates
from pi_subagents.faces.cli.definitions.profile_names import PROFILES

if TYPE_CHECKING:
    from pi_subagents.core.profile.profile import LoadedProfile
    from pi_subagents.faces.cli.console import Console


@click.command("delete", short_help="Delete a profile's file (also: rm, remove).")
@click.argument("name", shell_complete=PROFILES.complete)
@click.option(
    "--scope",
    type=click.Choice(["global", "project"]),
    help="Which one, where both scopes have a profile of this name.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete(console: Console, name: str, *, scope: str | None, yes: bool) -> int:
    """
    Delete the file of the profile NAME, after asking.

    Where the file is a link, the link is removed and what it leads to stays.
    """
    chosen = _chosen(console, name, scope)
    if not yes and not _confirmed(console, chosen):
        console.answer("Nothing was deleted.")
        return 1
    PROFILES.files(console).delete(chosen)
    console.answer(f'Deleted the {chosen.scope} profile "{name}": {chosen.path}')
    if left := PROFILES.load().get(name):
        console.notice(f'"{name}" is now the {left.scope} profile in {left.path}.')
    return 0


def _chosen(console: Console, name: str, scope: str | None) -> LoadedProfile:
    """Return the profile that is meant; which one must be said where there are two."""
    found = PROFILES.load()
    first = PROFILES.find(console, name, found, scope)
    if scope is None and len(candidates(name, found)) > 1:
        raise click.UsageError(
            f'There are two profiles "{name}". Say which: --scope project, the one in use here, or '
            "--scope global."
        )
    return first


def _confirmed(console: Console, chosen: LoadedProfile) -> bool:
    from pi_subagents.core.plain_text import printable
    from pi_subagents.core.profile.questions import Confirm

    given = Path(chosen.path)
    real = given.parent.resolve() / given.name  # the directory may be a link to anywhere
    where = f"{chosen.scope} profile: {real}"
    question = f'Delete subagent profile "{chosen.profile.name}"?'
    if console.ask:
        asked = Confirm("Delete profile?", question, default=False, text=where)
        return console.ask.confirm(asked) is True
    if not sys.stdin.isatty():
        raise click.UsageError(
            "Nobody can be asked: standard input is not a terminal. To delete it, add --yes."
        )
    click.echo(printable(where), err=True)
    return click.confirm(question, err=True)
