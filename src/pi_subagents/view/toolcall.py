"""
Preview one tool call in one line, and sum up the result of `ls` and `find`.

In: a call as the model made it, the child's directory, home, and a width; or a result's text.
Out: lines in spans, printable.  Arguments may be of any type: what is missing or unusable leaves
the generic form or the bare name, and nothing is made up.  A line has no leading arrow: a face
paints `→ ` before it.  Only a bash preview may have several lines.

Argument names are those of pi's own tools and of the extensions that bring the others: `file`,
`line`, `column`, `query`, `newName` (lsp), `files` (lint), `url` or `urls`, `query` or `queries`
(web), `sessionId`, `action`; for todos see `todos.py`.  What is cut here is what can be long for no
good (bash, web, generic); everything else is cut by the face, to the width it has.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pi_subagents.core.path_text import shorten_path
from pi_subagents.core.plain_text import one_line, printable, shortened
from pi_subagents.core.value import replace, value
from pi_subagents.view.preview import (
    MIN_WIDTH,
    LineSpan,
    format_bash,
    path_line,
    shortened_line,
    span_line,
)
from pi_subagents.view.todos import todo_indices, todo_items

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.run import events as ev
    from pi_subagents.view.preview import Preview, SpanLine

MAX_TEXT = 500
MAX_NAME = 120
MAX_NUMBER = 10**9
MAX_LISTED = 3

_DIGITS = re.compile(r"[0-9]{1,9}")
_NON_EMPTY = re.compile(r"\S[^\n]*")


@value
class _Given:
    """The arguments of a call, and what their preview depends on."""

    name: str
    arguments: Mapping[str, object]
    cwd: str
    home: str
    width: int

    def text(self, *keys: str) -> str:
        """Return the first usable text."""
        found = (self.arguments.get(key) for key in keys)
        return next((text for each in found if (text := _shown(each))), "")

    def path(self, *keys: str) -> str:
        return self.short(self.text(*keys))

    def short(self, path: str) -> str:
        return shorten_path(path, self.cwd, self.home)

    def is_odd(self, key: str) -> bool:
        """Return whether an argument was given that cannot be shown: then no default is claimed."""
        return self.arguments.get(key) not in (None, "") and not self.text(key)

    def number(self, key: str) -> int | None:
        """Return a whole number as pi would take it: it accepts the digits as text too."""
        found = self.arguments.get(key)
        if isinstance(found, str) and _DIGITS.fullmatch(found):
            return int(found)
        if isinstance(found, bool) or not isinstance(found, int | float):
            return None
        return int(found) if 0 <= found <= MAX_NUMBER and found == int(found) else None


def format_tool_call(call: ev.ToolCall, *, cwd: str, home: str, width: int) -> Preview:
    """Return the preview of a call, at least one line."""
    name = one_line(call.name, MAX_NAME) or "tool"
    if call.arguments is None:  # unknown is not the same as left out: no default is claimed
        return (span_line(name),)
    given = _Given(name, call.arguments, cwd, home, max(width, MIN_WIDTH))
    command = call.arguments.get("command") if call.name == "bash" else None
    if isinstance(command, str):
        return format_bash(command, cwd, home, given.width) or (_generic(given),)
    preview = _PREVIEWS.get(call.name)
    return ((preview(given) if preview else ()) or _generic(given),)


def summarise_result(name: str, text: str) -> SpanLine:
    """Return what `ls` or `find` found, in a few words; nothing for other tools."""
    if name not in ("ls", "find"):
        return ()
    entries, truncated = _entries(text)
    if name == "find":
        words = _figure(len(entries), "match", "matches")
    else:
        dirs = sum(entry.endswith("/") for entry in entries)
        files = len(entries) - dirs
        words = _figure(files, "file") if files else ()
        words += (LineSpan(", "),) if files and dirs else ()
        words += _figure(dirs, "dir") if dirs else ()
    return span_line(*(words or ("(empty)",)), "+" * truncated)


def _figure(count: int, one: str, many: str = "") -> SpanLine:
    words = counted(count, one, many)
    return LineSpan(f"{count}", "added"), LineSpan(words.removeprefix(f"{count}"))


def count_non_empty_lines(text: str) -> int:
    """Return how many lines are not blank, without making a list of them."""
    return sum(1 for _ in _NON_EMPTY.finditer(text))


def counted(count: int, one: str, many: str = "") -> str:
    """Return `1 file`, `2 files`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


_BLANK = LineSpan(" ", "figure")  # before a figure, and gone with it
_NOTHING_FOUND = ("(empty directory)", "No files found matching pattern")  # pi's own words
_CUT = ("limit reached", "more characters")  # the ends of pi's notice and of our journal's


def _entries(text: str) -> tuple[list[str], bool]:
    """Return the lines of a listing, and whether pi (or our journal) says that it cut some."""
    entries = [line for line in text.split("\n") if line.strip()]
    if not entries:
        return [], False
    last = entries[-1]
    if last.startswith("[") and any(words in last for words in _CUT):
        return entries[:-1], True
    return ([] if len(entries) == 1 and last in _NOTHING_FOUND else entries), False


def _shown(found: object) -> str:
    """Return a text on one line, nothing for anything else."""
    return one_line(found, MAX_TEXT) if isinstance(found, str) else ""


def _listed(found: object) -> list[object]:
    """Return a list: models leave out its brackets where it has one item."""
    return found if isinstance(found, list) else [found]


def _generic(given: _Given) -> SpanLine:
    if not given.arguments:
        return span_line(given.name)
    arguments = json.dumps(given.arguments, ensure_ascii=False, separators=(",", ":"))
    # JSON has line ends and tabs escaped already; the other unprintable ones go.
    return span_line(shortened(f"{given.name} {printable(arguments)}", given.width))


def _edit(given: _Given) -> SpanLine:
    path = given.path("path", "file_path")
    edits = _edits(given.arguments)
    if not path or not edits:
        return _about(given, path)
    added = sum(count_non_empty_lines(new) for _, new in edits)
    removed = sum(count_non_empty_lines(old) for old, _ in edits)
    return _about(
        given,
        path,
        LineSpan(f" ({counted(len(edits), 'edit')}) ", "figure"),
        LineSpan(f"+{added}", "added"),
        LineSpan("/", "figure"),
        LineSpan(f"-{removed}", "removed"),
    )


def _about(given: _Given, path: str, *behind: str | LineSpan) -> SpanLine:
    """Preview a call by its path and what is said of it; without a path there is nothing to say."""
    return path_line(f"{given.name} → ", path, *behind) if path else ()


def _edits(arguments: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return old and new text of each replacement, in every form that pi accepts."""
    found = arguments.get("edits")
    if isinstance(found, str):  # some models write the list as text, and pi reads it
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            found = None
    return [
        (edit["oldText"], edit["newText"])
        for edit in [*_listed(found), arguments]
        if isinstance(edit, dict)
        and isinstance(edit.get("oldText"), str)
        and isinstance(edit.get("newText"), str)
    ]


def _write(given: _Given) -> SpanLine:
    path = given.path("path", "file_path")
    content = given.arguments.get("content")
    if not isinstance(content, str):
        return _about(given, path)
    return _about(given, path, _BLANK, LineSpan(f"+{count_non_empty_lines(content)}", "added"))


def _grep(given: _Given) -> SpanLine:
    pattern = given.text("pattern", "query")
    where = given.text("glob") or given.path("path") or "."
    if not pattern or given.is_odd("glob") or given.is_odd("path"):
        return ()
    return _about(given, f"/{pattern}/ → {where}")


def _ls(given: _Given) -> SpanLine:
    return () if given.is_odd("path") else _about(given, given.path("path") or ".")


def _find(given: _Given) -> SpanLine:
    pattern, path = given.text("pattern"), given.path("path")
    if not pattern or given.is_odd("path"):
        return ()
    return _about(given, f"{pattern} in {path}" if path else pattern)


def _read(given: _Given) -> SpanLine:
    path = given.path("path", "file_path")
    offset, limit = given.number("offset"), given.number("limit")
    if limit is None:
        return _about(given, path, "" if offset is None else f":{offset}")
    start = 1 if offset is None else offset  # pi begins at line 1 where no offset is given
    return _about(
        given, path, f":{start}+{limit}", _BLANK, LineSpan(f"({counted(limit, 'line')})", "added")
    )


def _delegate(given: _Given) -> SpanLine:
    tasks = given.arguments.get("tasks")
    if not isinstance(tasks, list):
        return ()
    default = given.arguments.get("profile")
    chosen = [t.get("profile") or default if isinstance(t, dict) else None for t in tasks]
    listed = ", ".join(dict.fromkeys(name for each in chosen if (name := _shown(each))))
    return _said(given, counted(len(tasks), "task") + (f" [{listed}]" if listed else ""))


def _write_todos(given: _Given) -> SpanLine:
    items = todo_items(given.arguments)
    return () if items is None else _said(given, f"{counted(len(items), 'todo')} written")


def _edit_todos(given: _Given) -> SpanLine:
    described = given.text("description")
    action = given.text("action")
    if described or not action:
        return _said(given, described)
    items = todo_items(given.arguments) or []
    texts = [_shown(item.get("text") if isinstance(item, dict) else item) for item in items]
    if listed := ", ".join(text for text in texts if text):
        return _said(given, listed)
    numbers = ",".join(str(n) for n in todo_indices(given.arguments) if abs(n) <= MAX_NUMBER)
    return _said(given, f"{action} [{numbers}]" if numbers else action)


def _lsp_file(given: _Given, behind: str = "") -> SpanLine:
    return _about(given, given.path("file", "path"), behind)


def _lsp_place(given: _Given, behind: str = "") -> SpanLine:
    line, column = given.number("line"), given.number("column")
    place = "" if line is None else f":{line}" if column is None else f":{line}:{column}"
    return _lsp_file(given, place + behind)


def _lsp_refactor(given: _Given) -> SpanLine:
    new_name = given.text("newName")
    return _lsp_place(given, f" → {new_name}" if new_name else "")


def _lint(given: _Given) -> SpanLine:
    lint = replace(given, name="lint")
    files = given.arguments.get("files")
    if not files:
        return _said(lint, "(all)")
    names = [given.short(text) for file in _listed(files) if (text := _shown(file))]
    if len(names) <= MAX_LISTED:
        return _about(lint, ", ".join(names))
    shown = names[: MAX_LISTED - 1]
    return _about(lint, ", ".join(shown), f", ... +{len(names) - len(shown)} more")


def _naming(*keys: str) -> Callable[[_Given], SpanLine]:
    """Preview a call by what one argument says (or lists), at most as wide as asked."""

    def preview(given: _Given) -> SpanLine:
        found = next((given.arguments[key] for key in keys if given.arguments.get(key)), None)
        text = ", ".join(shown for each in _listed(found) if (shown := _shown(each)))
        return shortened_line(_said(given, text), given.width)

    return preview


def _said(given: _Given, text: str) -> SpanLine:
    return span_line(f"{given.name} → {text}") if text else ()


def _name_only(given: _Given) -> SpanLine:
    return span_line(given.name)


_PREVIEWS: Mapping[str, Callable[[_Given], SpanLine]] = {
    "edit": _edit,
    "write": _write,
    "grep": _grep,
    "ls": _ls,
    "find": _find,
    "read": _read,
    "delegate_to_subagents": _delegate,
    "write_todos": _write_todos,
    "edit_todos": _edit_todos,
    "list_todos": _name_only,
    "lsp_diagnostics": _lsp_file,
    "lsp_find_references": _lsp_place,
    "lsp_goto_definition": _lsp_place,
    "lsp_call_hierarchy": _lsp_place,
    "lsp_find_symbol": _naming("query"),
    "lsp_refactor_symbol": _lsp_refactor,
    "lint_files": _lint,
    "fetch_repo": _naming("url"),
    "fetch_content": _naming("url", "urls"),
    "web_search": _naming("query", "queries"),
    "get_subagent_output": _naming("sessionId"),
    "get_subagent_session": _naming("sessionId"),
    "list_subagent_profiles": _name_only,
    "workflow_step": _naming("action"),
}
