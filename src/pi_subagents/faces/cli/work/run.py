"""
`subagents run`: each prompt is a task.

Also what else a person says of tasks, which `subagents resume` takes as well: TaskOptions.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from pi_subagents.core.profile.profile import QUESTION_CHOICES, THINKING_LEVELS
from pi_subagents.core.value import replace
from pi_subagents.faces.cli import completing, messages, options
from pi_subagents.faces.cli.given import FiniteRange, text_or_typed

if TYPE_CHECKING:
    from pi_subagents.core.task.request import Task
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.faces.cli.options import Callback
    from pi_subagents.service.call import Options


_OPTIONS = (
    click.option(
        "--cwd",
        type=click.Path(path_type=Path),
        help="Working directory of the tasks (default: this one).",
    ),
    click.option(
        "--file",
        "files",
        multiple=True,
        metavar="PATH[:10-50]",
        help="Put a file, or some of its lines, before every prompt; repeat for more.",
    ),
    options.profile_option,
    click.option(
        "--timeout",
        type=FiniteRange(1, 86_400),
        metavar="SECONDS",
        help="Time for each task (default: 600). A sub-agent that is active then goes on, until "
        "it was idle for 30 s (subagents.extend_timeout_debounce; 0: no extension).",
    ),
    click.option("--model", help="Model, over the profile's (`subagents models` lists them)."),
    click.option(
        "--thinking", type=click.Choice(THINKING_LEVELS), help="Thinking level, over the profile's."
    ),
    click.option(
        "--tools",
        metavar="NAME,NAME...",
        help='The only tools they may use, over the profile\'s; "" for none.',
    ),
    options.schema_option,
    click.option(
        "--questions",
        type=click.Choice(QUESTION_CHOICES),
        help="Whether they may ask somebody and wait for the answer, over the profile's.",
    ),
    click.option(
        "--check",
        metavar="COMMAND",
        help="Run this where each task works, after its answer. What fails it may mend once; what "
        "fails again counts as failed.",
    ),
    click.option(
        "--background",
        "in_background",
        is_flag=True,
        help="Start them and return: they go on by themselves (`subagents background --help`).",
    ),
    options.budget_options,
)


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """Which of them were given."""

    cwd: Path | None
    files: tuple[str, ...]
    profile: str | None
    timeout: float | None
    model: str | None
    thinking: str | None
    tools: str | None
    questions: str | None
    check: str | None
    schema: object
    in_background: bool
    budget: dict[str, str] | None

    @property
    def only_for_prompts(self) -> dict[str, object]:
        """Those that a task file has words of its own for, and whether they were given."""
        return {"--cwd": self.cwd, "--file": self.files, "--timeout": self.timeout,
                "--model": self.model, "--thinking": self.thinking,
                "--tools": self.tools is not None, "--questions": self.questions,
                "--check": self.check,
                "--schema": self.schema is not None}  # fmt: skip

    def applied_to(self, task: Task) -> Task:
        """Return the task with what was given; in the background it has no limit by itself."""
        from pi_subagents.core.task.attachment import parse_file_argument
        from pi_subagents.core.task.request import split_names

        # A person may type `..`; a task may not, so the path is worked out here.
        cwd = os.path.abspath(self.cwd) if self.cwd else task.cwd  # noqa: PTH100 - links stay as typed
        files = tuple(parse_file_argument(each) for each in self.files)
        if files:
            from pi_subagents.service.task_files import refuse_unusable_files

            refuse_unusable_files(files, Path(cwd or Path.cwd()))
        default_s = None if self.in_background else task.timeout_s
        return replace(
            task,
            cwd=cwd,
            files=files,
            timeout_s=default_s if self.timeout is None else self.timeout,
            model=self.model,
            thinking=self.thinking,
            tools=None if self.tools is None else split_names(self.tools),
            questions=self.questions,
            check=self.check,
            output_schema=self.schema,
        )

    def start(
        self, console: Console, tasks: list[Task], chosen: Options, *, as_json: bool, plain: bool
    ) -> int:
        """Run the tasks, or start them in the background; return the exit code."""
        chosen["budget"] = self.budget
        if self.in_background:
            return self._start(console, tasks, chosen, as_json=as_json, plain=plain)
        from pi_subagents.service.machine.head_start import supervisors_begun

        with supervisors_begun(os.environ):
            return self._start(console, tasks, chosen, as_json=as_json, plain=plain)

    def _start(
        self, console: Console, tasks: list[Task], chosen: Options, *, as_json: bool, plain: bool
    ) -> int:
        called = (chosen.get("profile"), *(task.profile for task in tasks))
        if named := [name for name in called if name]:
            from pi_subagents.service.task_files import refuse_unknown_profiles

            refuse_unknown_profiles(named, chosen.get("cwd") or Path.cwd(), os.environ)
        if self.in_background:
            from pi_subagents.faces.cli.work.starting import start_all

            return start_all(console, tasks, chosen, as_json=as_json)
        from pi_subagents.faces.cli.work.live import delegate_live

        return delegate_live(console, tasks, chosen, as_json=as_json, plain=plain)


def task_options(command: Callback) -> Callback:
    """Add them to a verb, which gets all as `wanted`."""

    @wraps(command)
    def gathered(*arguments: Any, **others: Any) -> Any:
        wanted = TaskOptions(**{name: others.pop(name) for name in TaskOptions.__match_args__})
        return command(*arguments, wanted=wanted, **others)

    wrapped = cast("Callback", gathered)
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


@click.command("run")
@click.argument("prompts", metavar="[PROMPT]...", nargs=-1)
@click.option("--name", "names", multiple=True, help="Name of a task; repeat it, in task order.")
@click.option(
    "--resume",
    "sessions",
    multiple=True,
    metavar="SESSION",
    shell_complete=completing.sessions,
    help="Go on with this session: any id of it, or `last`; repeat it, in task order.",
)
@click.option(
    "--task-file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="Take the tasks from a JSON or YAML file instead (`-`: JSON from standard input).",
)
@task_options
@options.child_options
@options.plain_option
@options.json_option
@options.verbosity_options
@click.pass_obj
@options.refusals_in_json
def run(
    console: Console,
    *,
    prompts: tuple[str, ...],
    names: tuple[str, ...],
    sessions: tuple[str, ...],
    task_file: Path | None,
    wanted: TaskOptions,
    chosen: Options,
    plain: bool,
    as_json: bool,
) -> int:
    """
    Run every PROMPT in a sub-agent of its own, in parallel, and print the answers.

    A PROMPT of `-` is read from standard input; paths of --file are relative to the tasks'
    directory. A task file holds what the tool delegate_to_subagents takes: a list of tasks, or
    an object with `tasks` and `profile`; a task may also have `model`, `thinking` and `tools`,
    and a relative cwd starts at the file's directory.
    Progress goes to standard error, on a terminal as a rolling window per task (Ctrl+O: all of
    it); answers go to standard output, one as it is, several under a heading each, and nothing
    else goes there with -q or in a pipe.
    Exit code: 0 all completed (with --background: started), 1 some failed, 2 refused,
    130 interrupted.

    \b
    Examples:
      subagents run "Which modules have no tests?"
      subagents run "Review src/auth" "Review src/db" --name auth --name db --timeout 900
      subagents run "Explain this" --file src/main.py:10-50 --profile code-reviewer
      subagents run "Now fix the first one." --resume last
      subagents run --task-file tasks.yaml
      git diff | subagents run - --name review
      subagents run "Find dead code" "Find slow tests" --max-tokens 200k --max-cost 0.50
      subagents run "Fix the typos" --tools read,edit --thinking low --background
      subagents run "Which ports are open?" --schema ports.json --json | jq .results[0].value
      answer=$(subagents run -q "Which port does the server use?")
      subagents run --offline "Count the Python files in src"
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    chosen["profile"] = wanted.profile
    if task_file:
        given = {"PROMPT": prompts, "--name": names, "--resume": sessions,
                 **wanted.only_for_prompts}  # fmt: skip
        if alone := [option for option, value in given.items() if value]:
            raise click.UsageError(f"--task-file says what to run; leave out {', '.join(alone)}.")
        from pi_subagents.service.task_files import read_tasks, with_trusted_checks

        path = str(task_file)
        request = read_tasks(task_file, lambda: click.open_file(path, "rb"))
        request, notes = with_trusted_checks(request, task_file, chosen)
        for note in notes:
            console.notice(note)
        tasks, chosen["profile"] = list(request.tasks), wanted.profile or request.profile
    else:
        typed = _typed_tasks(console, prompts, names=names, sessions=sessions)
        tasks = [wanted.applied_to(task) for task in typed]
    return wanted.start(console, tasks, chosen, as_json=as_json, plain=plain)


def _typed_tasks(
    console: Console,
    prompts: tuple[str, ...],
    *,
    names: tuple[str, ...],
    sessions: tuple[str, ...],
) -> list[Task]:
    from pi_subagents.core.task.request import Task, unnamed

    if not prompts:
        raise click.UsageError("Give at least one PROMPT, or a --task-file.")
    given = [text_or_typed(console, prompt, "the prompt") for prompt in prompts]
    for number, prompt in enumerate(given, 1):
        if not prompt.strip():
            raise click.ClickException(f"Prompt {number} is empty.")
    for many, what in ((names, "name"), (sessions, "session")):
        if len(many) > len(prompts):
            raise click.UsageError(messages.more_than_prompts(len(many), what, len(prompts)))
    return [
        Task(
            name=names[index] if index < len(names) else unnamed(index),
            prompt=prompt,
            resume=sessions[index] if index < len(sessions) else None,
        )
        for index, prompt in enumerate(given)
    ]
