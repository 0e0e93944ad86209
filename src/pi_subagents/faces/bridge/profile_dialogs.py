"""
The questions of the profile wizard, asked through the dialogs of pi.

In: one question, from the thread of a wizard.  Out: its answer.  A dialog that is left counts as
skipped, as the wizard promises; a host that goes away cancels everything.  pi cannot fill in a line
for its user: a line that has a value already is asked for in pi's editor.  That editor changes some
blanks by itself, and pi's yes-or-no begins with yes: neither may change what a person left alone.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable
from pi_subagents.core.profile.questions import CANCEL, SKIP, Gesture

if TYPE_CHECKING:
    from pi_subagents.core.profile.questions import Choose, Confirm, LongText, Text
    from pi_subagents.faces.bridge.peer import HostPeer

MAX_OFFERED = 12
NO, YES = "No", "Yes"


class Dialogs:
    """Someone who can be asked, from any thread but the loop's."""

    def __init__(self, host: HostPeer, loop: asyncio.AbstractEventLoop) -> None:
        self._host = host
        self._loop = loop

    def choose(self, question: Choose) -> int | Gesture:
        """Return the place of the chosen option; what is offered first is what counts now."""
        now = question.options[question.default]
        options = [now, *(option for option in question.options if option != now)]
        answer = _text(self._ask("select", question.title, options))
        if isinstance(answer, Gesture):
            return answer
        return question.options.index(answer) if answer in question.options else SKIP

    def confirm(self, question: Confirm) -> bool | Gesture:
        """Return whether the answer was yes."""
        if question.enter_is_default and not question.default:
            title = f"{question.title}\n{question.question}"
            chosen = _text(self._ask("select", title, [NO, YES]))
            return chosen if isinstance(chosen, Gesture) else chosen == YES
        shown = f"{printable(question.text).rstrip()}\n\n" if question.text else ""
        answer = self._ask("confirm", question.title, shown + question.question)
        return answer if isinstance(answer, bool) else CANCEL if answer is CANCEL else SKIP

    def text(self, question: Text) -> str | Gesture:
        """Return the line."""
        if question.prefill:
            answer = self._edited(question)
        else:
            known = ", ".join(question.offers[:MAX_OFFERED])
            answer = _text(self._ask("input", question.title, *([known] if known else [])))
        if isinstance(answer, Gesture) or answer == question.prefill:
            return answer
        return " ".join(answer.splitlines())

    def long_text(self, question: LongText) -> str | Gesture:
        """Return the text."""
        return self._edited(question)

    def _edited(self, question: Text | LongText) -> str | Gesture:
        answer = _text(self._ask("editor", question.title, question.prefill))
        if isinstance(answer, str) and _in_editor(answer) == _in_editor(question.prefill):
            return question.prefill
        return answer

    def _ask(self, kind: str, *arguments: object) -> object:
        """Return what a dialog of pi returns: None if it was left; CANCEL if there is no host."""
        params: dict[str, object] = {"kind": kind, "arguments": list(arguments)}
        asked = asyncio.run_coroutine_threadsafe(self._host.request("dialog", params), self._loop)
        try:
            return asked.result()
        except (CancelledError, ConnectionError):
            return CANCEL


def _in_editor(text: str) -> str:
    """Return a text without what pi's editor does not keep."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    return lines.strip().strip("\ufeff").strip()


def _text(answer: object) -> str | Gesture:
    return answer if isinstance(answer, str) else CANCEL if answer is CANCEL else SKIP
