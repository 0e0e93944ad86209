"""
`subagents setup --remove`: what set-up installed goes, and hosts learn of it.

In: whether hosts are meant too, and whether anybody is asked.  Out: what was removed, and what is
left to do.  Hosts come first, since pi itself takes its extension out.  Refused while runs are
active, and where somebody has to be asked and cannot be.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.errors import SubagentsError
from pi_subagents.faces.cli import messages
from pi_subagents.service.machine.removal import (
    entries_of_ours,
    place_of_children,
    refuse_while_at_work,
)
from pi_subagents.service.machine.setup import remove_children

if TYPE_CHECKING:
    from pi_subagents.core.engine_values import Report
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.machine.removal import EntryOfOurs

EXIT_DECLINED = EXIT_INCOMPLETE = 1


def remove_everything(
    console: Console, report: Report, *, hosts: bool, yes: bool, as_json: bool
) -> int:
    """Ask, remove, and name what is left."""
    cwd, env = Path.cwd(), os.environ
    refuse_while_at_work(cwd, env)
    entries = entries_of_ours(cwd, env)
    named = ", ".join(dict.fromkeys(entry.title for entry in entries))
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError(messages.CANNOT_CONFIRM)
        if not click.confirm(messages.remove_question(place_of_children(env)), err=True):
            console.answer(messages.NOTHING_REMOVED)
            return EXIT_DECLINED
        if entries and not hosts:
            hosts = click.confirm(messages.remove_hosts_question(named), err=True)
    left = [entry for entry in entries if not (hosts and _taken_out(console, entry))]
    outcome = remove_children(env, report)
    if as_json:
        of_hosts = [
            {"host": each.host, "path": str(each.path), "removed": each not in left}
            for each in entries
        ]
        console.json({**outcome.facts, "hosts": of_hosts})
    else:
        for line in outcome.lines:
            console.answer(line)
        for entry in left:
            how = f"{entry.host} --project" if entry.project else entry.host
            console.notice(messages.host_still_starts_us(entry.title, str(entry.path), how))
    return EXIT_INCOMPLETE if hosts and left else 0


def _taken_out(console: Console, entry: EntryOfOurs) -> bool:
    try:
        entry.take_out()
    except SubagentsError as refusal:
        console.notice(str(refusal))
        return False
    console.progress(messages.host_entry_removed(entry.title, str(entry.path)))
    return True
