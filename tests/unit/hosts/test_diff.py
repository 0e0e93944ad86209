from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.hosts.diff import diff_lines

BEFORE = """\
{
  "servers": {
    "other": {
      "env": {
        "KEY": "sk-secret",
        "LIST": [
          "sk-too"
        ]
      }
    }
  }
}
"""


def test_new_lines_are_shown_whole_and_their_neighbours_without_values() -> None:
    after = BEFORE.replace('"sk-too"\n', '"sk-too",\n          "new-value"\n')
    assert diff_lines(BEFORE, after, "mcp.json") == [
        "--- mcp.json",
        "+++ mcp.json",
        "@@ -4,7 +4,8 @@",
        '       "env": {',
        '         "KEY": "…",',
        '         "LIST": [',
        '-          "…"',
        '+          "…",',
        '+          "new-value"',
        "         ]",
        "       }",
        "     }",
    ]


def test_what_goes_is_shown_without_values() -> None:
    gone = BEFORE.replace('        "KEY": "sk-secret",\n', "")
    assert '-        "KEY": "…",' in diff_lines(BEFORE, gone, "x")
    assert '-A = "…" # "…"' in diff_lines("A = 'k' # 'c'\n", "", "x")
    assert '-A = "…"' in diff_lines("A = 'goes on\n", "", "x")
    assert '-A = "…"' in diff_lines('A = "goes on\\\n', "", "x")


def test_a_list_on_one_line_is_shown_without_its_values() -> None:
    other = '    "o": {"args": ["-y", "s\\"v", "--key", "sk-1"], "n": 7, "env": {"K": "sk-2"}}'
    ours = '    "ours": {"args": ["-y", "mcp"]}'
    less, more = f"{{\n{other}\n}}", f"{{\n{other},\n{ours}\n}}"
    hidden = '    "o": {"args": ["…", "…", "…", "…"], "n": 7, "env": {"K": "…"}}'
    own = '    "ours": {"args": ["…", "…"]}'
    assert diff_lines(less, more, "x")[3:] == [
        " {", f"-{hidden}", f"+{hidden},", f"+{ours}", " }"
    ]  # fmt: skip
    assert diff_lines(more, less, "x")[3:] == [
        " {", f"-{hidden},", f"-{own}", f"+{hidden}", " }"
    ]  # fmt: skip
    toml = """args = ["-y", '--key', 'sk-1']  # "sk-2"\n"""
    assert diff_lines(toml, f'{toml}\n[ours]\nargs = ["mcp"]\n', "x")[3:] == [
        ' args = ["…", "…", "…"]  # "…"', "+", "+[ours]", '+args = ["mcp"]'
    ]  # fmt: skip


def test_what_an_entry_had_before_it_was_changed_is_not_shown() -> None:
    before = '{"ours": {"command": "/old", "env": {"K": "sk-1"}, "args": ["a"]}}'
    after = before.replace("/old", "/new").replace('"a"', '"a", "b"')
    assert diff_lines(before, after, "x")[3:] == [
        '-{"ours": {"command": "…", "env": {"K": "…"}, "args": ["…"]}}',
        '+{"ours": {"command": "/new", "env": {"K": "…"}, "args": ["…", "b"]}}',
    ]


def test_an_entry_before_one_that_is_much_alike_is_shown_alone() -> None:
    before = '{"s": {"other": {"K": "sk-1", "args": ["mcp"]}}}'
    after = before.replace('"other"', '"ours": {"args": ["mcp"]}, "other"')
    assert diff_lines(before, after, "x")[3:] == [
        '-{"s": {"other": {"K": "…", "args": ["…"]}}}',
        '+{"s": {"ours": {"args": ["mcp"]}, "other": {"K": "…", "args": ["…"]}}}',
    ]


def test_of_a_line_that_was_there_only_what_is_new_is_shown() -> None:
    before = '{"KEY": "sk-secret", "servers": {}}'
    after = '{"KEY": "sk-secret", "servers": {"ours": "NEW"}}'
    assert diff_lines(before, after, "x")[3:] == [
        '-{"KEY": "…", "servers": {}}',
        '+{"KEY": "…", "servers": {"ours": "NEW"}}',
    ]


def test_a_long_line_is_not_shown() -> None:
    before = '{"KEY": "sk-secret", "more": [' + "1, " * 99 + "1]}"
    after = before.replace("}", ', "servers": {}}')
    shown = "\n".join(diff_lines(before, after, "x"))
    assert "sk-secret" not in shown
    assert f"+(a line of {len(after)} characters)" in shown


def test_no_difference_is_no_line() -> None:
    assert diff_lines("a\n", "a\n", "x") == []


@thoroughly
@given(st.lists(st.from_regex(r'\A *"k": "[a-z]{8}",?\Z'), max_size=6), st.integers(0, 6))
def test_no_value_that_was_there_is_ever_shown(rows: list[str], at: int) -> None:
    before = "\n".join(rows)
    after = "\n".join([*rows[:at], '  "ours": "NEW"', *rows[at:]])
    shown = "\n".join(diff_lines(before, after, "path"))
    for row in rows:
        assert row.split('"')[3] not in shown
    assert '"NEW"' in shown


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_of_texts_that_go_over_several_lines_nothing_is_shown(quotes: str) -> None:
    before = f"KEY = {quotes}\nBEGIN\nsk-SECRET\n{quotes}\n"
    after = before + '[mcp_servers.subagents]\ncommand = "subagents"\n'
    shown = "\n".join(diff_lines(before, after, "config.toml"))
    assert "SECRET" not in shown
    assert "BEGIN" not in shown
    assert '+command = "subagents"' in shown
