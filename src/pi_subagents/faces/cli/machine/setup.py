"""
`subagents setup`: install, repair, reinstall or remove the pinned pi, and show how it goes.

Progress is painted on stderr: one line that updates itself per step on a terminal, plain lines
elsewhere.  The result goes to stdout.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.engine_values import SetupProgress
    from pi_subagents.faces.cli.console import Console

SCHEMA_VERSION = 1


@click.command("setup")
@click.option("--remove", is_flag=True, help="Remove the pi and Node that set-up installed.")
@click.option(
    "--hosts", is_flag=True, help="With --remove: take our entries out of all hosts, too."
)
@click.option("--yes", is_flag=True, help="With --remove: do not ask.")
@click.option("--force", is_flag=True, help="Install again even if everything is in place.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def setup(
    console: Console, *, remove: bool, hosts: bool, yes: bool, force: bool, as_json: bool
) -> int:
    """
    Install the pi that sub-agents run.

    A pinned pi, and a Node if there is none new enough, go into your data directory and nowhere
    else. Safe to repeat: a finished set-up is left alone, an interrupted one is repaired.

    --remove removes both again, and names the hosts that still start subagents; --hosts takes our
    entries out of those. Use the two together before you uninstall subagents itself.
    """
    if remove and force:
        raise click.UsageError("--remove and --force cannot be used together.")
    if not remove and (hosts or yes):
        raise click.UsageError("--hosts and --yes are for --remove.")
    with closing(Painter(sys.stderr, os.environ)) as painter:
        if remove:
            from pi_subagents.faces.cli.machine.removal import remove_everything

            return remove_everything(console, painter, hosts=hosts, yes=yes, as_json=as_json)
        from pi_subagents.service.machine.setup import install_children

        outcome = install_children(Path.cwd(), os.environ, painter, force=force)
    if as_json:
        click.echo(json.dumps({"schemaVersion": SCHEMA_VERSION, **outcome.facts}))
        return 0
    for line in outcome.lines:
        click.echo(line)
    click.echo("Next: subagents demo")
    return 0


class Painter:
    """Paints set-up progress on a stream, in place if it is a terminal."""

    def __init__(self, stream: TextIO, env: Mapping[str, str]) -> None:
        self._stream = stream
        self._live = stream.isatty() and env.get("TERM") != "dumb"
        self._coloured = self._live and not env.get("NO_COLOR")
        self._step = ""
        self._started = 0.0
        self._open = False

    def __call__(self, progress: SetupProgress) -> None:
        """Paint one report."""
        fresh = progress.step != self._step
        if fresh:
            self.close()
            self._step, self._started = progress.step, time.monotonic()
        text = ": ".join(filter(None, (progress.step, progress.detail)))
        if self._live:
            self._paint(text, done=progress.done)
        elif progress.done or fresh:
            self._write(f"{text}{'' if progress.done else ' ...'}\n")
        if progress.done:
            self._step = ""

    def close(self) -> None:
        """End a line that is still being updated."""
        if self._open:
            self._write("\n")
            self._open = False

    def _paint(self, text: str, *, done: bool) -> None:
        columns = shutil.get_terminal_size().columns
        elapsed_s = time.monotonic() - self._started
        seconds = f" ({elapsed_s:.0f} s)" if elapsed_s >= 1 else ""
        line = f"{'✓' if done else '·'} {text}{seconds}"[: columns - 1]
        if self._coloured:
            line = click.style(line[0], fg="green" if done else "yellow") + line[1:]
        self._write(f"\r\x1b[2K{line}{chr(10) if done else ''}")
        self._open = not done

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        with suppress(OSError):  # nobody can read it: the work goes on
            self._stream.write(text.encode(encoding, "replace").decode(encoding))
            self._stream.flush()
