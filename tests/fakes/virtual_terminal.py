"""
A terminal to look at: what a screen would show of what was sent to it.

Knows the sequences that our display and the profile wizard use, and no others: anything else that
would drive a terminal is an assertion.  Two screens, the shell's (with its scrollback) and one for programs, as in xterm.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

_PART = re.compile(
    r"\x1b\[(?P<args>\??[\d;]*)(?P<verb>[A-Za-z])|(?P<char>[^\x1b\x00-\x09\x0b\x0c\x0e-\x1f\x7f])"
)
_BEGUN = re.compile(r"\x1b(?:\[[\d;?]*)?\Z")
BLANK = (" ", "0")


@dataclass
class Screen:
    """Rows of cells, each a character and its style; the right half of a wide one is empty."""

    columns: int
    rows: list[list[tuple[str, str]]] = field(default_factory=lambda: [[]])
    row: int = 0
    column: int = 0

    def put(self, character: str, style: str, *, wraps: bool) -> None:
        width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if self.column + width > self.columns:
            if not wraps:
                self.column = self.columns - width
            else:
                self.column = 0
                self.line_feed()
        line = self.rows[self.row]
        line += [BLANK] * (self.column + width - len(line))
        line[self.column : self.column + width] = [(character, style), ("", style)][:width]
        self.column += width

    def line_feed(self) -> None:
        self.row += 1
        self.rows += [[] for _ in range(self.row + 1 - len(self.rows))]

    def text(self) -> list[str]:
        return ["".join(character for character, _ in line).rstrip() for line in self.rows]

    def marked(self) -> list[str]:
        """Return the rows with `{code}` wherever the style changes."""
        shown = []
        for line in self.rows:
            before, text = "0", ""
            for character, style in line:
                text += (f"{{{style}}}" if style != before else "") + character
                before = style
            shown.append(text + ("{0}" if before != "0" else ""))
        return shown


class VirtualTerminal:
    """Take what is sent, piece by piece; `screen` is the one that is seen."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self._shell = Screen(columns)
        self.screen = self._shell
        self.height = rows
        self.cursor_shown = True
        self.wraps = True
        self._style = "0"
        self._rest = ""

    @property
    def in_program(self) -> bool:
        return self.screen is not self._shell

    def resize(self, columns: int, rows: int) -> None:
        self.screen.columns = self._shell.columns = columns
        self.height = rows

    def feed(self, sent: str) -> None:
        sent = self._rest + sent
        begun = _BEGUN.search(sent)
        self._rest = begun.group() if begun else ""
        sent = sent[: len(sent) - len(self._rest)]
        place = 0
        while place < len(sent):
            part = _PART.match(sent, place)
            assert part, f"not ours: {sent[place : place + 20]!r}"
            place = part.end()
            if part["char"] is None:
                self._obey(part["verb"], part["args"])
            elif part["char"] == "\n":
                self.screen.line_feed()
            elif part["char"] == "\r":
                self.screen.column = 0
            else:
                self.screen.put(part["char"], self._style, wraps=self.wraps)

    def _obey(self, verb: str, arguments: str) -> None:
        screen = self.screen
        match verb, arguments:
            case "m", style:
                self._style = style
            case "H", place:
                row, column = map(int, place.split(";"))
                assert self.in_program
                row = min(row, self.height)
                screen.row, screen.column = row - 1, column - 1
                screen.rows += [[] for _ in range(row - len(screen.rows))]
            case "A", count:
                assert int(count) <= min(screen.row, self.height - 1), "above what is seen"
                screen.row -= int(count)
            case "J", "":
                del screen.rows[screen.row + 1 :]
                del screen.rows[screen.row][screen.column :]
            case "K", "2":
                screen.rows[screen.row] = []
            case "J", "2":
                screen.rows = [[] for _ in range(self.height)]
                screen.row = screen.column = 0
            case "h" | "l", "?1049":
                self.screen = Screen(screen.columns) if verb == "h" else self._shell
            case "h" | "l", "?25":
                self.cursor_shown = verb == "h"
            case "h" | "l", "?7":
                self.wraps = verb == "h"
            case "h" | "l", "?2026":
                pass
            case _:
                raise AssertionError(f"not ours: {arguments}{verb}")
