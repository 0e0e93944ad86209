"""
`/profile LINE` in pi: the verbs of `subagents profile`, with pi's dialogs for questions.

In: what was typed after `/profile`.  Out: what to show, and how loud; one file changed where
a verb and its dialogs want it.  The verbs themselves are those of the command line.

A dialog that is left counts as skipped, as the wizard promises, and each says so; two in a row
offer to go back or to quit; a host that goes away cancels everything.  pi cannot fill in a line for
its user: a line that has a value already is asked for in pi's editor.  That editor changes some
blanks by itself, and pi's yes-or-no begins with yes: neither may change what a person left alone.
"""

from __future__ import annotations

import asyncio
import shlex
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

import click

from pi_subagents.core.plain_text import printable
from pi_subagents.core.profile.questions import CANCEL, ESCAPE, SKIPS, Gesture, Text
from pi_subagents.core.value import value
from pi_subagents.errors import SubagentsError
from pi_subagents.faces.bridge import messages
from pi_subagents.faces.bridge.peer import reason_of
from pi_subagents.faces.cli.console import Console
from pi_subagents.faces.cli.definitions.lookup import PROFILES
from pi_subagents.faces.cli.definitions.profile import profile

if TYPE_CHECKING:
    from typing import TextIO

    from pi_subagents.core.engine_values import HostProgram
    from pi_subagents.core.profile.questions import Asker, Choose, Confirm, LongText
    from pi_subagents.faces.bridge.params import ProfileLine
    from pi_subagents.faces.bridge.peer import HostPeer

INFO, WARNING, ERROR = "info", "warning", "error"
_NAMING = ("show", "edit", "delete", "rm", "remove", "path")
_HELP = ("-h", "--help")
MAX_OFFERED = 12
NO, YES = "No", "Yes"


@value
class ProfileReply:
    """What a person is shown at the end, and what is wrong beside it."""

    text: str
    level: str
    warning: str = ""


class DialogConsole(Console):
    """Collect what a verb writes; its questions go to pi's dialogs."""

    def __init__(self, given: ProfileLine, ask: Asker, host: HostProgram | None) -> None:
        super().__init__()
        self.host = host
        self.ask = ask
        self.models = given.models
        self.trusted = given.trusted
        self.lines: list[str] = []
        self.warnings: list[str] = []

    def notice(self, text: str) -> None:
        """Collect what should be seen; that it is a warning, the host says."""
        self.warnings.append(printable(text).removeprefix("Warning: "))

    def reply(self, level: str) -> ProfileReply:
        """Return everything that was collected."""
        return ProfileReply("\n".join(self.lines), level, "\n".join(self.warnings))

    def progress(self, text: str, **style: object) -> None:
        """Show nothing: a dialog follows."""

    def _write(self, stream: TextIO, text: str, style: dict[str, object]) -> None:
        del stream, style
        self.lines.append(printable(text))


def run_profile_line(
    given: ProfileLine, ask: Asker, host: HostProgram | None = None
) -> ProfileReply:
    """Run the verb of a line; return what to show."""
    try:
        words = shlex.split(given.line)
    except ValueError:  # a quote that nobody closed
        words = given.line.split()
    if not words or any(word in _HELP for word in words):
        return ProfileReply(messages.PROFILE_USAGE, WARNING)
    console = DialogConsole(given, ask, host)
    try:
        profile.main(args=words, prog_name="/profile", obj=console, standalone_mode=False)
    except click.MissingParameter:
        return ProfileReply(messages.PROFILE_USAGE, WARNING)
    except click.ClickException as wrong:
        reason = wrong.format_message()
    except SubagentsError as refusal:
        reason = str(refusal)
    except (Exception, click.exceptions.Exit, click.Abort) as error:  # noqa: BLE001 - it is shown
        reason = reason_of(error)
    else:
        return console.reply(INFO)
    console.lines.append(printable(reason))
    return console.reply(ERROR)


def completions(prefix: str) -> list[dict[str, str]]:
    """Return what may follow; each value is the whole of the arguments."""
    # Of what is written already pi would make an item to choose, with an Enter of its own.
    return [item for item in _matching(prefix) if item["value"] != prefix]


def _matching(prefix: str) -> list[dict[str, str]]:
    *words, last = prefix.split(" ")
    if not words:
        verbs = [name for name in profile.commands if name.startswith(last)]
        about = {verb: profile.commands[verb].get_short_help_str(80) for verb in verbs}
        return [_item("", verb, about[verb]) for verb in verbs] + _names("", last)
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


class Dialogs:
    """An Asker for any thread but the loop's."""

    def __init__(self, host: HostPeer, loop: asyncio.AbstractEventLoop) -> None:
        self._host = host
        self._loop = loop

    def choose(self, question: Choose) -> int | Gesture:
        """Return the place of the chosen option; what is offered first is what counts now."""
        now = question.options[question.default]
        options = [now, *(option for option in question.options if option != now)]
        answer = _text(self._ask("select", _with_hint(question.title, question.escape), options))
        if isinstance(answer, Gesture):
            return answer
        return question.options.index(answer) if answer in question.options else ESCAPE

    def confirm(self, question: Confirm) -> bool | Gesture:
        """Return whether the answer was yes."""
        if question.enter_is_default and not question.default:
            title = _with_hint(f"{question.title}\n{question.question}", question.escape)
            chosen = _text(self._ask("select", title, [NO, YES]))
            return chosen if isinstance(chosen, Gesture) else chosen == YES
        shown = f"{printable(question.text).rstrip()}\n\n" if question.text else ""
        asked = _with_hint(shown + question.question, question.escape)
        answer = self._ask("confirm", question.title, asked)
        return answer if isinstance(answer, bool) else CANCEL if answer is CANCEL else ESCAPE

    def text(self, question: Text) -> str | Gesture:
        """Return the line."""
        if question.prefill:
            answer = self._edited(question)
        else:
            known = ", ".join(question.offers[:MAX_OFFERED])
            title = _with_hint(question.title, question.escape, question.note)
            answer = _text(self._ask("input", title, *([known] if known else [])))
        if isinstance(answer, Gesture) or answer == question.prefill:
            return answer
        return " ".join(answer.splitlines())

    def long_text(self, question: LongText) -> str | Gesture:
        """Return the text."""
        return self._edited(question)

    def _edited(self, question: Text | LongText) -> str | Gesture:
        note = question.note if isinstance(question, Text) else ""
        title = _with_hint(question.title, SKIPS, note)
        answer = _text(self._ask("editor", title, question.prefill))
        if isinstance(answer, str) and _in_editor(answer) == _in_editor(question.prefill):
            return question.prefill
        return answer

    def _ask(self, kind: str, *arguments: object) -> object:
        """Return what a dialog of pi returns: None if it was left; CANCEL if there is no host."""
        params: dict[str, object] = {"kind": kind, "arguments": list(arguments)}
        request = asyncio.run_coroutine_threadsafe(self._host.request("dialog", params), self._loop)
        try:
            return request.result()
        except (CancelledError, ConnectionError):
            return CANCEL


def _in_editor(text: str) -> str:
    """Return a text without what pi's editor does not keep."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    return lines.strip().strip("\ufeff").strip()


def _text(answer: object) -> str | Gesture:
    return answer if isinstance(answer, str) else CANCEL if answer is CANCEL else ESCAPE


def _with_hint(question: str, escape: str, note: str = "") -> str:
    """Return what a dialog says, and what Escape does where that is not to cancel, as pi says."""
    hint = messages.escape_hint(escape) if escape else ""
    return "\n".join(filter(None, (question, note, hint)))
