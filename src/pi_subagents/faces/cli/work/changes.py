"""`subagents diff`, `apply` and `discard`: what runs changed in worktrees of their own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.console import coloured

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command("diff")
@options.id_argument("any_id", "ID")
@click.option("--stat", is_flag=True, help="Only list the files, with the lines of each.")
@options.json_option
@click.pass_obj
def diff(console: Console, *, any_id: str, stat: bool, as_json: bool) -> int:
    """
    Show what a run changed in its worktree, as a patch for git.

    What is to be looked at before it is taken (changes to .pi/, AGENTS.md, CI files; links that
    leave the tree) is said on standard error.

    \b
    Examples:
      subagents diff 3f9c
      subagents diff last --stat
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    from pi_subagents.core.plain_text import printable
    from pi_subagents.core.workspace.changes import changes_to_json
    from pi_subagents.service.runs import Runs
    from pi_subagents.service.workspaces.taking import see_changes
    from pi_subagents.view.taken import file_line

    seen = see_changes(Runs(), any_id)
    if as_json:
        warnings = list(seen.warnings)
        run_id = seen.run.run_id
        console.json({"runId": run_id, **changes_to_json(seen.changes), "warnings": warnings})
        return 0
    for warning in seen.warnings:
        console.beside(printable(warning))
    if stat:
        for file in seen.changes.files:
            console.answer(printable(file_line(file)))
        console.answer(seen.changes.summary)
    elif sys.stdout.isatty():
        for line in printable(seen.patch.decode("utf-8", "replace")).split("\n"):
            colour = _COLOURS.get(line[:1]) if coloured(sys.stdout) else None
            console.answer(line, **({"fg": colour} if colour else {}))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(seen.patch)  # for git, byte by byte
    return 0


@click.command("apply")
@options.id_argument("ids", "ID...", many=True)
@click.option("--check", is_flag=True, help="Say whether they fit, and change nothing.")
@click.option("--commit", is_flag=True, help="Commit the changes of each run.")
@click.option("--passed", is_flag=True, help="Leave out runs whose check did not pass.")
@options.json_option
@click.pass_obj
def apply(
    console: Console,
    *,
    ids: tuple[str, ...],
    check: bool,
    commit: bool,
    passed: bool,
    as_json: bool,
) -> int:
    """
    Take the changes of runs into the checkout they were made for: all of them in the order given,
    or none.

    They are joined with what is there now. If any of them does not fit, the files and lines are
    listed and nothing is changed. The index stays as it is, except with --commit, which makes a
    commit for each run without hooks; files with changes of yours are not committed. Changes are
    taken once. With --passed only those count that a check of ours passed: what a sub-agent only
    claims to have done is left out, and named.

    \b
    Examples:
      subagents apply 3f9c 81aa --check
      subagents apply 3f9c 81aa --commit --passed
    """  # noqa: D301 - as above; the summary is wrapped
    from pi_subagents.core.plain_text import printable
    from pi_subagents.service.runs import Runs
    from pi_subagents.service.workspaces.taking import take_changes
    from pi_subagents.view.taken import taken_text, taken_to_json

    taken = take_changes(Runs(), ids, check=check, commit=commit, passed=passed)
    if as_json:
        console.json(taken_to_json(taken.files, taken.warnings, taken.commits, check=check))
        return 0
    for warning in taken.warnings:
        console.beside(printable(warning))
    console.answer(printable(taken_text(taken.files, taken.commits, check=check)))
    return 0


@click.command("discard")
@options.id_argument("any_id", "ID")
@click.pass_obj
def discard(console: Console, *, any_id: str) -> int:
    """Throw away what a run changed in its worktree, and the worktree if it was kept."""
    from pi_subagents.service.messages import changes_discarded
    from pi_subagents.service.runs import Runs
    from pi_subagents.service.workspaces.taking import throw_away

    console.answer(changes_discarded(throw_away(Runs(), any_id)))
    return 0
