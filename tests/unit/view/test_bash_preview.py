from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.view.preview import (
    CONTINUATION,
    MAX_COMMAND,
    MAX_LINES,
    PREFIX,
    collapse_cd,
    format_bash,
    line_text,
)

CWD, HOME = "/proj/app", "/data/ann"


def shown_as(command: str, cwd: str, home: str, width: int) -> str:
    """Return the preview as plain text, without what stands before every command."""
    lines = map(line_text, format_bash(command, cwd, home, width))
    return "\n".join(lines).removeprefix(PREFIX)


commands = st.lists(
    st.sampled_from(
        ["cd ", "cd /proj/app", "&&", " && ", ";", "'", '"', "\\", "make", " ", "\n", "/proj/app/x",
         "\x1b[31m", "\t", "\u202e", "\ud800", "│", "x" * 40, "(", "$("]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@pytest.mark.parametrize(
    ("command", "rest"),
    [
        ("cd /proj/app && make", "make"),
        ("cd /proj/app/ && make", "make"),
        ('cd "/proj/app" && make', "make"),
        ("cd '/proj/app' && make", "make"),
        ("cd /proj/app; make", "make"),
        ("cd /proj/app\nmake", "make"),
        ("cd . && make", "make"),
        ("cd ./ && make", "make"),
        ("  cd   /proj/app   &&   make", "make"),
        ("cd /proj/app&&make", "make"),
        ("cd /proj/app && cd . && make", "make"),
        ("cd /proj/app && cd src && make", "cd src && make"),
        # These lead elsewhere, or the `cd` is all there is, or it is something else.
        ("cd /proj/other && make", "cd /proj/other && make"),
        ("cd /proj/app/src && make", "cd /proj/app/src && make"),
        ("cd /proj/app", "cd /proj/app"),
        ("cd /proj/app &&", "cd /proj/app &&"),
        ("cd /proj/app || exit 1", "cd /proj/app || exit 1"),
        ("cd /proj/app & make", "cd /proj/app & make"),
        ("cd /proj/app;; make", "cd /proj/app;; make"),
        ("cd && make", "cd && make"),
        ("cd / && make", "cd / && make"),
        ("cdx /proj/app && make", "cdx /proj/app && make"),
        ("make && cd /proj/app && make", "make && cd /proj/app && make"),
        ("", ""),
    ],
)
def test_only_a_needless_cd_at_the_beginning_goes(command: str, rest: str) -> None:
    assert collapse_cd(command, CWD) == rest


def test_a_directory_with_blanks_is_recognised_in_every_spelling() -> None:
    for word in ('"/my app"', "'/my app'", r"/my\ app"):
        assert collapse_cd(f"cd {word} && make", "/my app") == "make"
    assert collapse_cd(r"cd '/my\ app' && make", "/my app") == r"cd '/my\ app' && make"


def test_an_unknown_directory_makes_no_cd_needless() -> None:
    assert collapse_cd("cd / && make", "") == "cd / && make"
    assert collapse_cd("cd / && make", "/") == "make"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("ls", "ls"),
        ("  ls -la  \n", "ls -la"),
        ("cat <<EOF\nhello\nEOF", "cat <<EOF"),
        ("\n\nmake\nmake install", "make"),
        ("cd /proj/app && cat /proj/app/a.txt", "cat a.txt"),
        ("cat /data/ann/.profile", "cat ~/.profile"),
        ("echo a\t\tb", "echo a b"),
        ("echo \x1b]52;c;aGk=\x07hi\x1b[0m", "echo hi"),
        # After a change of directory a path from the old one would be wrong.
        ("cd /tmp && cat /proj/app/a.txt /data/ann/b", "cd /tmp && cat /proj/app/a.txt ~/b"),
        ("(pushd /tmp; cat /proj/app/a)", "(pushd /tmp; cat /proj/app/a)"),
        ("grep abcd /proj/app/a", "grep abcd a"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_a_command_that_fits_is_its_first_line(command: str, shown: str) -> None:
    assert shown_as(command, CWD, HOME, 60) == shown


def test_a_long_command_without_and_is_cut_to_the_room_beside_its_name() -> None:
    shown = shown_as("echo " + "x" * 100, CWD, HOME, 40)
    assert shown == "echo " + "x" * 27 + "…"
    assert len(PREFIX + shown) == 40


def test_a_command_that_just_fits_is_not_cut() -> None:
    command = "npm ci && " + "x" * 23
    assert len(PREFIX + command) == 40
    assert shown_as(command, CWD, HOME, 40) == command
    assert shown_as(command + "y", CWD, HOME, 40) == "npm ci &&\n│ " + "x" * 23 + "y"


def test_a_long_command_is_continued_at_its_ands_as_many_to_a_line_as_fit() -> None:
    command = "npm ci && npm run build && npm test && echo all done"
    assert shown_as(command, CWD, HOME, 40) == (
        "npm ci && npm run build &&\n"
        "│ npm test && echo all done"
    )  # fmt: skip
    assert shown_as(command, CWD, HOME, 20) == (
        "npm ci &&\n"
        "│ npm run build &&\n"
        "│ npm test &&\n"
        "│ echo all done"
    )  # fmt: skip


def test_a_line_is_filled_to_its_last_column_and_its_and_counts() -> None:
    fits = "a" * 8 + " && " + "b" * 8
    command = fits + " && " + "c" * 12 + " && " + "d" * 12
    shown = f"{fits} &&\n│ {'c' * 12} && {'d' * 12}"
    assert shown_as(command, CWD, HOME, 30) == shown
    assert [len(line) for line in (PREFIX + shown).split("\n")] == [30, 30]
    assert shown_as(command, CWD, HOME, 29) == (
        f"{'a' * 8} &&\n│ {'b' * 8} && {'c' * 12} &&\n│ {'d' * 12}"
    )
    assert shown_as(command + "d", CWD, HOME, 30) == (f"{fits} &&\n│ {'c' * 12} &&\n│ {'d' * 13}")


def test_an_and_inside_quotes_or_escaped_does_not_end_a_line() -> None:
    command = """echo "one && two" && echo 'three && four' && echo five \\&& six"""
    assert shown_as(command, CWD, HOME, 30) == (
        'echo "one && two" &&\n'
        "│ echo 'three && four' &&\n"
        "│ echo five \\&& six"
    )  # fmt: skip


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_quoted_and_is_rather_cut_than_broken(quote: str) -> None:
    command = f"ls && echo {quote}three && four{quote} && ls"
    assert shown_as(command, CWD, HOME, 20) == f"ls &&\n│ echo {quote}three &&… &&\n│ ls"


def test_a_part_wider_than_a_line_is_cut_and_its_and_stays() -> None:
    command = "echo " + "x" * 50 + " && ls"
    assert shown_as(command, CWD, HOME, 30) == "echo " + "x" * 14 + "… &&\n│ ls"


def test_no_preview_has_more_lines_than_it_may() -> None:
    command = " && ".join(f"step-number-{n}" for n in range(9))
    assert shown_as(command, CWD, HOME, 26).split("\n") == [
        "step-number-0 &&",
        "│ step-number-1 &&",
        "│ step-number-2 &&",
        "│ step-number-3 &&",
        "│ step-number-4 && step-n…",
    ]


@pytest.mark.parametrize("command", ["&& " + "a" * 30 + " && b", "a && && " + "b" * 30])
def test_a_command_that_is_no_shell_is_cut_only(command: str) -> None:
    assert shown_as(command, CWD, HOME, 30) == command[:22] + "…"


def test_a_width_too_small_for_anything_is_taken_as_twenty() -> None:
    assert shown_as("x" * 50, CWD, HOME, -5) == "x" * 12 + "…"


def test_of_a_huge_command_only_the_beginning_is_looked_at() -> None:
    huge = "'" * 1_000_000 + " && make"
    assert shown_as(huge, CWD, HOME, 10_000) == "'" * MAX_COMMAND


@thoroughly
@given(commands, st.integers(0, 60))
def test_any_command_gives_few_printable_lines_of_the_width(command: str, width: int) -> None:
    lines = (PREFIX + shown_as(command, CWD, HOME, width)).split("\n")
    assert len(lines) <= MAX_LINES
    assert all(len(line) <= max(width, 20) for line in lines)
    assert all(line.startswith(CONTINUATION) for line in lines[1:])
    assert not {c for line in lines for c in line if unicodedata.category(c) in {"Cc", "Cs"}}


@thoroughly
@given(commands)
def test_what_is_left_of_a_command_is_its_end(command: str) -> None:
    rest = collapse_cd(command, CWD)
    assert command.endswith(rest)
    assert bool(rest) == bool(command)
