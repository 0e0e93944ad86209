"""
Make text from children, files and models safe to print.

In: any string.  Out: printable characters, newlines and tabs only: no escape sequence,
no control byte, no bidirectional override, no lone surrogate reaches a terminal.
"""

from __future__ import annotations

import re

# No payload goes beyond its line or over another opening, so matching is linear and a lone opening
# costs no other line.  An 8-bit one needs an end: in text that was encoded twice they are letters.
_SEQUENCES = re.compile(
    r"\x1b[\]PX^_][^\n\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS ...
    r"|[\x90\x98\x9d-\x9f][^\n\x07\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)"  # their 8-bit forms
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI
    r"|\x1b[ -/]*[0-~]?"  # two-character escapes
)
_UNSAFE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u200e\u200f\u202a-\u202e\u2066-\u2069\u061c"  # bidirectional marks and overrides
    "\u2028\u2029"  # line separators some terminals obey
    "\U000e0000-\U000e007f"  # tag characters: invisible text
    "]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile(r"\s+")
_LETTERS = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f", "\v": "v", "\a": "a"}


def printable(text: str) -> str:
    """Return the text without anything that could drive a terminal."""
    text = text.replace("\r\n", "\n")
    text = _SEQUENCES.sub("", text)
    text = _UNSAFE.sub("", text)
    return _SURROGATES.sub("\ufffd", text)


def shown_name(name: str) -> str:
    """
    Return the name of a file as it can stand in a line: as it is, or quoted the way git does it.

    Whoever makes files can put anything into their names, line ends included.
    """
    if name == printable(name) and not {"\n", "\t", '"'} & set(name) and name == name.strip():
        return name
    return '"' + "".join(map(_escaped, name)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character in _LETTERS:
        return f"\\{_LETTERS[character]}"
    if character == printable(character):
        return character
    is_byte = "\udc80" <= character <= "\udcff"  # of a name that is no UTF-8
    data = character.encode("utf-8", "surrogateescape" if is_byte else "surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in data)


def one_line(text: str, width: int) -> str:
    """Return the printable text on one line of at most `width` characters."""
    flat = _BLANKS.sub(" ", printable(text[: width * 8])).strip()
    return shortened(flat, width)


def shortened(text: str, width: int) -> str:
    """Return the text, or its beginning and an ellipsis if it is longer than `width`."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"
