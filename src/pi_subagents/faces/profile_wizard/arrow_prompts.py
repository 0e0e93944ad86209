"""
Ask with menus and lines that are worked by keys.

In: questions, and the keys of a terminal.  Out: answers; Esc skips, Shift+Tab goes back, Ctrl+C
cancels; the keys stand below each question.  A question is
painted in place, on standard error, and leaves one line behind when it is answered.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.core.profile.questions import BACK, CANCEL, ESCAPE, SKIPS, Choose, Gesture
from pi_subagents.faces.profile_wizard.editor import any_editor, written_in
from pi_subagents.faces.profile_wizard.keys import Keys, key_mode
from pi_subagents.faces.profile_wizard.line_prompts import LinePrompts
from pi_subagents.faces.profile_wizard.messages import editor_opens
from pi_subagents.faces.profile_wizard.typed_line import TypedLine
from pi_subagents.faces.terminal.cells import beginning, cells, cut, wrapped

if TYPE_CHECKING:
    from pi_subagents.core.profile.questions import Confirm, LongText, Text

    Row = tuple[tuple[str, str], ...]  # pieces of text, each with how it is painted

MENU_KEYS = ("↑↓ navigate", "enter select")
TEXT_KEYS = ("enter submit",)
OFFER_KEYS = ("↑↓ choose", "tab complete", *TEXT_KEYS)
LEAVE_KEYS = ("shift+tab back", "ctrl+c quit")
BETWEEN_KEYS = "  "
LEFT_OUT = "(left out)"
GESTURES = {"escape": ESCAPE, "back": BACK, "cancel": CANCEL}
PLAIN, BOLD, DIM, REVERSED, YELLOW = "", "\x1b[1m", "\x1b[2m", "\x1b[7m", "\x1b[33m"
RESET = "\x1b[0m"
LEAST_WIDTH = 8
FALLBACK_WIDTH = 80  # a terminal that does not know its size says 0


class ArrowPrompts:
    """Questions on standard error, keys from the terminal that standard input is."""

    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno()
        self._painted = 0

    def choose(self, question: Choose) -> int | Gesture:
        """Take an option from a menu."""
        at, key = question.default, ""
        with key_mode(self._descriptor):
            keys = Keys(self._descriptor)
            while key != "enter" and key not in GESTURES:
                self._paint(_menu_rows(question, at))
                key = keys.read()
                moved = {"up": at - 1, "down": at + 1, "home": 0, "end": -1}
                at = moved.get(key, at) % len(question.options)
        gesture = GESTURES.get(key)
        self._close(question.title, gesture or question.options[at])
        return gesture or at

    def confirm(self, question: Confirm) -> bool | Gesture:
        """Take a yes or a no from a menu."""
        if question.text:
            _write(f"\n{printable(question.text).rstrip()}\n\n")
        place = 0 if question.default else 1
        at = self.choose(Choose(question.question, ("Yes", "No"), place, question.escape))
        return at if isinstance(at, Gesture) else at == 0

    def text(self, question: Text) -> str | Gesture:
        """Take a line, with help from what is known."""
        line = TypedLine.of(question)
        answer: str | Gesture | None = None
        with key_mode(self._descriptor):
            keys = Keys(self._descriptor)
            while answer is None:
                self._paint(_line_rows(line))
                key = keys.read()
                if key == "enter" and line.ends_with_enter:
                    answer = line.answer()
                else:
                    answer = GESTURES.get(key)
                    line = line.after(key)
        self._close(question.title, answer)
        return answer

    def long_text(self, question: LongText) -> str | Gesture:
        """Take a text from an editor, or line by line where there is none."""
        editor = any_editor(os.environ)
        if not editor:
            return LinePrompts().long_text(question)
        _write(f"{DIM}{editor_opens(editor[0])}{RESET}\n")
        answer = written_in(editor, question.prefill)
        self._close(question.title, answer)
        return answer

    def _paint(self, rows: list[Row]) -> None:
        """Put rows in place of those that are there."""
        self._clear()
        _write("".join(f"{_fitted(row, _room())}\r\n" for row in rows))
        self._painted = len(rows)

    def _clear(self) -> None:
        if self._painted:
            _write(f"\x1b[{self._painted}A\r\x1b[J")
        self._painted = 0

    def _close(self, title: str, answer: str | Gesture) -> None:
        """Leave one line of a question that was answered."""
        self._clear()
        if answer not in (CANCEL, BACK):
            _write(f"{_answered(title, answer if isinstance(answer, str) else '')}\n")


def _menu_rows(question: Choose, at: int) -> list[Row]:
    options = [_option(each, chosen=place == at) for place, each in enumerate(question.options)]
    return [*_title_rows(question.title), *options, *_key_rows(MENU_KEYS, question.escape)]


def _line_rows(line: TypedLine) -> list[Row]:
    room = max(_room() - 4, 1)
    start = max(line.cursor - room, 0)  # a long line is seen around its cursor
    before, behind = line.text[start : line.cursor], line.text[line.cursor :]
    typed = (("> ", PLAIN), (before, PLAIN), (behind[:1] or " ", REVERSED), (behind[1:], PLAIN))
    offered = [_option(each, chosen=pointed) for each, pointed in line.offered]
    keys = OFFER_KEYS if line.question.offers else TEXT_KEYS
    note: list[Row] = [((part, YELLOW),) for part in wrapped(line.question.note, _room()) if part]
    return [*_title_rows(line.question.title), *note, typed, *offered, *_key_rows(keys, SKIPS)]


def _title_rows(title: str) -> list[Row]:
    return [((part, BOLD),) for part in wrapped(title, _room())]


def _key_rows(keys: tuple[str, ...], escape: str) -> list[Row]:
    """Return what the keys do, on as many rows as that takes."""
    rows = [keys[0]]
    for key in (*keys[1:], f"escape {escape}", *LEAVE_KEYS):
        longer = f"{rows[-1]}{BETWEEN_KEYS}{key}"
        rows[-1:] = [longer] if cells(longer) <= _room() else [rows[-1], key]
    return [((row, DIM),) for row in rows]


def _answered(title: str, answer: str) -> str:
    """Return the line that stays of a question: of a long one, the answer is what counts."""
    room = _room() - 1
    shown = one_line(answer, room) or LEFT_OUT
    asked = cut(title, max(room - cells(shown), min(cells(title), room // 2)))
    return f"{DIM}{asked}{RESET} {cut(shown, room - cells(asked))}"


def _option(text: str, *, chosen: bool) -> Row:
    mark = "→ " if chosen else "  "
    return ((mark + cut(text, _room() - cells(mark)), BOLD if chosen else PLAIN),)


def _fitted(row: Row, room: int) -> str:
    """Return the row as far as it fits, so that it never takes a second line of the terminal."""
    painted = ""
    for text, style in row:
        whole = printable(text).replace("\n", " ").replace("\t", " ")
        shown = beginning(whole, room)
        room = room - cells(shown) if shown == whole else 0
        painted += f"{style}{shown}{RESET}" if style else shown
    return painted


def _room() -> int:
    """Return how much fits on a line of the terminal that is painted on, whatever stdout is."""
    columns = os.get_terminal_size(sys.stderr.fileno()).columns or FALLBACK_WIDTH
    return max(columns - 1, LEAST_WIDTH)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
