"""
`subagents profile import`: agent definitions of other programs become profiles or presets.

In: files, or nothing, which looks where Claude Code, opencode, Codex and Gemini CLI keep theirs.
Out: what each field becomes, and after a yes one file of ours for each agent; nothing of theirs is
changed, and nothing of ours is replaced without --force.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.core.definitions.found import PRESET, PROFILE
from pi_subagents.core.foreign.names import PROGRAMS
from pi_subagents.core.profile.questions import Confirm
from pi_subagents.errors import DefinitionExists
from pi_subagents.faces.cli import messages
from pi_subagents.faces.cli.definitions.add import force_option
from pi_subagents.faces.cli.definitions.lookup import PRESETS, PROFILES
from pi_subagents.faces.cli.messages import CANNOT_CONFIRM

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.definitions.importing import ImportedAgent


_HELP = """
Import agents of other programs: files or directories PATH, or all that are found.

Without PATH, agents of this project and of your home are looked for, shown, and imported after you
say yes. What becomes of each field is shown. Tools are renamed; those that pi does not have stay
forbidden. A model is kept only if pi lists it. Exit code: 0 all imported, 1 some were not.

\b
Claude Code  .claude/agents/*.md
opencode     .opencode/agent/*.md, ~/.config/opencode/agent/*.md
Codex        .codex/agents/*.toml, profiles of .codex/config.toml
Gemini CLI   .gemini/agents/*.md
"""


@click.command(
    "import",
    short_help="Import agents of Claude Code, opencode, Codex or Gemini CLI.",
    help=_HELP,
)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "format_name",
    type=click.Choice(PROGRAMS),
    help="Whose files these are (default: by where they are).",
)
@click.option(
    "--as",
    "kind",
    type=click.Choice([PROFILE, PRESET]),
    default=PROFILE,
    help="What to write (default: profile).",
)
@click.option(
    "--scope",
    type=click.Choice(["global", "project"]),
    help="Where to write (default: global; project for files of this project).",
)
@click.option("--dry-run", is_flag=True, help="Only show what would become of each field.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@force_option
@click.pass_obj
def import_agents(
    console: Console,
    /,
    paths: tuple[Path, ...],
    *,
    format_name: str | None,
    kind: str,
    scope: str | None,
    dry_run: bool,
    yes: bool,
    force: bool,
) -> int:
    """Show what becomes of each agent, and write it."""
    from pi_subagents.service.definitions.importing import import_agents

    found = import_agents(console.place(Path.cwd()), paths, format_name or "", kind)
    if not found:
        console.answer(messages.NO_AGENTS_THERE if paths else messages.NO_AGENTS_FOUND)
        return 0
    for agent in found:
        _show(console, agent, kind)
    usable = [agent for agent in found if agent.converted]
    if dry_run or not usable:
        return 0 if len(usable) == len(found) else 1
    if not (paths or yes or _confirmed(console, len(usable), kind)):
        console.answer(messages.NOTHING_IMPORTED)
        return 1
    written = [_write(console, agent, kind, scope, force=force) for agent in usable]
    return 0 if all(written) and len(usable) == len(found) else 1


def _show(console: Console, agent: ImportedAgent, kind: str) -> None:
    if agent.converted is None:
        console.notice(messages.agent_unreadable(agent.path, agent.program, agent.problem))
        return
    name = agent.converted.name
    console.answer(messages.agent_becomes(agent.path, agent.program, kind, name), bold=True)
    width = max((len(row.field) for row in agent.converted.rows), default=0)
    before = ""
    for row in agent.converted.rows:
        field = "" if row.field == before else row.field
        before = row.field
        console.answer(f"  {field:<{width}}  {row.becomes}")


def _confirmed(console: Console, count: int, kind: str) -> bool:
    question = messages.write_imported(count, kind)
    if console.ask:
        asked = Confirm(f"Import {kind}s?", question, default=False, escape=messages.IMPORT_NOTHING)
        return console.ask.confirm(asked) is True
    if not sys.stdin.isatty():
        raise click.UsageError(CANNOT_CONFIRM)
    return click.confirm(question, err=True)


def _write(
    console: Console, agent: ImportedAgent, kind: str, scope: str | None, *, force: bool
) -> bool:
    """Write one file; return whether it was."""
    assert agent.converted
    files = PRESETS.files(console) if kind == PRESET else PROFILES.files(console)
    made = agent.converted
    try:
        path = files.save(made.name, made.text, scope or agent.scope, force=force)
    except DefinitionExists as there:
        console.notice(str(there))
        return False
    console.answer(messages.definition_added(kind, made.name, str(path)))
    return True
