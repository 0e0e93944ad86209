from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.errors import ConfigNotEditable, MalformedConfig
from pi_subagents.hosts.jsonc_edit import parse_jsonc, remove_value, set_value

ENTRY = {"command": "/opt/subagents", "args": ["mcp"]}
PATH = ("servers", "ours")

# Every value, and every way to write one that people have


KEYS = st.text(max_size=8).filter(lambda key: key not in PATH)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(['a "quoted" }', "// no comment", "/* nor this */", "back\\slash,", "{"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
GAPS = [
    "", " ", "\t", "\n", "\r\n", "  \n    ", "/* c */", "/* ,\n } */ ", "// note: [\n", "\n// x\r\n",
]  # fmt: skip


@dataclass
class Written:
    """A value and one of its spellings."""

    value: Any
    text: str


@st.composite
def written(draw: st.DrawFn, values: st.SearchStrategy[Any] = VALUES) -> Written:
    value = draw(values)
    chance = draw(st.randoms(use_true_random=False))

    def spell(part: object) -> str:
        if isinstance(part, dict):
            members = [f"{json.dumps(k)}{gap()}:{gap()}{spell(v)}" for k, v in part.items()]
            return joined("{", members, "}")
        if isinstance(part, list):
            return joined("[", [spell(each) for each in part], "]")
        return json.dumps(part, ensure_ascii=chance.random() < 0.5)

    def joined(left: str, parts: list[str], right: str) -> str:
        inner = ",".join(f"{gap()}{part}{gap()}" for part in parts)
        trailing = "," if parts and chance.random() < 0.5 else ""
        return f"{left}{gap()}{inner}{trailing}{gap()}{right}"

    def gap() -> str:
        return chance.choice(GAPS)

    bom = chance.choice(["", "\ufeff"])
    return Written(value, f"{bom}{gap()}{spell(value)}{gap()}")


OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
WITH_SERVERS = st.builds(
    lambda before, servers, after: {**before, "servers": servers, **after},
    OBJECTS,
    OBJECTS,
    OBJECTS,
)


@thoroughly
@given(written())
def test_comments_and_commas_change_nothing(document: Written) -> None:
    assert parse_jsonc(document.text) == document.value


@thoroughly
@given(written(WITH_SERVERS), VALUES)
def test_a_value_is_put_in_and_the_rest_says_what_it_said(document: Written, value: object) -> None:
    edited = set_value(document.text, PATH, value)
    assert parse_jsonc(edited) == {
        **document.value,
        "servers": {**document.value["servers"], "ours": value},
    }


@thoroughly
@given(written(OBJECTS), VALUES)
def test_the_object_on_the_way_is_made(document: Written, value: object) -> None:
    edited = set_value(document.text, PATH, value)
    assert parse_jsonc(edited) == {**document.value, "servers": {"ours": value}}


def without_blanks_and_commas(text: str) -> str:
    return re.sub(r"[\s,]", "", text)


@thoroughly
@given(written(WITH_SERVERS), VALUES)
def test_what_was_put_in_is_taken_out_and_no_other_character(
    document: Written, value: object
) -> None:
    back = remove_value(set_value(document.text, PATH, value), PATH)
    assert parse_jsonc(back) == document.value
    assert without_blanks_and_commas(back) == without_blanks_and_commas(document.text)


@thoroughly
@given(written(WITH_SERVERS), VALUES, VALUES)
def test_only_the_value_itself_is_replaced(
    document: Written, first: object, second: object
) -> None:
    before = set_value(document.text, PATH, first)
    after = set_value(before, PATH, second)
    assert parse_jsonc(after)["servers"]["ours"] == second  # type: ignore[index]  # an object
    assert without_blanks_and_commas(remove_value(after, PATH)) == without_blanks_and_commas(
        document.text
    )


@thoroughly
@given(written(WITH_SERVERS), VALUES)
def test_a_second_time_changes_nothing(document: Written, value: object) -> None:
    once = set_value(document.text, PATH, value)
    assert set_value(once, PATH, value) == once


@thoroughly
@given(st.text(alphabet='{}[]":, \n/*\\truefals0', max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        value = parse_jsonc(text)
    except MalformedConfig:
        with pytest.raises(ValueError):
            json.loads(text)
    else:
        assert json.loads(json.dumps(value)) == value


@thoroughly
@given(VALUES)
def test_what_json_reads_is_read_the_same(value: object) -> None:
    for indent in (None, 2):
        assert parse_jsonc(json.dumps(value, indent=indent)) == value


# As people write their files


COMMENTED = """\
// Settings
{
  "theme": "dark", // at night
  /* servers: { } */
  "servers": {
    "other": { "command": "x", "args": ["}", "//"] }, // keep
  },
  "last": [1, 2,],
}
"""


def test_a_file_with_comments_keeps_them_to_the_byte() -> None:
    edited = set_value(COMMENTED, PATH, ENTRY)
    assert edited == COMMENTED.replace(
        " // keep\n",
        """ // keep
    "ours": {
      "command": "/opt/subagents",
      "args": [
        "mcp"
      ]
    },
""",
    )
    assert remove_value(edited, PATH) == COMMENTED


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("", '{\n  "servers": {\n    "ours": 1\n  }\n}\n'),
        (" \n", '{\n  "servers": {\n    "ours": 1\n  }\n}\n'),
        ("\ufeff", '\ufeff{\n  "servers": {\n    "ours": 1\n  }\n}\n'),
        ("// mine", '// mine\n{\n  "servers": {\n    "ours": 1\n  }\n}\n'),
        ("// mine\r\n", '// mine\r\n{\r\n  "servers": {\r\n    "ours": 1\r\n  }\r\n}\r\n'),
        ("{}", '{\n  "servers": {\n    "ours": 1\n  }\n}'),
        ('{"a": 1}', '{"a": 1, "servers": {"ours": 1}}'),
        ('{"a": 1,}', '{"a": 1, "servers": {"ours": 1},}'),
        ('{"servers": {}}', '{"servers": {\n  "ours": 1\n}}'),
        (
            '{\n\t"servers": {}\n}\n',
            '{\n\t"servers": {\n\t\t"ours": 1\n\t}\n}\n',
        ),
        (
            '{\r\n    "a": 1 // one\r\n}\r\n',
            '{\r\n    "a": 1, // one\r\n    "servers": {\r\n        "ours": 1\r\n    }\r\n}\r\n',
        ),
        ('{\n  "servers": {"b": 2}\n}', '{\n  "servers": {"b": 2, "ours": 1}\n}'),
        (
            '{\n  "servers": {"b": 2,\n    "c": 3}\n}',
            '{\n  "servers": {"b": 2,\n    "c": 3,\n    "ours": 1\n  }\n}',
        ),
    ],
)
def test_a_value_is_put_where_a_person_would_put_it(text: str, edited: str) -> None:
    assert set_value(text, PATH, 1) == edited


@pytest.mark.parametrize(
    "text",
    [
        '{"servers": {"b": 2}}',
        '{"servers": {"b": 2,}}',
        '{"servers": { "b": 2 }}',
        '{\n  "servers": {\n    "b": 2\n  }\n}\n',
        '{\n  "servers": {\n    "b": 2  \n  }\n}\n',
        '{\n  "servers": {\n    "b": 2,\t\n  }\n}\n',
        '{\r\n\t"servers": {\r\n\t\t"b": 2 // two\r\n\t}\r\n}\r\n',
        '{\n  "servers": {\n    "b": 2\n\n    // nothing more\n  }\n}\n',
        '\ufeff{"servers": {}}',
    ],
)
def test_putting_in_and_taking_out_leaves_every_byte(text: str) -> None:
    assert remove_value(set_value(text, PATH, ENTRY), PATH) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"ours": 1}', "{}"),
        ('{ "ours": 1 }', "{}"),
        ('{\n  "ours": 1\n}', "{}"),
        ('{\n  // mine\n  "ours": 1\n}', "{\n  // mine\n}"),
        ('{"ours": 1, "b": 2}', '{"b": 2}'),
        ('{"a": 0, "ours": 1, "b": 2}', '{"a": 0, "b": 2}'),
        ('{"a": 0, "ours": 1}', '{"a": 0}'),
        ('{"a": 0, "ours": 1,}', '{"a": 0,}'),
        ('{"a": 0, /* c */ "ours": 1}', '{"a": 0 /* c */}'),
        ('{"ours": 1 /* c */, "b": 2}', '{/* c */ "b": 2}'),
        ('{\n  "ours": 1, // one\n  "b": 2\n}', '{\n // one\n  "b": 2\n}'),
        ('{"a": {"ours": 1}}', '{"a": {"ours": 1}}'),
    ],
)
def test_a_value_is_taken_out_with_one_comma_and_no_comment(text: str, left: str) -> None:
    assert remove_value(text, ("ours",)) == left


def test_a_value_that_is_not_there_is_not_taken_out() -> None:
    for text in ("", "[]", "{}", '{"servers": 1}', '{"servers": {"b": 2}}'):
        assert remove_value(text, PATH) == text


def test_a_value_deep_inside_is_replaced_alone() -> None:
    text = '{\n  "servers": {\n    "ours": { "command": "old", /* mine */ "env": {} }\n  }\n}\n'
    edited = set_value(text, (*PATH, "command"), "new")
    assert edited == text.replace('"old"', '"new"')
    assert set_value(text, (*PATH, "args"), ["mcp"]) == text.replace(
        '"env": {} }', '"env": {}, "args": ["mcp"] }'
    )


# What is refused


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{\n"a": 1\n"b": 2}', "line 3: expected a comma or }"),
        ("{\n\n,}", "line 3: expected a key in quotes or }"),
        ("{'a': 1}", "line 1: expected a key in quotes or }"),
        ('{"a" 1}', "line 1: expected a colon"),
        ('{"a": }', "line 1: expected a value"),
        ('{"a": NaN}', "line 1: expected a value"),
        ('{"a": "\\x"}', "line 1: expected a value"),
        ('{"a": "one\nline"}', "line 1: expected a value"),
        ("[1 2]", "line 1: expected a comma or ]"),
        ("[1, 2", "line 1: expected a comma or ]"),
        ("{} {}", "line 1: expected the end"),
        ("{ /* open }", "line 1: expected a key in quotes or }"),
        ("[" * 100_000, "it is nested too deeply"),
    ],
)
def test_a_broken_text_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(MalformedConfig) as caught:
        set_value(text, PATH, 1)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "it is not a JSON object"),
        ('"text"', "it is not a JSON object"),
        ('{"servers": []}', '"servers" is not an object'),
        ('{"servers": {}, "servers": {}}', 'it has "servers" twice'),
        ('{"servers": {"ours": 1, "ours": 2}}', 'it has "ours" twice'),
    ],
)
def test_a_text_in_which_it_is_not_clear_where_to_put_it_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ConfigNotEditable) as caught:
        set_value(text, PATH, 1)
    assert str(caught.value) == reason


def test_what_is_there_twice_is_not_taken_out() -> None:
    with pytest.raises(ConfigNotEditable):
        remove_value('{"servers": {"ours": 1}, "servers": {}}', PATH)
