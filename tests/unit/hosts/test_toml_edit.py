from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.errors import ConfigNotEditable, MalformedConfig
from pi_subagents.hosts.toml_edit import parse_toml, remove_table, set_table, table_text

PATH = ("mcp_servers", "ours")
ENTRY = {"command": "/opt/subagents", "args": ["mcp"], "tool_timeout_sec": 120}
SECTION = '[mcp_servers.ours]\ncommand = "/opt/subagents"\nargs = ["mcp"]\ntool_timeout_sec = 120\n'

# Files as they may be: what looks like our section is often inside a text or an array

TRAPS = [
    '"""\n[mcp_servers.ours]\ncommand = 1\n"""',
    "'''\n[mcp_servers.ours]\n'''",
    '"""ends with quotes"""""',
    '"""ends with a quote""""',
    "'''ends with a quote''''",
    "'''ends with quotes'''''",
    '"""escaped \\"""\n[mcp_servers.ours] """',
    '"# no comment [x]"',
    "'# nor this'",
    '[\n  ["mcp_servers.ours"]\n  , # c ]\n  ["a", "]"],\n]',
    '{ a = "[x]", b = [1, 2] }',
    "1979-05-27T07:32:00Z",
    "true",
]
COMMENTS = st.sampled_from(["", "  # mine", ' # " [', " # ' [", " # [mcp_servers.ours]", "\t# \"'"])
LINES = st.lists(st.sampled_from(["", "# [mcp_servers.ours]", "   ", "#\tcommand = 1"]), max_size=2)
HEADERS = ["[other]", "[mcp_servers.a]", '[mcp_servers."o.urs"]', "[[list]]", "[ x . 'y]' ]"]


@st.composite
def files(draw: st.DrawFn) -> str:
    numbers = iter(range(1000))

    def pairs() -> list[str]:
        rows: list[str] = []
        for value in draw(st.lists(st.sampled_from(TRAPS), max_size=3)):
            rows += [f"key{next(numbers)} = {value}{draw(COMMENTS)}", *draw(LINES)]
        return rows

    rows = [*draw(LINES), *pairs()]
    for header in draw(st.lists(st.sampled_from(HEADERS), unique=True, max_size=4)):
        rows += [*draw(LINES), f"{header}{draw(COMMENTS)}", *pairs()]
    text = "".join(f"{row}\n" for row in rows)
    return draw(st.sampled_from([text, text.replace("\n", "\r\n"), "\ufeff" + text]))


def merged(before: dict[str, Any], values: dict[str, object]) -> dict[str, Any]:
    servers = before.get("mcp_servers", {})
    return {**before, "mcp_servers": {**servers, "ours": {**servers.get("ours", {}), **values}}}


def plain(text: str) -> dict[str, Any]:
    return tomllib.loads(text.removeprefix("\ufeff"))


@thoroughly
@given(files())
def test_a_table_is_put_in_behind_everything_and_taken_out_again(text: str) -> None:
    edited = set_table(text, PATH, ENTRY)
    assert plain(edited) == merged(plain(text), ENTRY)
    assert edited.startswith(text)
    assert remove_table(edited, PATH) == text
    assert set_table(edited, PATH, ENTRY) == edited


@thoroughly
@given(files(), st.data())
def test_a_table_among_others_is_changed_and_taken_out_alone(
    text: str, data: st.DataObject
) -> None:
    newline = "\r\n" if "\r\n" in text else "\n"
    behind = "".join(f"{row}{newline}" for row in ["", "# last", "[zz]", *data.draw(LINES)])
    edited = set_table(text, PATH, ENTRY) + behind
    moved = set_table(edited, PATH, {**ENTRY, "command": "/usr/bin/subagents"})
    assert moved == edited.replace("/opt/subagents", "/usr/bin/subagents")
    assert remove_table(moved, PATH) == text + behind


@thoroughly
@given(st.text(max_size=20), st.text(min_size=1, max_size=10))
def test_any_text_is_written_so_that_it_is_read_back(value: str, key: str) -> None:
    try:
        value.encode(), key.encode()
    except UnicodeEncodeError:
        return
    assert plain(table_text((key, "ours"), {key: value})) == {key: {"ours": {key: value}}}


@thoroughly
@given(st.text(alphabet="[]=\"'#a.\n ", max_size=30))
def test_any_text_is_changed_or_refused(text: str) -> None:
    try:
        edited = set_table(text, PATH, ENTRY)
    except MalformedConfig:
        with pytest.raises(tomllib.TOMLDecodeError):
            tomllib.loads(text)
    else:
        assert plain(edited) == merged(plain(text), ENTRY)


# As people write their files


CONFIG = """\
model = "gpt-5"  # the usual

[mcp_servers.docs] # [mcp_servers.ours]
command = "docs"

# about the next one
[profiles.fast]
model = "small"
"""


def test_a_section_is_added_below_a_blank_line() -> None:
    assert set_table(CONFIG, PATH, ENTRY) == f"{CONFIG}\n{SECTION}"
    assert set_table("", PATH, ENTRY) == SECTION
    assert set_table("\ufeff", PATH, ENTRY) == f"\ufeff{SECTION}"
    assert remove_table(f"\ufeff{SECTION}", PATH) == "\ufeff"
    assert set_table("model = 1", PATH, ENTRY) == f"model = 1\n\n{SECTION}"
    assert table_text(PATH, ENTRY) == SECTION


def test_a_section_goes_with_its_own_tables_and_the_comments_inside() -> None:
    ours = SECTION.replace("args", "# how\nargs") + '\n[mcp_servers.ours.env]\nA = "b"\n'
    text = CONFIG.replace("# about", f"{ours}\n# about")
    assert remove_table(text, PATH) == CONFIG
    assert remove_table(f"[mcp_servers]\n\n{SECTION}", PATH) == "[mcp_servers]\n"


def test_only_the_line_of_a_key_that_changes_is_written_anew() -> None:
    text = (
        "[mcp_servers.ours]\n"
        "  command = 'old' # mine\n"
        "args = [\n  'mcp', # the server\n]\n"
        "enabled = false\n"
        "[other]\ncommand = 'old'\n"
    )
    edited = set_table(text, PATH, ENTRY)
    assert edited == text.replace(
        "  command = 'old' # mine", '  command = "/opt/subagents" # mine'
    ).replace("[mcp_servers.ours]\n", "[mcp_servers.ours]\ntool_timeout_sec = 120\n")


def test_a_key_is_added_to_a_section_that_ends_the_file() -> None:
    assert set_table("[mcp_servers.ours]", PATH, {"a": 1}) == "[mcp_servers.ours]\na = 1\n"


def test_a_file_may_hold_what_is_not_equal_to_itself() -> None:
    text = "x = nan\ny = [-nan, 1.50, +inf]\n[mcp_servers]\nz = nan\n"
    edited = set_table(text, PATH, ENTRY)
    assert edited == f"{text}\n{SECTION}"
    assert set_table(edited, PATH, ENTRY) == edited
    assert remove_table(edited, PATH) == text


def test_a_number_with_a_fraction_is_written_and_kept() -> None:
    edited = set_table("", PATH, {"wait": 1.5})
    assert edited == "[mcp_servers.ours]\nwait = 1.5\n"
    assert set_table(edited, PATH, {"wait": 1.5}) == edited
    assert set_table(edited, PATH, {"wait": 2.5}) == edited.replace("1.5", "2.5")


def test_a_table_that_is_not_there_is_not_taken_out() -> None:
    for text in ("", "\ufeff", CONFIG, 'mcp_servers = "x"\n'):
        assert remove_table(text, PATH) == text


# What is refused


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { ours = { command = "x" } }\n',
        '[mcp_servers]\nours = { command = "x" }\n',
        '[mcp_servers]\nours.command = "x"\n',
        'mcp_servers.ours.command = "x"\n',
        '[mcp_servers.ours.env]\nA = "b"\n[mcp_servers]\nours.command = "x"\n',
    ],
)
def test_another_form_of_the_table_is_refused(text: str) -> None:
    with pytest.raises(ConfigNotEditable):
        set_table(text, PATH, ENTRY)
    with pytest.raises(ConfigNotEditable):
        remove_table(text, PATH)


@pytest.mark.parametrize(
    "text",
    ["mcp_servers = {}\n", "mcp_servers = 1\n", "[[mcp_servers]]\n", "[[mcp_servers.ours]]\n"],
)
def test_a_section_that_cannot_be_added_is_refused(text: str) -> None:
    with pytest.raises(ConfigNotEditable) as caught:
        set_table(text, PATH, ENTRY)
    assert str(caught.value) == "its entry is written in another form than a table of its own"


@pytest.mark.parametrize("text", ["a =", "[a", "a = 1\na = 2\n", "a = " + "[" * 10_000])
def test_a_broken_text_is_refused(text: str) -> None:
    with pytest.raises(MalformedConfig):
        set_table(text, PATH, ENTRY)
    with pytest.raises(MalformedConfig):
        remove_table(text, PATH)


def test_what_is_read_is_what_tomllib_reads() -> None:
    assert parse_toml("\ufeff" + CONFIG) == tomllib.loads(CONFIG)
    assert json.dumps(parse_toml("")) == "{}"
