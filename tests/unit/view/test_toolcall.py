from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.window_lines import added, figure, kept, removed
from tests.unit.core.given_values import json_objects, json_values, texts, thoroughly

from pi_subagents.core.run import events as ev
from pi_subagents.view.preview import LineSpan, Preview, SpanLine, line_text
from pi_subagents.view.toolcall import (
    _PREVIEWS,
    count_non_empty_lines,
    counted,
    format_tool_call,
    summarise_result,
)

CWD, HOME, WIDTH = "/data/ann/app", "/data/ann", 60
ARGUMENTS = (
    "path", "file_path", "edits", "oldText", "newText", "content", "pattern", "glob", "command",
    "offset", "limit", "tasks", "profile", "todos", "items", "action", "indices", "index",
    "description", "file", "line", "column", "query", "newName", "files", "url", "urls", "sessionId",
)  # fmt: skip


def preview(name: str, arguments: dict[str, object] | None, width: int = WIDTH) -> Preview:
    call = ev.ToolCall("c", name, arguments)
    return format_tool_call(call, cwd=CWD, home=HOME, width=width)


def shown(name: str, arguments: dict[str, object] | None, width: int = WIDTH) -> str:
    return "\n".join(map(line_text, preview(name, arguments, width)))


def edit(old: object, new: object) -> dict[str, object]:
    return {"oldText": old, "newText": new}


# Every row of the table of previews, and what becomes of it when arguments are left out.
ROWS: list[tuple[str, dict[str, object], str]] = [
    ("edit", {"path": "a.py", "edits": [edit("x", "y")]}, "edit → a.py (1 edit) +1/-1"),
    ("edit", {"path": "a.py", "edits": [edit("x\n\ny", "z"), edit("u", "")]}, "edit → a.py (2 edits) +1/-3"),
    ("edit", {"path": f"{CWD}/src/a.py", "edits": [edit("x", "y\nz")]}, "edit → src/a.py (1 edit) +2/-1"),
    ("edit", {"file_path": "a.py", **edit("x", "y")}, "edit → a.py (1 edit) +1/-1"),
    ("edit", {"path": "a.py", "edits": [edit("x", "y")], **edit("u", "v")}, "edit → a.py (2 edits) +2/-2"),
    ("edit", {"path": "a.py", "edits": edit("x", "y")}, "edit → a.py (1 edit) +1/-1"),
    ("edit", {"path": "a.py", "edits": '[{"oldText":"x","newText":"y"}]'}, "edit → a.py (1 edit) +1/-1"),
    ("edit", {"path": "a.py", "edits": "[" * 100_000}, "edit → a.py"),
    ("edit", {"path": "a.py", "edits": [7, edit(1, 2), edit("x", "y")]}, "edit → a.py (1 edit) +1/-1"),
    ("edit", {"path": "a.py", "edits": []}, "edit → a.py"),
    ("edit", {"path": "a.py"}, "edit → a.py"),
    ("edit", {"edits": []}, 'edit {"edits":[]}'),
    ("write", {"path": "out/new.txt", "content": "one\n\ntwo\n"}, "write → out/new.txt +2"),
    ("write", {"path": "a", "content": ""}, "write → a +0"),
    ("write", {"path": "a", "content": ["x"]}, "write → a"),
    ("write", {"content": "x"}, 'write {"content":"x"}'),
    ("grep", {"pattern": "alpha"}, "grep → /alpha/ → ."),
    ("grep", {"pattern": "alpha", "path": f"{CWD}/src"}, "grep → /alpha/ → src"),
    ("grep", {"pattern": "alpha", "path": "src", "glob": "*.ts"}, "grep → /alpha/ → *.ts"),
    ("grep", {"query": "alpha"}, "grep → /alpha/ → ."),
    ("grep", {"pattern": "alpha", "path": 5}, 'grep {"pattern":"alpha","path":5}'),
    ("grep", {"path": "src"}, 'grep {"path":"src"}'),
    ("ls", {}, "ls → ."),
    ("ls", {"path": ""}, "ls → ."),
    ("ls", {"path": "src/"}, "ls → src/"),
    ("ls", {"path": HOME}, "ls → ~"),
    ("ls", {"path": ["src"]}, 'ls {"path":["src"]}'),
    ("find", {"pattern": "*.ts", "path": "src/"}, "find → *.ts in src/"),
    ("find", {"pattern": "*.ts"}, "find → *.ts"),
    ("find", {"pattern": "*.ts", "path": {}}, 'find {"pattern":"*.ts","path":{}}'),
    ("find", {"path": "src"}, 'find {"path":"src"}'),
    ("bash", {"command": "ls"}, "bash → ls"),
    ("bash", {"command": f"cd {CWD} && make test\nexit"}, "bash → make test"),
    ("bash", {"command": "echo " + "x" * 40 + " && echo done"}, "bash → echo " + "x" * 40 + " &&\n│ echo done"),
    ("bash", {"command": " "}, 'bash {"command":" "}'),
    ("bash", {"command": ["ls"]}, 'bash {"command":["ls"]}'),
    ("read", {"path": "a.txt"}, "read → a.txt"),
    ("read", {"path": "b.txt", "offset": 1, "limit": 5}, "read → b.txt:1+5 (5 lines)"),
    ("read", {"path": "b.txt", "offset": 10, "limit": 1}, "read → b.txt:10+1 (1 line)"),
    ("read", {"path": "b.txt", "limit": 5}, "read → b.txt:1+5 (5 lines)"),
    ("read", {"path": "b.txt", "offset": 10}, "read → b.txt:10"),
    ("read", {"path": "b.txt", "offset": "3", "limit": 5.0}, "read → b.txt:3+5 (5 lines)"),
    ("read", {"path": "b.txt", "offset": -3, "limit": 1e300}, "read → b.txt"),
    ("read", {"path": "b.txt", "offset": True, "limit": 2.5}, "read → b.txt"),
    ("read", {"path": "b.txt", "offset": "²", "limit": "9" * 5000}, "read → b.txt"),
    ("read", {"file_path": f"{HOME}/x"}, "read → ~/x"),
    ("read", {"path": ""}, 'read {"path":""}'),
    ("delegate_to_subagents", {"tasks": [{"name": "a"}]}, "delegate_to_subagents → 1 task"),
    ("delegate_to_subagents",
     {"profile": "researcher", "tasks": [{"profile": "writer"}, {"profile": None}, {"profile": "writer"}]},
     "delegate_to_subagents → 3 tasks [writer, researcher]"),
    ("delegate_to_subagents", {"profile": "researcher", "tasks": [{}]}, "delegate_to_subagents → 1 task [researcher]"),
    ("delegate_to_subagents", {"tasks": [7, {"profile": 7}]}, "delegate_to_subagents → 2 tasks"),
    ("delegate_to_subagents", {"tasks": "a"}, 'delegate_to_subagents {"tasks":"a"}'),
    ("write_todos", {"todos": [{"text": "a"}, {"text": "b"}]}, "write_todos → 2 todos written"),
    ("write_todos", {"todos": ["a"]}, "write_todos → 1 todo written"),
    ("write_todos", {"todos": 2}, 'write_todos {"todos":2}'),
    ("edit_todos", {"action": "complete", "indices": [0, 2]}, "edit_todos → complete [0,2]"),
    ("edit_todos", {"action": "complete", "index": 1}, "edit_todos → complete [1]"),
    ("edit_todos", {"action": "complete", "indices": [10**400, "x"]}, "edit_todos → complete"),
    ("edit_todos", {"action": "complete", "indices": [10**400, 3]}, "edit_todos → complete [3]"),
    ("edit_todos", {"action": "add", "todos": [{"text": "tests"}, "docs", 3]}, "edit_todos → tests, docs"),
    ("edit_todos", {"description": "Mark the first as done", "action": "complete", "indices": [0]},
     "edit_todos → Mark the first as done"),
    ("edit_todos", {"action": "complete", "indices": [0], "todos": [{"text": "tests"}]}, "edit_todos → tests"),
    ("edit_todos", {"action": "abandon", "indices": [1], "todos": []}, "edit_todos → abandon [1]"),
    ("edit_todos", {"indices": [0]}, 'edit_todos {"indices":[0]}'),
    ("list_todos", {}, "list_todos"),
    ("list_todos", {"verbose": True}, "list_todos"),
    ("lsp_diagnostics", {"file": f"{CWD}/a.ts"}, "lsp_diagnostics → a.ts"),
    ("lsp_diagnostics", {"file": "a.ts", "line": 5}, "lsp_diagnostics → a.ts"),
    ("lsp_find_references", {"file": "a.ts", "line": 5, "column": 7}, "lsp_find_references → a.ts:5:7"),
    ("lsp_goto_definition", {"file": "a.ts", "line": 5, "column": 7}, "lsp_goto_definition → a.ts:5:7"),
    ("lsp_call_hierarchy", {"path": "a.ts", "line": 5}, "lsp_call_hierarchy → a.ts:5"),
    ("lsp_call_hierarchy", {"file": "a.ts", "column": 5}, "lsp_call_hierarchy → a.ts"),
    ("lsp_call_hierarchy", {"line": 5}, 'lsp_call_hierarchy {"line":5}'),
    ("lsp_find_symbol", {"query": "Window"}, "lsp_find_symbol → Window"),
    ("lsp_find_symbol", {"query": 7}, 'lsp_find_symbol {"query":7}'),
    ("lsp_refactor_symbol", {"file": "a.ts", "line": 5, "column": 7, "newName": "b"},
     "lsp_refactor_symbol → a.ts:5:7 → b"),
    ("lsp_refactor_symbol", {"file": "a.ts", "line": 5, "column": 7}, "lsp_refactor_symbol → a.ts:5:7"),
    ("lsp_refactor_symbol", {"newName": "b"}, 'lsp_refactor_symbol {"newName":"b"}'),
    ("lint_files", {}, "lint → (all)"),
    ("lint_files", {"files": []}, "lint → (all)"),
    ("lint_files", {"files": "a.py"}, "lint → a.py"),
    ("lint_files", {"files": [f"{CWD}/a.py", "b.py", "c.py"]}, "lint → a.py, b.py, c.py"),
    ("lint_files", {"files": ["a.py", "b.py", "c.py", "d.py"]}, "lint → a.py, b.py, ... +2 more"),
    ("lint_files", {"files": [1]}, 'lint_files {"files":[1]}'),
    ("fetch_repo", {"url": "https://x.example/r"}, "fetch_repo → https://x.example/r"),
    ("fetch_repo", {}, "fetch_repo"),
    ("fetch_content", {"url": "https://x.example"}, "fetch_content → https://x.example"),
    ("fetch_content", {"urls": ["https://a.example", "https://b.example"]},
     "fetch_content → https://a.example, https://b.example"),
    ("fetch_content", {"url": "https://x.example/" + "p" * 99}, "fetch_content → https://x.example/" + "p" * 25 + "…"),
    ("web_search", {"query": "rolling windows"}, "web_search → rolling windows"),
    ("web_search", {"queries": ["a", "b"]}, "web_search → a, b"),
    ("web_search", {"query": "q" * 99}, "web_search → " + "q" * 46 + "…"),
    ("get_subagent_output", {"sessionId": "a3f7b9c2d1e8f4a1"}, "get_subagent_output → a3f7b9c2d1e8f4a1"),
    ("get_subagent_session", {"sessionId": "a3f7b9c2d1e8f4a1"}, "get_subagent_session → a3f7b9c2d1e8f4a1"),
    ("get_subagent_session", {}, "get_subagent_session"),
    ("list_subagent_profiles", {}, "list_subagent_profiles"),
    ("workflow_step", {"action": "next"}, "workflow_step → next"),
    ("workflow_step", {}, "workflow_step"),
    ("teleport", {"to": "moon", "at": [1, None, {"é": "\u2028"}]}, 'teleport {"to":"moon","at":[1,null,{"é":""}]}'),
    ("teleport", {}, "teleport"),
    ("teleport", {"to": "m" * 99}, 'teleport {"to":"' + "m" * 43 + "…"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "line"), ROWS)
def test_every_row_of_the_table_of_previews(
    name: str, arguments: dict[str, object], line: str
) -> None:
    assert shown(name, arguments) == line


def test_no_tool_with_a_preview_of_its_own_is_left_out_of_the_table() -> None:
    assert {name for name, _, _ in ROWS} - {"teleport"} == {*_PREVIEWS, "bash"}


def test_a_call_whose_arguments_are_unknown_is_its_name() -> None:
    """The journal drops arguments that are too large; an `ls` of somewhere is not an `ls` of `.`."""
    names = ["ls", "bash", "lint_files", "teleport"]
    assert [shown(name, None) for name in names] == names


def test_a_hostile_name_is_made_printable_and_short() -> None:
    assert shown("\x1b[2Jevil\n" + "n" * 500, {}) == "evil " + "n" * 114 + "…"
    assert shown("\x1b[2J", {}) == "tool"


def test_a_width_too_small_for_anything_is_taken_as_twenty() -> None:
    assert shown("teleport", {"to": "m" * 99}, -5) == 'teleport {"to":"mmm…'


def test_an_argument_over_several_lines_is_shown_on_one() -> None:
    assert shown("grep", {"pattern": "a\n\tb", "path": "x\ny"}) == "grep → /a b/ → x y"
    assert shown("find", {"pattern": "p" * 9999}) == "find → " + "p" * 499 + "…"


# Reference fault 25: escapes for title, clipboard and links passed through.
@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("read", {"path": "\x1b]52;c;aGk=\x07a.txt"}, "read → a.txt"),
        ("bash", {"command": "\x1b]0;title\x07ls\x9b31m"}, "bash → ls"),
        ("teleport", {"to\x9d0;t\x9c": "\x1b[31m\x7f\u202e"}, 'teleport {"to":"\\u001b[31m"}'),
    ],
)
def test_no_escape_sequence_survives_in_a_preview(
    name: str, arguments: dict[str, object], line: str
) -> None:
    assert shown(name, arguments) == line


@thoroughly
@given(
    st.sampled_from([*sorted(_PREVIEWS), "bash"]) | texts,
    json_objects
    | st.dictionaries(
        st.sampled_from(ARGUMENTS),
        json_values | st.lists(json_values | json_objects, max_size=4),
        max_size=5,
    ),
    st.integers(-5, 200),
)
def test_any_arguments_give_a_printable_line(
    name: str, arguments: dict[str, object], width: int
) -> None:
    line = shown(name, arguments, width)
    assert line
    assert name == "bash" or "\n" not in line
    bad = {c for c in line if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}} - {"\n"}
    assert not bad


LINES_4, LINES_12 = "\n".join("abcd"), "\n".join("abcdefghijkl")


@pytest.mark.parametrize(
    ("name", "arguments", "spans"),
    [
        ("edit", {"path": "a.py", "edits": [edit("x", "y"), edit("x" + "\nx" * 8, LINES_4)]},
         (LineSpan("edit → a.py"), figure(" (2 edits) "), added("+5"), figure("/"), removed("-10"))),
        ("write", {"path": "a.py", "content": LINES_12},
         (LineSpan("write → a.py"), figure(" "), added("+12"))),
        ("write", {"path": "b/a.py", "content": LINES_12},
         (LineSpan("write → b"), kept("/a.py"), LineSpan(" ", "figure", kept=True),
          LineSpan("+12", "added", kept=True))),
        ("read", {"path": "a.py", "limit": 5},
         (LineSpan("read → a.py:1+5"), figure(" "), added("(5 lines)"))),
        ("read", {"path": "a.py", "limit": 1},
         (LineSpan("read → a.py:1+1"), figure(" "), added("(1 line)"))),
        # No figures, or not those of the tool.
        ("ls", {}, (LineSpan("ls → ."),)),
        ("edit", {"path": "a.py"}, (LineSpan("edit → a.py"),)),
        ("bash", {"command": "echo +5/-3"}, (LineSpan("bash → echo +5/-3"),)),
        ("bash", {"command": "ls → 2 files"}, (LineSpan("bash → ls → 2 files"),)),
        ("write", {"path": "my +5 file.txt"}, (LineSpan("write → my +5 file.txt"),)),
        ("write", {"path": "my +5"}, (LineSpan("write → my +5"),)),
    ],
)  # fmt: skip
def test_figures_of_a_preview_are_marked(
    name: str, arguments: dict[str, object], spans: SpanLine
) -> None:
    assert preview(name, arguments) == (spans,)


@pytest.mark.parametrize(
    ("name", "arguments", "end"),
    [
        ("bash", {"command": "cat /a/b/c"}, ""),
        ("bash", {"command": "npm ci &&\nnpm test"}, " &&"),
        ("read", {"path": "src/deep/a.py"}, "/a.py"),
        ("read", {"path": "src/deep/a.py", "limit": 5}, "/a.py:1+5 (5 lines)"),
        ("read", {"path": "~/a b.py"}, "/a b.py"),
        ("read", {"path": "a.py"}, ""),
        ("write", {"path": "src/deep/a.py", "content": "x"}, "/a.py +1"),
        ("edit", {"path": "src/deep/a.py", "edits": [edit("x", "y")]}, "/a.py (1 edit) +1/-1"),
        ("edit", {"path": "a.py", "edits": [edit("x", "y")]}, ""),
        ("edit", {"path": "src/deep/a.py"}, "/a.py"),
        ("ls", {"path": "src/deep/"}, "/deep/"),
        ("ls", {"path": "src/deep"}, "/deep"),
        ("find", {"pattern": "*.ts", "path": "src/deep"}, "/deep"),
        ("grep", {"pattern": "alpha", "path": "src/deep"}, "/deep"),
        ("grep", {"pattern": "alpha", "glob": "*.py"}, "/ → *.py"),
        ("lsp_goto_definition", {"file": "src/deep/a.py", "line": 3, "column": 7}, "/a.py:3:7"),
        ("lsp_refactor_symbol", {"file": "src/a.py", "newName": "a/b"}, "/a.py → a/b"),
        ("lint_files", {"files": ["src/a.py", "src/b.py", "c", "d"]}, "/b.py, ... +2 more"),
        ("fetch_content", {"url": "https://example.org/a/b"}, ""),
        ("teleport", {"path": "a/b"}, ""),
    ],
)
def test_a_preview_that_is_cut_keeps_the_name_of_its_file_and_its_and(
    name: str, arguments: dict[str, object], end: str
) -> None:
    [line] = preview(name, arguments)
    assert line_text(tuple(span for span in line if span.kept)) == end
    assert line_text(line).endswith(end)


def test_every_line_of_a_command_but_the_last_keeps_its_and() -> None:
    assert preview("bash", {"command": "npm ci && npm run build && npm test"}, 20) == (
        (LineSpan("bash → npm ci"), kept(" &&")),
        (LineSpan("│ npm run build"), kept(" &&")),
        (LineSpan("│ npm test"),),
    )


@pytest.mark.parametrize(
    ("name", "text", "summary"),
    [
        ("ls", "a.txt\nb.txt", "2 files"),
        ("ls", "a.txt\nb.txt\nsrc/", "2 files, 1 dir"),
        ("ls", "src/\nlib/\n", "2 dirs"),
        ("ls", "a", "1 file"),
        ("ls", "(empty directory)", "(empty)"),
        ("ls", "", "(empty)"),
        ("ls", "a\nd/\n\n[2 entries limit reached. Use limit=4 for more]", "1 file, 1 dir+"),
        ("ls", "a\n\n[500 entries limit reached. Use limit=1000 for more. 50.0KB limit reached]", "1 file+"),
        ("ls", "a\nb\n[cut: 7000 more characters]", "2 files+"),
        ("ls", "a\n[b]", "2 files"),
        ("ls", "odd/name\nlimit reached", "2 files"),
        ("find", "a\nNo files found matching pattern", "2 matches"),
        ("find", "a.ts\nb/c.ts\nd/", "3 matches"),
        ("find", "a.ts", "1 match"),
        ("find", "No files found matching pattern", "0 matches"),
        ("find", "", "0 matches"),
        ("find", "a\nb\n\n[2 results limit reached. Use limit=4 for more, or refine pattern]", "2 matches+"),
        ("find", "[50.0KB limit reached]", "0 matches+"),
        ("grep", "a.ts:1: x", ""),
        ("bash", "a\nb", ""),
    ],
)  # fmt: skip
def test_what_ls_and_find_found_is_summed_up(name: str, text: str, summary: str) -> None:
    assert line_text(summarise_result(name, text)) == summary


@pytest.mark.parametrize(
    ("name", "text", "spans"),
    [
        ("ls", "a\nb", (added("2"), LineSpan(" files"))),
        ("ls", "b/", (added("1"), LineSpan(" dir"))),
        ("ls", "a\nb\nc/\n[2 entries limit reached]",
         (added("2"), LineSpan(" files, "), added("1"), LineSpan(" dir+"))),
        ("ls", "", (LineSpan("(empty)"),)),
        ("find", "a\nb\n[50.0KB limit reached]", (added("2"), LineSpan(" matches+"))),
        ("find", "a", (added("1"), LineSpan(" match"))),
    ],
)  # fmt: skip
def test_the_figures_of_a_summary_are_marked(name: str, text: str, spans: SpanLine) -> None:
    assert summarise_result(name, text) == spans


@thoroughly
@given(st.lists(texts, max_size=5).map("\n".join))
def test_any_listing_can_be_summed_up(text: str) -> None:
    for name in ("ls", "find"):
        assert line_text(summarise_result(name, text)).isprintable()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("\n\n", 0),
        (" \t\n", 0),
        ("a", 1),
        ("a\n", 1),
        ("\n a \n\n b\r\n", 2),
        ("a\x0bb", 1),
    ],
)
def test_lines_that_are_not_blank_are_counted(text: str, count: int) -> None:
    assert count_non_empty_lines(text) == count


@thoroughly
@given(st.text(max_size=50))
def test_the_count_is_that_of_the_lines_between_line_feeds(text: str) -> None:
    assert count_non_empty_lines(text) == sum(bool(line.strip()) for line in text.split("\n"))


def test_a_megabyte_of_blanks_is_counted_in_one_go() -> None:
    assert count_non_empty_lines(" " * 1_000_000 + "x") == 1


def test_numbers_agree_with_their_nouns() -> None:
    assert [counted(n, "match", "matches") for n in (0, 1, 2)] == [
        "0 matches",
        "1 match",
        "2 matches",
    ]
    assert [counted(n, "dir") for n in (0, 1, 2)] == ["0 dirs", "1 dir", "2 dirs"]
