"""`subagents doctor`: what works here, what does not, and how to fix it."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.core.plain_text import printable
from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.console import width

if TYPE_CHECKING:
    from pi_subagents.core.check import Check
    from pi_subagents.faces.cli.console import Console

MARKS = {"ok": "✓", "note": "·", "problem": "!", "fatal": "✗"}
PLAIN_MARKS = {"ok": "+", "note": "-", "problem": "!", "fatal": "x"}
COLOURS = {"ok": "green", "note": "cyan", "problem": "yellow", "fatal": "red"}
TITLE_WIDTH = 19
INDENT = " " * (TITLE_WIDTH + 2)


@click.command("doctor")
@options.json_option
@click.option("--report", is_flag=True, help="Print text for a bug report, without secrets.")
@click.option(
    "--reindex",
    is_flag=True,
    help="First adopt run directories of this project that came from elsewhere.",
)
@click.pass_obj
def doctor(console: Console, *, as_json: bool, report: bool, reindex: bool) -> int:
    """
    Check whether sub-agents can run here, and say how to fix what is in the way.

    Looks at Python, Node, pi and its models, settings, trust, the directories it writes to, and
    what a crash may have left behind; runs that lost their supervisor are marked as interrupted.
    Exit code: 0 if sub-agents can run here, 1 if not.
    """
    from pi_subagents.service.doctor.examination import can_delegate, examine

    if as_json and report:
        raise click.UsageError("--json and --report cannot be used together.")
    cwd = _cwd()
    checks: list[Check] = []
    for check in examine(cwd, os.environ, reindex=reindex):
        checks.append(check)
        if not as_json and not report:
            _show(console, check)
    works = can_delegate(checks)
    if as_json:
        console.json({"ok": works, "checks": [check.to_json() for check in checks]})
    elif report:
        from pi_subagents.service.doctor.bug_report import format_report

        console.answer(_encodable(format_report(checks, cwd, os.environ)))
    else:
        _conclude(console, checks, works=works)
    return 0 if works else 1


def _cwd() -> Path:
    try:
        return Path.cwd()
    except OSError:  # removed under our feet
        return Path(os.environ.get("PWD") or "gone")


def _show(console: Console, check: Check) -> None:
    marks = MARKS if _encodable("✓") == "✓" else PLAIN_MARKS
    mark = console.style(marks[check.state], sys.stdout, fg=COLOURS[check.state])
    first, *more = _wrapped(check.found)
    title = console.style(f"{check.title:<{TITLE_WIDTH}}", sys.stdout, bold=True)
    click.echo(f"{mark} {title}{first}")
    for line in more:
        click.echo(f"{INDENT}{line}")
    if check.fix:
        arrow, *rest = _wrapped(f"→ {check.fix}")
        for line in (arrow, *(f"  {line}" for line in rest)):
            click.echo(INDENT + console.style(line, sys.stdout, fg=COLOURS[check.state]))


def _wrapped(text: str) -> list[str]:
    """Return safe lines that fit beside the titles."""
    lines = printable(_encodable(text)).splitlines() or [""]
    if not sys.stdout.isatty():
        return lines  # whoever reads it next may search or wrap it
    wrap = textwrap.TextWrapper(
        max(width(sys.stdout) - len(INDENT) - 2, 30), break_long_words=False, break_on_hyphens=False
    ).wrap
    return [each for line in lines for each in wrap(line) or [""]]


def _conclude(console: Console, checks: list[Check], *, works: bool) -> None:
    fatal = [check.title for check in checks if check.state == "fatal"]
    problems = [check.title for check in checks if check.state == "problem"]
    text, colour = "Sub-agents can run here.", "green"
    if not works:
        text = f"Sub-agents cannot run here yet. Fix this first: {', '.join(fatal)}."
        colour = "red"
    elif problems:
        text, colour = f"{text} Worth a look: {', '.join(problems)}.", "yellow"
    console.answer("")
    console.answer(_encodable(text), fg=colour)


def _encodable(text: str) -> str:
    """Return the text as far as the stream can show it: a doctor does not fail on a tick."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)
