from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core import messages
from pi_subagents.core.definitions import frontmatter
from pi_subagents.core.definitions.frontmatter import (
    MAX_DEPTH,
    MAX_YAML,
    Frontmatter,
    parse_frontmatter,
)
from pi_subagents.errors import FrontmatterError

if TYPE_CHECKING:
    from collections.abc import Iterator

WHOLE = """---
name: true
level: off
port: 0x10
when: 2001-01-01
empty:
tilde: ~
quoted: "null"
tools: [read, "bash"]
more:
  - a: 1
  - null
---

  Body.
---
More.

"""


@pytest.fixture(autouse=True, scope="module", params=["CSafeLoader", "SafeLoader"])
def parser(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both parsers of YAML: which one there is depends on how the package was built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frontmatter, "_LOADER", getattr(yaml, request.param, yaml.SafeLoader))
        yield


def refused(text: str) -> tuple[int, str]:
    with pytest.raises(FrontmatterError) as refusal:
        parse_frontmatter(text)
    return refusal.value.line, refusal.value.problem


def test_scalars_stay_text_and_every_key_has_its_line() -> None:
    assert parse_frontmatter(WHOLE) == Frontmatter(
        fields={
            "name": "true", "level": "off", "port": "0x10", "when": "2001-01-01", "empty": None,
            "tilde": None, "quoted": "null", "tools": ["read", "bash"], "more": [{"a": "1"}, None],
        },
        lines={
            "name": 2, "level": 3, "port": 4, "when": 5, "empty": 6, "tilde": 7, "quoted": 8,
            "tools": 9, "more": 10,
        },
        body="Body.\n---\nMore.",
    )  # fmt: skip


def test_line_endings_a_byte_order_mark_and_blanks_after_a_fence_change_nothing() -> None:
    whole = parse_frontmatter(WHOLE)
    for end in ("\r\n", "\r"):
        assert parse_frontmatter("\ufeff" + WHOLE.replace("\n", end)) == whole
    assert parse_frontmatter(WHOLE.replace("---\n", "--- \t\n", 1)) == whole


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("", ""),
        ("Just text.\n---\na: 1\n---\n", "Just text.\n---\na: 1\n---"),
        ("\n---\na: 1\n---\n", "---\na: 1\n---"),
        ("----\na: 1\n----\n", "----\na: 1\n----"),
        ("--- # no fence\nbody", "--- # no fence\nbody"),
        ("---\n---\n", ""),
        ("---\n---\nBody.", "Body."),
        ("---\n\n# a comment\n---\nBody.", "Body."),
    ],
)
def test_a_file_without_fields_is_all_body(text: str, body: str) -> None:
    assert parse_frontmatter(text) == Frontmatter({}, {}, body)


def test_a_fence_in_an_indented_text_does_not_close() -> None:
    text = "---\nnote: |\n  one\n  ---\n  two\nname: a\n---\n"
    assert parse_frontmatter(text).fields == {"note": "one\n---\ntwo\n", "name": "a"}


@pytest.mark.parametrize(("mark", "end"), [("|", "\n"), ("|-", ""), ("|+", "\n\n"), (">", "\n")])
def test_a_text_of_several_lines_ends_alike_in_the_last_field_and_before(
    mark: str, end: str
) -> None:
    text = f"---\na: {mark}\n  x\n\nb: {mark}\n  x\n\n---\n"
    assert parse_frontmatter(text).fields == {"a": f"x{end}", "b": f"x{end}"}


@pytest.mark.parametrize(
    ("yaml_text", "line", "problem"),
    [
        ("a: &x 1", 2, messages.NO_ALIASES),
        ("a: 1\nb: *x", 3, messages.NO_ALIASES),
        ("&x a: 1", 2, messages.NO_ALIASES),
        ("a: &x [1]", 2, messages.NO_ALIASES),
        ("a: 1\n<<: {b: 2}", 3, messages.NO_ALIASES),
        ("a: !!str 1", 2, messages.NO_TAGS),
        ("a: !!python/object/apply:os.system [ls]", 2, messages.NO_TAGS),
        ("a: ! x", 2, messages.NO_TAGS),
        ("a: !x {b: 1}", 2, messages.NO_TAGS),
        ("a: 1\nb: 2\na: 3", 4, messages.repeated_key("a")),
        ("a:\n  b: 1\n  b: 2", 4, messages.repeated_key("b")),
        ("'a': 1\n\"a\": 2", 3, messages.repeated_key("a")),
        ("~: 1", 2, messages.NEEDS_KEY),
        ("? [a]\n: 1", 2, messages.NEEDS_KEY),
        ("? {a: 1}\n: 1", 2, messages.NEEDS_KEY),
        ("- a", 2, messages.NEEDS_FIELDS),
        ("just words", 2, messages.NEEDS_FIELDS),
        ("a: 1\n--- \tx\nb: 2", 3, messages.NEEDS_FIELDS),
    ],
)
def test_what_could_mean_something_other_than_it_looks_like_is_refused(
    yaml_text: str, line: int, problem: str
) -> None:
    assert refused(f"---\n{yaml_text}\n---\nbody") == (line, problem)


@pytest.mark.parametrize("text", ["---", "---\n", "---\nname: a\n", "---\nname: a\n ---\n"])
def test_a_fence_that_is_never_closed_is_refused(text: str) -> None:
    assert refused(text) == (1, messages.FENCE_NOT_CLOSED)


@pytest.mark.parametrize(
    "yaml_text", ["a: [1", "a: 'x", "a: b: c", "\ta: 1", "a: @x", "{", "%YAML 9"]
)
def test_broken_yaml_is_refused_with_a_line_and_a_reason(yaml_text: str) -> None:
    line, problem = refused(f"---\nok: 1\n{yaml_text}\n---\n")
    assert line > 2
    assert problem


@pytest.mark.parametrize("character", ["\0", "\x1b", "\udfff", "\x08"])
def test_characters_that_no_yaml_may_hold_are_refused(character: str) -> None:
    line, problem = refused(f"---\na: x{character}y\n---\n")
    assert line <= 2
    assert problem
    assert parse_frontmatter(f"---\na: x\n---\n{character}y").body.endswith("y")


def test_an_alias_bomb_does_not_go_off() -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 30)]
    bomb = "\n".join(["l0: &l0 lol", *levels])
    assert refused(f"---\n{bomb}\n---\n") == (2, messages.NO_ALIASES)


@pytest.mark.parametrize(
    "deep",
    [
        "a: " + "[" * 10_000 + "]" * 10_000,
        "a: " + "{b: " * 10_000 + "}" * 10_000,
        "a: " + "[" * 10_000,
        "a:\n" + "\n".join("- " * n for n in range(1, 100)),
    ],
)
def test_depth_is_bounded(deep: str) -> None:
    line, _ = refused(f"---\n{deep}\n---\n")
    assert line > 1


def test_the_deepest_value_that_is_read() -> None:
    lists = MAX_DEPTH - 2  # the fields themselves are one level, the text within another
    assert parse_frontmatter(f"---\na: {'[' * lists}x{']' * lists}\n---\n").fields["a"]
    too_deep = "[" * (lists + 1) + "x" + "]" * (lists + 1)
    assert refused(f"---\na: {too_deep}\n---\n") == (2, messages.TOO_DEEP)


def test_the_front_matter_is_bounded_and_the_body_is_not() -> None:
    fits = "a: " + "x" * (MAX_YAML - len("a: \n"))
    body = "y" * MAX_YAML * 2
    assert parse_frontmatter(f"---\n{fits}\n---\n{body}") == Frontmatter(
        {"a": fits[3:]}, {"a": 2}, body
    )
    assert refused(f"---\n{fits}x\n---\n") == (1, messages.frontmatter_too_large(MAX_YAML))
    assert messages.frontmatter_too_large(MAX_YAML) == "the front matter is longer than 64 KiB"


pieces = st.sampled_from(
    [
        "---", "\n", "---\n", "\r\n", "\r", "\ufeff", "a: ", "b: 1\n", "- ", "  ", "[", "]", "{", "}", ",", "&x ",
        "*x", "!!str ", "<<: ", "? ", ": ", "|\n", ">-\n", "'", '"', "\\", "#", "%YAML 1.1\n", "...", "\0", "\t",
        "\x85", "\u2028", "\udfff", "🎈", "~", "null", "true",
    ]
)  # fmt: skip


# YAML 1.1 has more of them than an editor shows, and only one of the two parsers counts them.
ENDS_OF_LINES = ("\n", "\r", "\x85", "\u2028", "\u2029")


@thoroughly
@given(st.lists(pieces | st.text(max_size=5), max_size=30).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    for whole in (text, f"---\n{text}", f"---\n{text}\n---\n"):
        try:
            found = parse_frontmatter(whole)
        except FrontmatterError as refusal:
            assert (refusal.line >= 1, refusal.problem != "") == (True, True)  # noqa: PT017 - or read
        else:
            assert found.lines.keys() == found.fields.keys()
            last = 1 + sum(whole.count(end) for end in ENDS_OF_LINES)
            assert all(2 <= line <= last for line in found.lines.values())
            assert found.body == found.body.strip()


words = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\x85\u2028\u2029")
)
values = st.recursive(
    words, lambda x: st.lists(x, max_size=3) | st.dictionaries(words, x, max_size=3), max_leaves=5
)


@thoroughly
@given(st.dictionaries(words.filter(lambda key: key != "<<"), values, max_size=4), words)
def test_texts_lists_and_mappings_come_back_as_they_were_written(
    fields: dict[str, object], body: str
) -> None:
    written = yaml.safe_dump(fields, sort_keys=False, default_style='"')
    try:
        found = parse_frontmatter(f"---\n{written}---\n{body}")
    except FrontmatterError as refusal:
        assert refusal.problem in (messages.NO_ALIASES, messages.TOO_DEEP)  # noqa: PT017 - allowed
        return
    assert (found.fields, found.body) == (fields, body.strip())
