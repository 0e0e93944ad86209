from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.host_diff import diff_lines

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
    assert "-A = \"…\" # 'c'" in diff_lines("A = 'k' # 'c'\n", "", "x")


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
