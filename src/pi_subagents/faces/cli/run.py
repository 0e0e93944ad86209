"""`subagents run`: each prompt is a task."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console


@click.command("run", short_help="Run prompts in parallel, each in a sub-agent of its own.")
@click.argument("prompts", metavar="PROMPT...", nargs=-1, required=True)
@click.option("--name", "names", multiple=True, help="Name of a task; repeat it, in task order.")
@click.option(
    "--cwd",
    type=click.Path(path_type=Path),
    help="Working directory of the tasks (default: this one).",
)
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="PATH[:10-50]",
    help="Put a file, or some of its lines, before every prompt; repeat for more.",
)
@click.option("--timeout", type=float, help="Seconds per task, 1 to 86400 (default: 600).")
@options.concurrency_option
@options.offline_option
@options.script_option
@options.json_option
@options.verbosity_options
@click.pass_obj
def command(
    console: Console,
    *,
    prompts: tuple[str, ...],
    names: tuple[str, ...],
    cwd: Path | None,
    files: tuple[str, ...],
    timeout: float | None,
    concurrency: int | None,
    offline: bool,
    offline_script: Path | None,
    as_json: bool,
) -> int:
    """
    Run every PROMPT in a sub-agent of its own, in parallel, and print the answers.

    A PROMPT of `-` is read from standard input; paths of --file are relative to the tasks'
    directory. Progress goes to standard error; answers and a
    summary line per task go to standard output. Exit code: 0 all completed, 1 some failed,
    2 refused, 130 interrupted.

    \b
    Examples:
      subagents run "Which modules have no tests?"
      subagents run "Review src/auth" "Review src/db" --name auth --name db --timeout 900
      subagents run "Explain this" --file src/main.py:10-50
      git diff | subagents run - --name review
      subagents run --offline "Count the Python files in src"
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    from pi_subagents.core.attachment import parse_file_argument
    from pi_subagents.core.request import DEFAULT_TIMEOUT_S, Task
    from pi_subagents.faces.cli.live import delegate_live

    if len(names) > len(prompts):
        raise click.UsageError(f"{len(names)} names for {len(prompts)} prompts.")
    # A person may type `..`; a task may not, so the path is worked out here.
    directory = os.path.abspath(cwd) if cwd else None  # noqa: PTH100 - links stay as typed
    attached = tuple(parse_file_argument(each) for each in files)
    tasks = [
        Task(
            name=names[index] if index < len(names) else f"task-{index + 1}",
            prompt=options.text_or_stdin(prompt),
            cwd=directory,
            files=attached,
            timeout_s=DEFAULT_TIMEOUT_S if timeout is None else timeout,
        )
        for index, prompt in enumerate(prompts)
    ]
    chosen = options.offline_choice(offline=offline, script=offline_script)
    return delegate_live(
        console, tasks, {"offline": chosen, "concurrency": concurrency}, as_json=as_json
    )
