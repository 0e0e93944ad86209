"""
`/profile LINE` in pi: the verbs of `subagents profile`, with pi's dialogs for questions.

In: what was typed after `/profile`.  Out: what to say, and how loud; one profile file changed where
a verb and its dialogs say so.  The verbs themselves are those of the command line.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from pi_subagents.core.plain_text import printable
from pi_subagents.core.value import value
from pi_subagents.errors import SubagentsError
from pi_subagents.faces.bridge import messages
from pi_subagents.faces.bridge.peer import reason_of
from pi_subagents.faces.cli.console import Console
from pi_subagents.faces.cli.definitions.profile import command
from pi_subagents.faces.cli.definitions.profile_names import PROFILES

if TYPE_CHECKING:
    from typing import TextIO

    from pi_subagents.core.host_program import HostProgram
    from pi_subagents.core.profile.questions import Asker

INFO, WARNING, ERROR = "info", "warning", "error"
_NAMING = ("show", "edit", "delete", "rm", "remove", "path")
_HELP = ("-h", "--help")


@value
class ProfileReply:
    """What a person is shown at the end, and what is wrong beside it."""

    text: str
    level: str
    warning: str = ""


class DialogConsole(Console):
    """Collect what a verb says; its questions go to somebody else."""

    def __init__(
        self,
        ask: Asker,
        models: tuple[str, ...],
        *,
        trusted: bool | None,
        host: HostProgram | None = None,
    ) -> None:
        super().__init__()
        self.host = host
        self.ask = ask
        self.models = models
        self.trusted = trusted
        self.lines: list[str] = []
        self.warnings: list[str] = []

    def notice(self, text: str) -> None:
        """Collect what should be seen; that it is a warning, the host says."""
        self.warnings.append(printable(text).removeprefix("Warning: "))

    def said(self, level: str) -> ProfileReply:
        """Return everything that was collected."""
        return ProfileReply("\n".join(self.lines), level, "\n".join(self.warnings))

    def progress(self, text: str, **style: object) -> None:
        """Say nothing: a dialog follows."""

    def _write(self, stream: TextIO, text: str, style: dict[str, object]) -> None:
        del stream, style
        self.lines.append(printable(text))


def run_profile_line(
    line: str,
    ask: Asker,
    models: tuple[str, ...] = (),
    *,
    trusted: bool | None = None,
    host: HostProgram | None = None,
) -> ProfileReply:
    """Do what the line says; return what is to be said."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quote that nobody closed
        words = line.split()
    if not words or any(word in _HELP for word in words):
        return ProfileReply(messages.PROFILE_USAGE, WARNING)
    console = DialogConsole(ask, models, trusted=trusted, host=host)
    try:
        command.main(args=words, prog_name="/profile", obj=console, standalone_mode=False)
    except click.MissingParameter:
        return ProfileReply(messages.PROFILE_USAGE, WARNING)
    except click.ClickException as wrong:
        return _failed(console, wrong.format_message())
    except SubagentsError as refusal:
        return _failed(console, str(refusal))
    except (Exception, click.exceptions.Exit, click.Abort) as error:  # noqa: BLE001 - told, not raised
        return _failed(console, reason_of(error))
    return console.said(INFO)


def completions(prefix: str) -> list[dict[str, str]]:
    """Return what may follow; each value is the whole of the arguments."""
    # Of what is written already pi would make an item to choose, with an Enter of its own.
    return [item for item in _matching(prefix) if item["value"] != prefix]


def _matching(prefix: str) -> list[dict[str, str]]:
    *words, last = prefix.split(" ")
    if not words:
        verbs = [name for name in command.commands if name.startswith(last)]
        return [_item("", verb, _about(verb)) for verb in verbs] + _names("", last)
    return _names(f"{words[0]} ", last) if len(words) == 1 and words[0] in _NAMING else []


def _names(before: str, start: str) -> list[dict[str, str]]:
    found = PROFILES.load().by_name
    return [
        _item(before, name, PROFILES.summary(loaded))
        for name, loaded in found.items()
        if name.startswith(start)
    ]


def _item(before: str, label: str, about: str) -> dict[str, str]:
    return {"value": before + label, "label": label, "description": about}


def _about(verb: str) -> str:
    return command.commands[verb].get_short_help_str(80)


def _failed(console: DialogConsole, reason: str) -> ProfileReply:
    console.lines.append(printable(reason))
    return console.said(ERROR)
