"""`subagents resume`: go on with a run, whatever became of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from pi_subagents.core.value import replace
from pi_subagents.faces.cli import messages, options
from pi_subagents.faces.cli.given import text_or_typed
from pi_subagents.faces.cli.work.run import TaskOptions, task_options
from pi_subagents.service.messages import PROMPT_IS_EMPTY

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.call import Options


@click.command("resume")
@options.id_argument("any_id", "ID")
@click.argument("prompt", metavar="[PROMPT|-]", required=False)
@click.option(
    "--fork",
    is_flag=True,
    help="Begin a session of its own with what was said up to that run, which stays as it is.",
)
@task_options
@options.child_options
@options.plain_option
@options.json_option
@options.verbosity_options
@click.pass_obj
@options.refusals_in_json
def resume(
    console: Console,
    *,
    any_id: str,
    prompt: str | None,
    fork: bool,
    wanted: TaskOptions,
    chosen: Options,
    plain: bool,
    as_json: bool,
) -> int:
    """
    Go on with a session: the sub-agent has all of it, tool results included, and reads PROMPT.

    ID is the id of a run or a session or the beginning of one, the name of a task, or `last`. A
    run that failed, timed out or was stopped goes on, too, from its last whole message. Directory,
    profile and project are those of its latest run unless options say otherwise; it goes on on
    the offline model if it was on that. Without a PROMPT you are asked for one; where nobody can
    be asked it is "Go on.". With `-` it is read from standard input.
    Exit code: 0 completed (with --background: started), 1 failed, 2 refused, 130 interrupted.

    \b
    Examples:
      subagents resume last "Now fix the first one."
      subagents resume 4f2a --model anthropic/claude-opus-4-5
      subagents resume reviewer "Try another way." --fork
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    from pi_subagents.service.runs import Runs
    from pi_subagents.service.session.follow_up import follow_up

    going_on = follow_up(Runs(), any_id, _prompt(console, prompt), fork=fork)
    if going_on.project:
        chosen["cwd"] = going_on.project
    chosen["offline"] = chosen["offline"] or going_on.run.meta.offline
    task = wanted.applied_to(going_on.task)
    task = replace(task, profile=wanted.profile or task.profile)
    return wanted.start(console, [task], chosen, as_json=as_json, plain=plain)


def _prompt(console: Console, given: str | None) -> str:
    """Return what was typed as an argument, as standard input, or as an answer."""
    from pi_subagents.service.session.follow_up import GO_ON

    if given is not None:
        prompt = text_or_typed(console, given, "the prompt")
        if not prompt.strip():
            raise click.ClickException(PROMPT_IS_EMPTY)
        return prompt
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return GO_ON
    console.question(messages.what_next(GO_ON))
    if not (line := sys.stdin.readline()):
        raise click.Abort
    return line.strip() or GO_ON
