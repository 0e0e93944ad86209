"""`subagents demo`: the whole thing in one go, without an account."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console

ANSWER_ROWS = 4  # of each, so that all of it fits on a screen
PACE_MS = 900  # before each step where somebody watches: at once, nothing would be seen of it
ON_A_CHECKOUT = (
    ("count", "Count the Python files in src, then count the lines in README.md"),
    ("headings", "Summarise the headings of README.md"),
    ("search", "Find *.md, then list src, then search for PI_SUBAGENTS_CHILD in src"),
)
ANYWHERE = (
    ("list", "List the files in ."),
    ("count", "Count the files in ., then count the Markdown files in ."),
    ("find", "Find *.txt in ., then find *.py in ., then find *.md in ."),
)


@click.command("demo")
@options.plain_option
@options.json_option
@options.verbosity_options
@click.pass_obj
@options.refusals_in_json
def demo(console: Console, *, plain: bool, as_json: bool) -> int:
    """
    Run three tasks in parallel on this directory, with real pi children and the offline model.

    Installs the pinned pi first if there is none. Your own pi configuration is neither read nor
    written: the children get a configuration directory of their own.
    """
    from pi_subagents.core.offline.script import Script
    from pi_subagents.core.task.request import Task
    from pi_subagents.faces.cli.machine.setup import Painter
    from pi_subagents.faces.cli.work.live import delegate_live
    from pi_subagents.service.machine.setup import prepare_demo

    cwd = Path.cwd()
    with closing(Painter(sys.stderr, os.environ)) as painter:
        env = prepare_demo(cwd, os.environ, painter)
    suited = (cwd / "src").is_dir() and (cwd / "README.md").is_file()
    tasks = [Task(name, prompt) for name, prompt in (ON_A_CHECKOUT if suited else ANYWHERE)]
    console.notice(f"Three sub-agents work in {cwd}, side by side:")
    for task in tasks:
        console.progress(f"  {task.name}: {task.prompt}")
    watched = sys.stderr.isatty() and not (plain or as_json)
    code = delegate_live(
        console,
        tasks,
        {"env": env, "offline": Script(rules_pace_ms=PACE_MS) if watched else True},
        as_json=as_json,
        plain=plain,
        most_rows=ANSWER_ROWS,
    )
    if not as_json:
        _print_next_steps(console)
    return code


def _print_next_steps(console: Console) -> None:
    name = command_name()
    console.progress(
        f'\nWhat to type next: {name} runs, {name} show last, {name} run "..."', bold=True
    )


def command_name() -> str:
    """Return how this command was called, so that a line of ours can be typed as it stands."""
    called, found = Path(sys.argv[0]).absolute(), shutil.which("subagents")
    if found is None or Path(found) != called:
        with suppress(ValueError):
            return str(called.relative_to(Path.cwd()))
    return "subagents"
