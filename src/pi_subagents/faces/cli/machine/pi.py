"""`subagents pi`: the pi that sub-agents use, for a person: to log in, to trust a project."""

from __future__ import annotations

import os
from pathlib import Path

import click


class PassOn(click.Command):
    """A command whose arguments are another program's, `--` and `-h` too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take all of them as they are; only who asks for help alone asks us."""
        if args == ["--help"]:
            click.echo(ctx.get_help())
            ctx.exit()
        ctx.params["arguments"] = tuple(args)
        return []


@click.command("pi", cls=PassOn, add_help_option=False)
@click.argument("arguments", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
def pi(*, arguments: tuple[str, ...]) -> None:
    """
    Start the pi that sub-agents use, with ARGS as they are.

    Type /login in it to log in to a provider, /trust to trust this project. `subagents pi -h`
    shows pi's own help.

    \b
    Examples:
      subagents pi                    then /login
      subagents pi --list-models
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    from pi_subagents.service.machine.setup import children_program

    program, *words = children_program(Path.cwd(), os.environ)
    os.execv(program, [program, *words, *arguments])  # noqa: S606 - this very process becomes pi
