"""
Ask line by line: for a dumb terminal, or answers that come through a pipe.

In: lines of standard input.  Out: answers; an empty line takes what is offered, `-` alone skips,
`<` alone goes back, and the end of the input cancels.  Ctrl+C is the caller's: it raises
KeyboardInterrupt.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable
from pi_subagents.core.profile.questions import BACK, CANCEL, SKIP
from pi_subagents.faces.profile_wizard.editor import chosen_editor, written_in
from pi_subagents.faces.profile_wizard.messages import editor_opens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.profile.questions import Choose, Confirm, Gesture, LongText, Text

GESTURES = {"-": SKIP, "<": BACK}
END_OF_TEXT = "."
MAX_SHOWN = 12
MAX_LINE = 1024 * 1024
WORDS = {"y": True, "yes": True, "n": False, "no": False}
HOW_TO_SKIP = "Enter accepts [default], - skips, < goes back, Ctrl+C quits without saving."


class LinePrompts:
    """Questions on standard error, answers from standard input."""

    def __init__(self) -> None:
        self._say(HOW_TO_SKIP)

    def choose(self, question: Choose) -> int | Gesture:
        """Take the number of an option."""
        self._say(f"\n{question.title}")
        for number, option in enumerate(question.options, 1):
            self._say(f"  {number}) {option}")
        most = len(question.options)
        while True:
            answer = self._line(f"1-{most} [{question.default + 1}]: ")
            if not isinstance(answer, str):
                return answer
            if not answer:
                return question.default
            if answer.isascii() and answer.isdigit() and 1 <= int(answer[:9]) <= most:
                return int(answer) - 1
            self._say(f"Answer with a number from 1 to {most}, or - to skip.")

    def confirm(self, question: Confirm) -> bool | Gesture:
        """Take a yes or a no."""
        if question.text:
            self._say(f"\n{question.text.rstrip()}")
        hint = "Y/n" if question.default else "y/N"
        while True:
            answer = self._line(f"\n{question.question} [{hint}]: ")
            if not isinstance(answer, str):
                return answer
            if not answer:
                return question.default
            if answer.lower() in WORDS:
                return WORDS[answer.lower()]
            self._say("Answer with yes or no.")

    def text(self, question: Text) -> str | Gesture:
        """Take a line."""
        self._say(f"\n{question.title}")
        if question.note:
            self._say(question.note)
        if question.offers:
            self._say(f"  known: {_some(question.offers)}")
        answer = self._line(f"[{printable(question.prefill)}] > ")
        return question.prefill if answer == "" else answer

    def long_text(self, question: LongText) -> str | Gesture:
        """Take lines up to one with a dot; or the chosen editor's text, if somebody sits here."""
        editor = chosen_editor(os.environ) if sys.stdin.isatty() else []
        if editor:
            self._say(editor_opens(editor[0]))
            return written_in(editor, question.prefill)
        self._say(f"\n{question.title}\n{question.prefill}")
        self._say("Write it anew, a line with only a dot ends it; an empty first line keeps it.")
        lines: list[str] = []
        while True:
            line = self._line("> ", skips=not lines, strips=False)
            if not isinstance(line, str):
                return line
            if not lines and not line:
                return question.prefill
            if line == END_OF_TEXT:
                return "\n".join(lines)
            lines.append(line)

    def _line(self, prompt: str, *, skips: bool = True, strips: bool = True) -> str | Gesture:
        self._say(prompt, newline=False)
        try:
            given = sys.stdin.readline(MAX_LINE)
        except UnicodeDecodeError:
            return CANCEL
        if not given:
            return CANCEL
        line = given.strip() if strips else given.rstrip("\r\n")
        return GESTURES.get(line, line) if skips else line

    @staticmethod
    def _say(text: str, *, newline: bool = True) -> None:
        sys.stderr.write(printable(text) + ("\n" if newline else ""))
        sys.stderr.flush()


def _some(offers: Sequence[str]) -> str:
    more = len(offers) - MAX_SHOWN
    shown = ", ".join(offers[:MAX_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown
