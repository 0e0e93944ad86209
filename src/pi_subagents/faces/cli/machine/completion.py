"""`subagents completion`: what a shell needs to complete our commands."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """
    Print a completion script for SHELL.

    \b
    bash:  subagents completion bash > ~/.local/share/bash-completion/completions/subagents
    zsh:   subagents completion zsh  > "${fpath[1]}/_subagents"
    fish:  subagents completion fish > ~/.config/fish/completions/subagents.fish
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    from click.shell_completion import get_completion_class

    from pi_subagents.faces.cli.main import group

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(group, {}, "subagents", "_SUBAGENTS_COMPLETE").source())
