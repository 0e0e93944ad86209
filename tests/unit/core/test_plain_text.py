from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.plain_text import one_line, printable, shortened, shown_name

ESC, ST, BEL = "\x1b", "\x1b\\", "\x07"
hostile = st.text(
    st.sampled_from(
        "ab;0m[]\\PX^_ \n\t\r\x00\x07\x1b\x7f\x85\x90\x9b\x9c\x9d\u202e\u2066\ud800\U000e0041"
    )
    | st.characters(exclude_categories=()),
    max_size=60,
)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain words, ünï, 日本語, 🎈", "plain words, ünï, 日本語, 🎈"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        # CSI: colour, cursor, erase, private modes; 7-bit, 8-bit and unfinished
        (f"{ESC}[1;31mred{ESC}[0m", "red"),
        (f"a{ESC}[2J{ESC}[Hb", "ab"),
        (f"a{ESC}[?1049hb{ESC}[>c", "ab"),
        ("a\x9b31mb", "ab"),
        (f"end{ESC}[", "end"),
        (f"end{ESC}[31", "end"),
        (f"{ESC}[{ESC}[31mx", "x"),
        # OSC: title, clipboard, link; ended by BEL, ST, the 8-bit ST, or by nothing
        (f"a{ESC}]0;title{BEL}b", "ab"),
        (f"a{ESC}]52;c;aGVsbG8={BEL}b", "ab"),
        (f"a{ESC}]52;c;aGVsbG8={ST}b", "ab"),
        (f"{ESC}]8;;https://evil.example{ST}click{ESC}]8;;{ST} here", "click here"),
        ("a\x9d0;title\x9cb", "ab"),
        (f"a{ESC}]0;never ended", "a"),
        # DCS, SOS, PM, APC
        (f"a{ESC}Pq#0;2;0;0;0{ST}b", "ab"),
        (f"a{ESC}Xsos{ST}b{ESC}^pm{ST}c{ESC}_apc{ST}d", "abcd"),
        # a payload stays on its line, and 8-bit openings (often text encoded twice) need an end
        (f"a{ESC}]0;never ended\nb", "a\nb"),
        ("it says \u00e2\x80\x9dyes\u00e2\x80\x9c and more", "it says \u00e2yes\u00e2 and more"),
        ("a\x9dnever ended\nb\x90c\nd\x9c", "anever ended\nbc\nd"),
        ("a\x90dcs\x9cb\x9fapc\x9cc\x98sos\x9cd\x9epm\x9ce", "abcde"),
        # two-character escapes and character sets
        (f"a{ESC}cb{ESC}(Bc{ESC}7d{ESC}=e", "abcde"),
        (f"{ESC}{ESC}[31mx{ESC}", "x"),
        # control characters
        ("a\x00\x07\x08\x0b\x0c\x0e\x1f\x7fb", "ab"),
        ("a\x84\x85\x8db", "ab"),
        ("safe\rEVIL", "safeEVIL"),
        ("dos\r\nline", "dos\nline"),
        ("a\r\r\nb", "a\nb"),
        # what looks like other text than it is
        ("user\u202etxt.exe", "usertxt.exe"),
        ("\u2066a\u2069\u200e\u200f\u061c\u202ab\u202c", "ab"),
        ("a\u2028b\u2029c", "abc"),
        ("hi" + "".join(chr(0xE0000 + ord(c)) for c in "ignore") + "\U000e0001!", "hi!"),
        ("half \ud83c, \udc80 and \udfff", "half \ufffd, \ufffd and \ufffd"),
    ],
)
def test_nothing_that_could_drive_a_terminal_is_left(text: str, safe: str) -> None:
    assert printable(text) == safe


@thoroughly
@given(hostile)
def test_no_control_character_but_newline_and_tab_survives(text: str) -> None:
    safe = printable(text)
    bad = {c for c in safe if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}} - {"\n", "\t"}
    assert not bad
    assert not {
        c for c in safe if unicodedata.bidirectional(c) in {"LRO", "RLO", "LRE", "RLE", "PDF"}
    }
    safe.encode()
    assert printable(safe) == safe


@thoroughly
@given(st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), max_size=50))
def test_harmless_text_is_left_as_it_is(text: str) -> None:
    assert printable(text) == text


@thoroughly
@given(st.lists(st.just("a harmless line") | hostile.map(lambda text: text.replace("\n", ""))))
def test_a_line_without_control_characters_survives_its_neighbours(lines: list[str]) -> None:
    kept = printable("\n".join(lines)).split("\n")
    assert len(kept) == max(len(lines), 1)
    for line, shown in zip(lines, kept, strict=False):
        assert shown == line or line != "a harmless line"


@pytest.mark.parametrize(
    "unit", [ESC, f"{ESC}[", f"{ESC}]", f"{ESC}[31", f"{ESC}P", "\x9d", "\x9b", f"{ESC}[0;", f"{ESC} ", "\r"]
)  # fmt: skip
def test_a_megabyte_of_openings_is_passed_over_in_one_go(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert printable(text + "\n").strip() == ""


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [
        ("a\n  b\t\tc \n", 20, "a b c"),
        ("", 20, ""),
        ("exactly10!", 10, "exactly10!"),
        ("eleven char", 10, "eleven ch…"),
        ("x" * 1_000_000, 5, "xxxx…"),
        (f"{ESC}[31mred{ESC}[0m\nblue", 20, "red blue"),
        ("a\u00a0\u3000b", 20, "a b"),
    ],
)
def test_one_line_is_flat_safe_and_no_wider_than_asked(text: str, width: int, line: str) -> None:
    assert one_line(text, width) == line


@thoroughly
@given(hostile, st.integers(0, 30))
def test_one_line_has_no_line_ends_and_the_width_it_was_given(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= max(width, 1)
    assert len(line.splitlines()) <= 1


@pytest.mark.parametrize(
    ("width", "kept"), [(4, "abc…"), (5, "abcde"), (9, "abcde"), (1, "…"), (0, "…")]
)
def test_shortened(width: int, kept: str) -> None:
    assert shortened("abcde", width) == kept


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("src/naïve file.py", "src/naïve file.py"),
        ("it's", "it's"),
        ("back\\slash", "back\\slash"),
        ("a\n  M other.py", '"a\\n  M other.py"'),
        ("tab\there", '"tab\\there"'),
        ('a "word"', '"a \\"word\\""'),
        (" blank at both ends ", '" blank at both ends "'),
        ("odd \udcff\u202e", '"odd \\377\\342\\200\\256"'),
        (f"{ESC}[31mred", '"\\033[31mred"'),
    ],
)
def test_a_file_is_named_on_one_line_whatever_is_in_its_name(name: str, shown: str) -> None:
    assert shown_name(name) == shown


@thoroughly
@given(hostile, hostile)
def test_names_of_two_files_are_never_shown_alike(one: str, other: str) -> None:
    assert shown_name(one) == printable(shown_name(one)).replace("\n", "").replace("\t", "")
    assert (shown_name(one) == shown_name(other)) == (one == other)
