"""
Turn what is wanted into one call of a real tool of the child.

In: an Ask and the names of the child's tools.  Out: a ScriptedCall, or the tool that is missing.
Pure.  Every operand is quoted, every command reads only, names what failed by its exit code,
and prints a bounded amount.
"""

from __future__ import annotations

import json
import re
import shlex

from pi_subagents.core.offline.script import ScriptedCall
from pi_subagents.core.value import value
from pi_subagents.engines.offline import asks
from pi_subagents.system.home import PROJECT_DIR

LEFT_OUT = (".git", PROJECT_DIR, ".venv", "node_modules", "__pycache__")
MAX_LINES = 100
TIMEOUT_S = 60
DEFAULT_FIRST_LINES = 200

# reads to the end, unlike head: no broken pipe, and the last line is the true total
_BOUNDED = f"awk 'NR <= {MAX_LINES} {{ print substr($0, 1, 300) }} END {{ print NR \" in all\" }}'"
# headings outside of fenced code, each with its file
_HEADINGS = (
    "awk 'FNR == 1 { code = 0 } /^ *(```|~~~)/ { code = !code; next } "
    '!code && /^##* / { print FILENAME ": " $0 }\''
)
_UNITS = {"line": "-l", "word": "-w", "character": "-m"}


@value
class ToolMissing:
    """The child does not have the tool that this would take."""

    tool: str


def plan_call(ask: asks.Ask, tools: frozenset[str]) -> ScriptedCall | ToolMissing:
    """Return the tool call that finds the answer."""
    if isinstance(ask, asks.ReadFile):
        limit = ask.first_lines or DEFAULT_FIRST_LINES
        return _call("read", {"path": ask.path, "limit": limit}, tools)
    if isinstance(ask, asks.AskSomebody):
        return _call("ask_parent", {"question": ask.question}, tools)
    command = f"set -o pipefail; {command_for(ask)}"
    return _call("bash", {"command": command, "timeout": TIMEOUT_S}, tools)


def command_for(ask: asks.AskForCommand) -> str:
    """Return the shell command; it fails (with pipefail) when any of its parts fails."""
    match ask:
        case asks.ListFolder(path):
            if is_glob(path):
                return f"ls -1Apd {operand(path)} | {_BOUNDED}"
            # with the slash, a file is refused instead of listed as its own content
            return f"ls -1Ap {operand(path.rstrip('/') + '/')} | {_BOUNDED}"
        case asks.FindFiles(kind, path, count_only):
            found = _find(path, kind, "-print")
            return f"{found} | wc -l" if count_only else f"{found} | sort | {_BOUNDED}"
        case asks.CountText(unit, kind, path):
            return f"{_contents(path, kind, 'cat')} | wc {_UNITS[unit]}"
        case asks.SearchText(needle, path, kind, count_only):
            found = _grep(needle, path, kind)
            return f"{found} | wc -l" if count_only else f"{found} | {_BOUNDED}"
        case asks.Headings(path):
            return f"{_contents(path, None, _HEADINGS, markdown=True)} | {_BOUNDED}"


def operand(path: str) -> str:
    """Quote a path for the shell; only * and ? stay alive, and it never looks like an option."""
    if path.startswith("-") or ("=" in path and not path.startswith(("/", "."))):
        path = f"./{path}"  # find and awk would read it as an option or an assignment
    parts = re.split(r"([*?]+)", path)
    quoted = (part if index % 2 else shlex.quote(part) for index, part in enumerate(parts) if part)
    return "".join(quoted) or "."


def is_glob(path: str) -> bool:
    """Return whether a path stands for several."""
    return re.search("[*?]", path) is not None


def _call(
    tool: str, arguments: dict[str, object], tools: frozenset[str]
) -> ScriptedCall | ToolMissing:
    return ScriptedCall(tool, json.dumps(arguments)) if tool in tools else ToolMissing(tool)


def _find(path: str, kind: asks.AskKind | None, action: str, *, markdown: bool = False) -> str:
    tests = [f"-name {shlex.quote(pattern)}" for pattern in (kind.patterns if kind else ())]
    if markdown:
        tests = ["-name '*.md'", f"-path {shlex.quote(path)}"]  # the second: the path is a file
    which = f"\\( {' -o '.join(tests)} \\)" if len(tests) > 1 else "".join(tests)
    what = "-type f"
    if kind and kind.folders:  # the folder itself is no folder in the folder
        what = f"-type d ! -path {shlex.quote(path)}"
    pruned = " -o ".join(f"-name {name}" for name in left_out(path))
    parts = (f"find -H {operand(path)} \\( {pruned} \\) -prune -o {what}", which, action)
    return " ".join(part for part in parts if part)


def _contents(path: str, kind: asks.AskKind | None, program: str, *, markdown: bool = False) -> str:
    """Run a program over the files a path stands for: itself, a glob, or all below a folder."""
    name = path.rstrip("/").rpartition("/")[2]
    if kind is None and ("." in name.lstrip(".") or is_glob(path)):
        return f"{program} {operand(path)}"
    return _find(path, kind, f"-exec {program} {{}} +", markdown=markdown)


def _grep(needle: str, path: str, kind: asks.AskKind | None) -> str:
    pruned = " ".join(f"--exclude-dir={name}" for name in left_out(path))
    only = "".join(f" --include={shlex.quote(name)}" for name in (kind.patterns if kind else ()))
    # 1 means "no match", which is an answer; only 2 is a failure
    search = f"grep -rnIHF {pruned}{only} -e {shlex.quote(needle)} {operand(path)}"
    return f"{{ {search} || [ $? -eq 1 ]; }}"


def left_out(path: str) -> tuple[str, ...]:
    """Leave out what nobody means, unless it is the very folder that was asked for."""
    return tuple(name for name in LEFT_OUT if name != path.rstrip("/").rpartition("/")[2])
