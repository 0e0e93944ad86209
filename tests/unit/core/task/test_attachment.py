from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_scalars, thoroughly

from pi_subagents.core import messages
from pi_subagents.core.task.attachment import (
    FileSpec,
    format_blocks,
    parse_file_argument,
    parse_files,
    select_lines,
)
from pi_subagents.errors import InvalidRequest

TEN = "\n".join(str(i) for i in range(1, 11)) + "\n"


def test_every_documented_form_is_read() -> None:
    assert parse_files(
        "files",
        [
            "src/main.ts",
            {"path": "a"},
            {"path": "a", "start": 10, "end": 50},
            {"path": "a", "start": 3},
            {"path": "a", "end": 3},
            {"path": "a", "head": 20},
            {"path": "a", "tail": 30},
            {"path": "a", "start": 2.0, "end": None, "head": None, "tail": None},
        ],
    ) == (
        FileSpec("src/main.ts"),
        FileSpec("a"),
        FileSpec("a", start=10, end=50),
        FileSpec("a", start=3),
        FileSpec("a", end=3),
        FileSpec("a", head=20),
        FileSpec("a", tail=30),
        FileSpec("a", start=2),
    )


@pytest.mark.parametrize(
    ("value", "where", "problem"),
    [
        ("a", "files", messages.NEEDS_FILE_LIST),
        ([""], "files[0]", messages.NEEDS_FILE),
        (["a\0b"], "files[0]", messages.NEEDS_FILE),
        ([7], "files[0]", messages.NEEDS_FILE),
        (["a", {"head": 1}], "files[1]", messages.NEEDS_FILE),
        ([{"path": "a", "head": 1, "tail": 1}], "files[0]", messages.FILE_FORMS),
        ([{"path": "a", "head": 1, "start": 1}], "files[0]", messages.FILE_FORMS),
        ([{"path": "a", "lines": 1}], "files[0]", messages.FILE_FORMS),
        ([{"path": "a", "head": 0}], "files[0].head", messages.MUST_BE_LINE),
        ([{"path": "a", "tail": 0}], "files[0].tail", messages.MUST_BE_LINE),
        ([{"path": "a", "tail": True}], "files[0].tail", messages.MUST_BE_LINE),
        ([{"path": "a", "start": 0}], "files[0].start", messages.MUST_BE_LINE),
        ([{"path": "a", "end": 0}], "files[0].end", messages.MUST_BE_LINE),
        ([{"path": "a", "start": 1.5}], "files[0].start", messages.MUST_BE_LINE),
        ([{"path": "a", "start": 5, "end": 4}], "files[0]", messages.START_AFTER_END),
    ],
)
def test_what_is_no_file_refuses_the_call_and_names_the_place(
    value: object, where: str, problem: str
) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_files("files", value)
    assert (refusal.value.where, refusal.value.problem) == (where, problem)


@pytest.mark.parametrize(
    ("spec", "lines"),
    [
        (FileSpec("x"), range(1, 11)),
        (FileSpec("x", start=3, end=5), range(3, 6)),
        (FileSpec("x", start=9), range(9, 11)),
        (FileSpec("x", end=2), range(1, 3)),
        (FileSpec("x", start=5, end=5), range(5, 6)),
        (FileSpec("x", start=9, end=99), range(9, 11)),
        (FileSpec("x", start=99), range(0)),
        (FileSpec("x", head=2), range(1, 3)),
        (FileSpec("x", head=99), range(1, 11)),
        (FileSpec("x", tail=2), range(9, 11)),
        (FileSpec("x", tail=99), range(1, 11)),
    ],
)
def test_lines_count_from_one_and_both_ends_are_included(spec: FileSpec, lines: range) -> None:
    assert select_lines(TEN, spec) == "\n".join(map(str, lines))


def test_only_line_feeds_end_lines() -> None:
    assert select_lines("a\u2028b\x0cc\r\nd\n", FileSpec("x", head=1)) == "a\u2028b\x0cc\r"


def test_blocks_stand_before_the_prompt_under_their_headers() -> None:
    blocks = [("src/main.ts", 'import { foo } from "bar";\n...'), ("README.md", "# My Project")]
    assert format_blocks(blocks, "Review it.") == (
        '=== src/main.ts ===\nimport { foo } from "bar";\n...\n\n'
        "=== README.md ===\n# My Project\n\n"
        "Review it."
    )
    assert format_blocks([], "Review it.") == "Review it."


@pytest.mark.parametrize(
    ("argument", "spec"),
    [
        ("src/a.py", FileSpec("src/a.py")),
        ("src/a.py:10-50", FileSpec("src/a.py", start=10, end=50)),
        ("src/a.py:10-", FileSpec("src/a.py", start=10)),
        ("src/a.py:-50", FileSpec("src/a.py", end=50)),
        ("a:b", FileSpec("a:b")),
        ("a:1", FileSpec("a:1")),
        ("a:b:1-2", FileSpec("a:b", start=1, end=2)),
        (":1-2", FileSpec(":1-2")),
        ("a:-", FileSpec("a:-")),
        ("a:1-" + "9" * 18, FileSpec("a", start=1, end=10**18 - 1)),
    ],
)
def test_a_person_types_a_path_and_perhaps_a_range(argument: str, spec: FileSpec) -> None:
    assert parse_file_argument(argument) == spec


@pytest.mark.parametrize(
    ("argument", "where", "problem"),
    [
        ("x:0-0", "x:0-0", messages.MUST_BE_LINE),
        ("x:0-5", "x:0-5", messages.MUST_BE_LINE),
        ("x:-0", "x:-0", messages.MUST_BE_LINE),
        ("x:00-", "x:00-", messages.MUST_BE_LINE),
        ("x:1-" + "9" * 5000, "x:1-" + "9" * 75 + "…", messages.MUST_BE_LINE),
        ("x:5-4", "x:5-4", messages.START_AFTER_END),
        ("", "", messages.NEEDS_FILE),
    ],
)
def test_a_range_that_no_file_has_is_refused(argument: str, where: str, problem: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_file_argument(argument)
    assert (refusal.value.where, refusal.value.problem) == (where, problem)


@thoroughly
@given(st.recursive(json_scalars, lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from(["path", "start", "end", "head", "tail", "x"]), x, max_size=4), max_leaves=12))  # fmt: skip
def test_any_json_is_read_or_refused(value: object) -> None:
    try:
        specs = parse_files("files", value)
    except InvalidRequest:
        return
    assert all(spec.path for spec in specs)
