"""
Preview one tool call in one line, and sum up the result of `ls` and `find`.

In: a call as the model made it, the child's directory, home, and a width; or a result's text.
Out: printable text.  Arguments may be of any type: what is missing or unusable leaves the generic
form or the bare name, and nothing is made up.  The line has no leading arrow: a face paints `→ `
before it.  Only a bash preview may have several lines.

Argument names are those of pi's own tools and of the extensions that bring the others: `file`,
`line`, `column`, `query`, `newName` (lsp), `files` (lint), `url` or `urls`, `query` or `queries`
(web), `sessionId`, `action`; for todos see `todos.py`.  What is cut here is what can be long for no
good (bash, web, generic); everything else is cut by the face, to the width it has.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pi_subagents.core import bash_preview
from pi_subagents.core.path_text import shorten_path
from pi_subagents.core.plain_text import one_line, printable, shortened
from pi_subagents.core.todos import todo_indices, todo_items
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core import events as ev

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
        """Tell whether an argument was given that cannot be shown: then no default is claimed."""
        return self.arguments.get(key) not in (None, "") and not self.text(key)

    def number(self, key: str) -> int | None:
        """Return a whole number as pi would take it: it accepts the digits as text too."""
        found = self.arguments.get(key)
        if isinstance(found, str) and _DIGITS.fullmatch(found):
            return int(found)
        if isinstance(found, bool) or not isinstance(found, int | float):
            return None
        return int(found) if 0 <= found <= MAX_NUMBER and found == int(found) else None


def format_tool_call(call: ev.ToolCall, *, cwd: str, home: str, width: int) -> str:
    """Return the preview of a call."""
    name = one_line(call.name, MAX_NAME) or "tool"
    if call.arguments is None:  # unknown is not the same as left out: no default is claimed
        return name
    given = _Given(name, call.arguments, cwd, home, max(width, bash_preview.MIN_WIDTH))
    preview = _PREVIEWS.get(call.name)
    return (preview(given) if preview else "") or _generic(given)


def summarise_result(name: str, text: str) -> str:
    """Return what `ls` or `find` found, in a few words; nothing for other tools."""
    if name not in ("ls", "find"):
        return ""
    entries, truncated = _entries(text)
    if name == "find":
        words = counted(len(entries), "match", "matches")
    else:
        dirs = sum(entry.endswith("/") for entry in entries)
        files = len(entries) - dirs
        told = [counted(files, "file")] if files else []
        told += [counted(dirs, "dir")] if dirs else []
        words = ", ".join(told) or "(empty)"
    return words + "+" * truncated


def count_non_empty_lines(text: str) -> int:
    """Return how many lines are not blank, without making a list of them."""
    return sum(1 for _ in _NON_EMPTY.finditer(text))


def counted(count: int, one: str, many: str = "") -> str:
    """Return `1 file`, `2 files`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


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


def _generic(given: _Given) -> str:
    if not given.arguments:
        return given.name
    arguments = json.dumps(given.arguments, ensure_ascii=False, separators=(",", ":"))
    # JSON has line ends and tabs escaped already; the other unprintable ones go.
    return shortened(f"{given.name} {printable(arguments)}", given.width)


def _edit(given: _Given) -> str:
    path = given.path("path", "file_path")
    if not path:
        return ""
    edits = _edits(given.arguments)
    if not edits:
        return f"edit → {path}"
    added = sum(count_non_empty_lines(new) for _, new in edits)
    removed = sum(count_non_empty_lines(old) for old, _ in edits)
    return f"edit → {path} ({counted(len(edits), 'edit')}) +{added}/-{removed}"


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


def _write(given: _Given) -> str:
    path = given.path("path", "file_path")
    content = given.arguments.get("content")
    if not path or not isinstance(content, str):
        return path and f"write → {path}"
    return f"write → {path} +{count_non_empty_lines(content)}"


def _grep(given: _Given) -> str:
    pattern = given.text("pattern", "query")
    where = given.text("glob") or given.path("path") or "."
    if not pattern or given.is_odd("glob") or given.is_odd("path"):
        return ""
    return f"grep → /{pattern}/ → {where}"


def _ls(given: _Given) -> str:
    return "" if given.is_odd("path") else f"ls → {given.path('path') or '.'}"


def _find(given: _Given) -> str:
    pattern, path = given.text("pattern"), given.path("path")
    if not pattern or given.is_odd("path"):
        return ""
    return f"find → {pattern} in {path}" if path else f"find → {pattern}"


def _bash(given: _Given) -> str:
    command = given.arguments.get("command")
    if not isinstance(command, str):
        return ""
    shown = bash_preview.format_bash(command, given.cwd, given.home, given.width)
    return shown and bash_preview.PREFIX + shown


def _read(given: _Given) -> str:
    path = given.path("path", "file_path")
    if not path:
        return ""
    offset, limit = given.number("offset"), given.number("limit")
    if limit is not None:  # pi begins at line 1 when not told otherwise
        start = 1 if offset is None else offset
        return f"read → {path}:{start}+{limit} ({counted(limit, 'line')})"
    return f"read → {path}" + ("" if offset is None else f":{offset}")


def _delegate(given: _Given) -> str:
    tasks = given.arguments.get("tasks")
    if not isinstance(tasks, list):
        return ""
    default = given.arguments.get("profile")
    chosen = [t.get("profile") or default if isinstance(t, dict) else None for t in tasks]
    listed = ", ".join(dict.fromkeys(name for each in chosen if (name := _shown(each))))
    count = counted(len(tasks), "task")
    return f"delegate_to_subagents → {count}" + (f" [{listed}]" if listed else "")


def _write_todos(given: _Given) -> str:
    items = todo_items(given.arguments)
    return "" if items is None else f"write_todos → {counted(len(items), 'todo')} written"


def _edit_todos(given: _Given) -> str:
    described = given.text("description")
    action = given.text("action")
    if described or not action:
        return described and f"edit_todos → {described}"
    items = todo_items(given.arguments) or []
    texts = [_shown(item.get("text") if isinstance(item, dict) else item) for item in items]
    if listed := ", ".join(text for text in texts if text):
        return f"edit_todos → {listed}"
    numbers = ",".join(str(n) for n in todo_indices(given.arguments) if abs(n) <= MAX_NUMBER)
    return f"edit_todos → {action} [{numbers}]" if numbers else f"edit_todos → {action}"


def _lsp_place(given: _Given) -> str:
    line, column = given.number("line"), given.number("column")
    shown = _lsp_file(given)
    if not shown or line is None:
        return shown
    return f"{shown}:{line}" if column is None else f"{shown}:{line}:{column}"


def _lsp_file(given: _Given) -> str:
    file = given.path("file", "path")
    return file and f"{given.name} → {file}"


def _lsp_refactor(given: _Given) -> str:
    place, new_name = _lsp_place(given), given.text("newName")
    return f"{place} → {new_name}" if place and new_name else place


def _lint(given: _Given) -> str:
    files = given.arguments.get("files")
    if not files:
        return "lint → (all)"
    names = [given.short(text) for file in _listed(files) if (text := _shown(file))]
    if len(names) <= MAX_LISTED:
        return "lint → " + ", ".join(names) if names else ""
    shown = names[: MAX_LISTED - 1]
    return f"lint → {', '.join(shown)}, ... +{len(names) - len(shown)} more"


def _naming(*keys: str) -> Callable[[_Given], str]:
    """Preview a call by what one argument says (or lists), at most as wide as asked."""

    def preview(given: _Given) -> str:
        found = next((given.arguments[key] for key in keys if given.arguments.get(key)), None)
        text = ", ".join(shown for each in _listed(found) if (shown := _shown(each)))
        return text and shortened(f"{given.name} → {text}", given.width)

    return preview


def _name_only(given: _Given) -> str:
    return given.name


_PREVIEWS: Mapping[str, Callable[[_Given], str]] = {
    "edit": _edit,
    "write": _write,
    "grep": _grep,
    "ls": _ls,
    "find": _find,
    "bash": _bash,
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
