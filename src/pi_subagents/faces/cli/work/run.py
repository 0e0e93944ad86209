"""`subagents run`: each prompt is a task."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options
from pi_subagents.faces.cli.given import text_or_typed

if TYPE_CHECKING:
    from pi_subagents.core.task.request import Task
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.call import Options


@click.command("run")
@click.argument("prompts", metavar="[PROMPT]...", nargs=-1)
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
@options.profile_option
@click.option(
    "--resume",
    "sessions",
    multiple=True,
    metavar="SESSION",
    help="Go on with this session; repeat it, in task order.",
)
@click.option(
    "--task-file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="Take the tasks from a JSON or YAML file instead (`-`: JSON from standard input).",
)
@click.option("--timeout", type=float, help="Seconds per task, 1 to 86400 (default: 600).")
@options.child_options
@options.plain_option
@options.json_option
@options.verbosity_options
@click.pass_obj
def run(
    console: Console,
    *,
    prompts: tuple[str, ...],
    names: tuple[str, ...],
    cwd: Path | None,
    files: tuple[str, ...],
    profile: str | None,
    sessions: tuple[str, ...],
    task_file: Path | None,
    timeout: float | None,
    chosen: Options,
    plain: bool,
    as_json: bool,
) -> int:
    """
    Run every PROMPT in a sub-agent of its own, in parallel, and print the answers.

    A PROMPT of `-` is read from standard input; paths of --file are relative to the tasks'
    directory. A task file holds what the tool delegate_to_subagents takes: a list of tasks, or
    an object with `tasks` and `profile`; a relative cwd in it is meant from the file's place.
    Progress goes to standard error, on a terminal as a rolling window per task (Ctrl+O: all of
    it); answers and a summary line per task go to standard output.
    Exit code: 0 all completed, 1 some failed, 2 refused, 130 interrupted.

    \b
    Examples:
      subagents run "Which modules have no tests?"
      subagents run "Review src/auth" "Review src/db" --name auth --name db --timeout 900
      subagents run "Explain this" --file src/main.py:10-50 --profile code-reviewer
      subagents run "Now fix the first one." --resume a3f7b9c2d1e8f4a1
      subagents run --task-file tasks.yaml
      git diff | subagents run - --name review
      subagents run --offline "Count the Python files in src"
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    from pi_subagents.faces.cli.work.live import delegate_live

    if task_file:
        given = {"PROMPT": prompts, "--name": names, "--cwd": cwd, "--file": files,
                 "--resume": sessions, "--timeout": timeout}  # fmt: skip
        if alone := [option for option, value in given.items() if value]:
            raise click.UsageError(f"--task-file says what to run; leave out {', '.join(alone)}.")
        from pi_subagents.service.task_files import read_tasks

        path = str(task_file)
        request = read_tasks(task_file, lambda: click.open_file(path, "rb"))
        tasks, profile = list(request.tasks), profile or request.profile
    else:
        tasks = _typed_tasks(
            console, prompts, names=names, sessions=sessions, files=files, cwd=cwd, timeout=timeout
        )
    chosen["profile"] = profile
    return delegate_live(console, tasks, chosen, as_json=as_json, plain=plain)


def _typed_tasks(
    console: Console,
    prompts: tuple[str, ...],
    *,
    names: tuple[str, ...],
    sessions: tuple[str, ...],
    files: tuple[str, ...],
    cwd: Path | None,
    timeout: float | None,
) -> list[Task]:
    from pi_subagents.core.task.attachment import parse_file_argument
    from pi_subagents.core.task.request import DEFAULT_TIMEOUT_S, Task

    if not prompts:
        raise click.UsageError("Give at least one PROMPT, or a --task-file.")
    for many, what in ((names, "names"), (sessions, "sessions")):
        if len(many) > len(prompts):
            raise click.UsageError(f"{len(many)} {what} for {len(prompts)} prompts.")
    # A person may type `..`; a task may not, so the path is worked out here.
    directory = os.path.abspath(cwd) if cwd else None  # noqa: PTH100 - links stay as typed
    attached = tuple(parse_file_argument(each) for each in files)
    return [
        Task(
            name=names[index] if index < len(names) else f"task-{index + 1}",
            prompt=text_or_typed(console, prompt, "the prompt"),
            cwd=directory,
            files=attached,
            timeout_s=DEFAULT_TIMEOUT_S if timeout is None else timeout,
            resume=sessions[index] if index < len(sessions) else None,
        )
        for index, prompt in enumerate(prompts)
    ]
