"""`subagents engines`: which kinds of sub-agents there are, and what is known of each here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pi_subagents.core.plain_text import one_line
from pi_subagents.faces.cli import messages, options
from pi_subagents.faces.cli.main import EXIT_FAILED
from pi_subagents.faces.cli.table import print_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.engines.listing import ListedEngine

HEADINGS = ("ENGINE", "VERSION", "LOGIN", "CAN")
MAX_PROBLEM = 300
_FAILED: Mapping[str, object] = {"fg": "red"}
_ABSENT: Mapping[str, object] = {"dim": True}


@click.command("engines")
@click.option("--check", "start", is_flag=True, help="Start what was found, and ask who it is.")
@options.json_option
@click.pass_obj
def engines(console: Console, *, start: bool, as_json: bool) -> int:
    """
    List the kinds of sub-agents: which are found here, in which version, and what each can do.

    A task, a profile, a preset, --engine and the setting subagents.engine choose one by its name.
    A login is known by its file or variable; an agent can have others. --check asks no model and
    opens no session; pi is asked for its models.
    Exit code: 0, or 1 if one that was found did not start.

    \b
    Examples:
      subagents engines --check
      subagents run --engine acp:codex "Which modules have no tests?"
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    from pi_subagents.service.engines.listing import engines_to_json, list_engines

    listed = list_engines({}, start=start)
    if as_json:
        console.json(engines_to_json(listed))
    else:
        _print(console, listed)
    return EXIT_FAILED if any(each.report.starts is False for each in listed) else 0


def _print(console: Console, listed: Sequence[ListedEngine]) -> None:
    print_table(console, HEADINGS, [_row(each) for each in listed], [_style(x) for x in listed])
    for each in listed:
        report = each.report
        if report.program and report.problem:
            said = one_line(report.problem, MAX_PROBLEM)
            console.beside(messages.engine_failed(report.name, said, report.fix))


def _row(listed: ListedEngine) -> tuple[str, ...]:
    report = listed.report
    if not report.program:
        return report.name, messages.NOT_FOUND, "", report.fix
    logged_in = messages.LOGGED_IN if report.logged_in else messages.how_to_log_in(report.login)
    if report.logged_in is False:
        logged_in = messages.not_logged_in(report.login)
    return report.name, report.version or "?", logged_in, ", ".join(listed.abilities)


def _style(listed: ListedEngine) -> Mapping[str, object]:
    if not listed.report.program:
        return _ABSENT
    return _FAILED if listed.report.starts is False else {}
