#!/usr/bin/env python3
"""
Measure the house: is it in order, and which way is it going?

    python scripts/measures.py               the table
    python scripts/measures.py --where       with every place that counts, to work it off

In: the sources beside this script.  Out: one line per measure: what it was before the rebuild,
what it is now, what it is to be.  Needs Python and nothing else (the way of a request is left out
where our own dependencies are not installed).  `scripts/update_docs.py` puts the table into
docs/architecture.md, and tests/test_architecture.py holds what is reached.  The rules:

- A file *knows pi* if, docstrings and comments aside, it has one of: an import of `engines/pi`;
  the literal "pi"; an option of its command line; the name of a record or command of its protocols;
  a file, directory or environment variable of pi's; words that it says; a name of ours with `pi` as
  a word in it.  Not counted are the engine itself and the side
  of pi as a host (`PI_HOMES`), words for users (a literal with a space in it), and `MAY_KNOW`.
- *Root modules* are the Python files directly in the package, *flat files* those of one folder
  without its `__init__`.
- An *import circle* is modules that import each other when run, imports inside functions counted;
  rooms (the folders of the package) form one also by imports for types.
- A *name defined twice* is a type (a class or an alias) of one name in several modules.
- A *shape of a run* is a class that says which run it is about (`WHICH_RUN`) and has at least five
  fields that are named as a run's facts are (`RUN_FACTS`).
- A *table of tools* is a dict, list, tuple, set or match of which at least three entries and at
  least half name tools of ours.
- The *functions to the supervisor* are the steps of `scripts/trip.py`, which says what one is.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from scripts import trip  # noqa: E402 - it is a script too
from scripts.source_tree import (  # noqa: E402 - it is a script too
    PACKAGE,
    Tree,
    circles,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The engine, and pi as a host: the extension's files, its bridge, the verb for them.
PI_HOMES = (
    "engines/pi/",
    "hosts/pi/",
    "faces/bridge/",
    "faces/cli/machine/install_pi.py",
)
MAY_KNOW = {
    "engines/table.py": {"pi"},  # the one line that names it
    # pi behind another program's protocol; an option of that name of another agent
    "engines/acp/agents/codex.py": {".codex/auth.json"},
    "engines/acp/agents/opencode.py": {".local/share/opencode/auth.json"},
    "engines/acp/agents/pi_acp.py": {
        "pi",
        ".pi",
        ".pi/agent/auth.json",
        "PI_SKIP_VERSION_CHECK",
        "PI_TELEMETRY",
    },
    "engines/acp/agents/qwen.py": {"--exclude-tools"},
    # what children end with, explained to people
    "view/failure.py": {"No API key found"},
    # what is contract, or about pi as a host: a setting, exceptions, an extension, a command
    "core/settings.py": {"pi_command"},
    "service/doctor/bug_report.py": {"pi_command"},
    "service/doctor/examination.py": {"PI_EXTENSION", "check_pi_extension", "pi_host"},
    "service/machine/pi_extension.py": {"PiExtension"},
    "service/tools/offer.py": {"pi_context"},
    "errors/setup.py": {"PiCommandUnusable", "PiNotFound", "PiPackageNotChanged"},
    "faces/cli/machine/install.py": {"PI", "install_pi"},
    # what tools say that pi's children have; their previews are contract
    "view/toolcall.py": {"(empty directory)", "No files found matching pattern"},
    "engines/offline/answers.py": {"Offset \\d+ is beyond", "(no tool output)"},
    # the verb that starts it for a person
    "faces/cli/main.py": {"pi"},
    "faces/cli/machine/pi.py": {"pi"},
    # changes to it are named before they are taken
    "core/workspace/changes.py": {".pi"},
    # our own settings, profiles, presets and runs are kept in pi's directories
    "system/home.py": {".pi", "PI_AGENT_DIR", "PI_CODING_AGENT_DIR"},
}
PI_OPTIONS = {
    "--append-system-prompt", "--exclude-tools", "--extension", "--list-models", "--mode",
    "--model", "--models", "--no-builtin-tools", "--no-context-files", "--no-extensions",
    "--no-mcp", "--no-prompt-templates", "--no-session", "--no-skills", "--no-themes",
    "--no-tools", "--provider", "--session", "--session-dir", "--session-id", "--skill",
    "--system-prompt", "--thinking", "--tools",
}  # fmt: skip
# `subagents` has options of the same names: on its own command line they are ours.
OUR_COMMAND_LINE = "faces/cli/"
PI_RECORDS = {
    "abort_retry", "agent_end", "agent_settled", "agent_start", "auto_retry_end",
    "auto_retry_start", "clear_queue", "compaction_end", "compaction_start", "extension_error",
    "extension_ui_request", "extension_ui_response", "follow_up", "get_available_models",
    "get_commands", "get_session_stats", "get_state", "message_end", "message_start",
    "message_update", "new_session", "queue_update", "set_model", "switch_session",
    "tool_execution_end", "tool_execution_start", "tool_execution_update", "toolResult",
    "turn_end", "turn_start",
}  # fmt: skip
PI_FILES = re.compile(
    r"(?:^|/)(?:\.pi|auth\.json|models\.json|models-store\.json|trust\.json|(?:APPEND_)?SYSTEM\.md)(?:/|$)"
    r"|^PI_(?:CODING_)?AGENT_DIR$|^PI_(?:OFFLINE|TELEMETRY|SKIP_\w+|API_KEY)$|@earendil-works|pi-coding-agent"
)
PI_PHRASES = (
    "No API key found", "(empty directory)", "No files found matching pattern",
    "(no tool output)", "No models available", "Offset \\d+ is beyond",
)  # fmt: skip
PI_NAME = re.compile(r"(?:^|_)(?:pi|PI)(?:_|$)|(?:^|_)Pi(?=[A-Z]|$)")
WORDS_FOR_USERS = "messages.py"
RUN_FACTS = {
    "run_id", "session_id", "name", "task", "profile", "preset", "cwd", "run_dir", "directory",
    "path", "status", "output", "error_message", "notes", "exit_code", "stop_reason", "model",
    "usage", "created_ms", "created_at_ms", "started_at_ms", "finished_at_ms", "ended_ms",
    "duration_ms", "meta", "result", "detached", "background", "child", "limits", "place",
    "title",
}  # fmt: skip
WHICH_RUN = {"run_id", "run_dir", "title"}
FACTS_OF_A_SHAPE = 5
TOOLS_OF_A_TABLE = 3
MAX_ROOT, MAX_FLAT, MAX_LINES, RUN_SHAPES, MAX_STEPS = 5, 25, 400, 3, 25


@dataclass(frozen=True)
class Measure:
    """One line of the table."""

    name: str
    first: str
    now: int
    target: int | None
    where: list[str] = field(default_factory=list)
    shown: str = ""  # for people, where a number alone says too little


def measures(tree: Tree) -> list[Measure]:
    """Return every measure of the house."""
    pi = knows_pi(tree)
    root = [path.name for path in tree.package.glob("*.py")]
    folders = sorted(
        (len(list(folder.glob("*.py"))) - 1, folder.relative_to(tree.package).as_posix())
        for folder in {path.parent for path in tree.files} - {tree.package}
    )
    cycles = [" ".join(each) for each in tree.cycles()]
    rooms = circles(room_imports(tree))
    twice = {name: homes for name, homes in tree.type_names().items() if len(homes) > 1}
    shapes = [f"{place}: {', '.join(facts)}" for place, facts in run_shapes(tree).items()]
    tables = tool_tables(tree)
    sizes = sorted(
        (text.count("\n"), path.relative_to(tree.package).as_posix())
        for path, text in tree.texts.items()
    )
    lines = sum(size for size, _ in sizes)
    return [
        Measure("files that know pi outside its folders", "47", len(pi), 0, pi),
        Measure("modules at the package's root", "18", len(root), MAX_ROOT, sorted(root)),
        Measure("files in the fullest folder", "78", folders[-1][0], MAX_FLAT, [folders[-1][1]]),
        Measure("import circles of modules", "1", len(cycles), 0, cycles),
        Measure(
            "rooms that import each other",
            "0",
            sum(map(len, rooms)),
            0,
            [" ".join(each) for each in rooms],
        ),
        Measure(
            "type names defined twice",
            "25",
            len(twice),
            0,
            [f"{name}: {', '.join(homes)}" for name, homes in twice.items()],
        ),
        Measure("shapes of a run", "10", len(shapes), RUN_SHAPES, shapes),
        Measure("tables of tools", "6", len(tables), 1, tables),
        Measure("fields of `RunSpec`, groups among them", "28", len(fields(tree, "RunSpec")), None),
        Measure(
            "keys of the largest group of `Options`", "17", largest_group(tree, "Options"), None
        ),
        Measure("lines of the longest file", "398", sizes[-1][0], MAX_LINES, [sizes[-1][1]]),
        Measure(
            "lines of `src`, and files",
            "41,648 in 347",
            lines,
            None,
            shown=f"{round(lines, -2):,} in {round(len(sizes), -1)}",
        ),
    ]


def knows_pi(tree: Tree) -> list[str]:
    """Return the files that know pi, each with what it knows."""
    found = {}
    for module in tree.modules:
        place = tree.place(module)
        if not place.startswith(PI_HOMES):
            known = sorted(
                {
                    *_imports_of_pi(tree, module),
                    *_words_of_pi(tree, module),
                    *_names_of_pi(tree, module),
                }
            )
            if known:
                found[place] = known
    return [f"{place}: {', '.join(known)}" for place, known in sorted(found.items())]


def _imports_of_pi(tree: Tree, module: str) -> Iterator[str]:
    home = f"{PACKAGE}.engines.pi"
    for name in tree.imports(module):
        if name == home or name.startswith(f"{home}."):
            yield name.removeprefix(f"{PACKAGE}.")


def _words_of_pi(tree: Tree, module: str) -> Iterator[str]:
    place = tree.place(module)
    for node in words(tree.parsed[module]):
        word = str(node.value)
        yield from (
            f'"{phrase}"'
            for phrase in PI_PHRASES
            if phrase in word.replace("\\(", "(").replace("\\)", ")")
            and phrase not in MAY_KNOW.get(place, ())
        )
        option = word in PI_OPTIONS and not place.startswith(OUR_COMMAND_LINE)
        if (option or word == "pi" or word in PI_RECORDS or PI_FILES.search(word)) and (
            " " not in word and word not in MAY_KNOW.get(place, ())
        ):
            yield f'"{word}"'


def _names_of_pi(tree: Tree, module: str) -> Iterator[str]:
    """Yield what a module names itself; what it only imports or reads, another one names."""
    place = tree.place(module)
    if not place.endswith(WORDS_FOR_USERS):
        for node in ast.walk(tree.parsed[module]):
            name = _named(node)
            if PI_NAME.search(name) and name not in MAY_KNOW.get(place, ()):
                yield name


def _named(node: ast.AST) -> str:
    match node:
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
            return name
        case ast.Name(name, ast.Store()) | ast.arg(name) | ast.keyword(arg=str(name)):
            return name
    return ""


def room_imports(tree: Tree) -> dict[str, set[str]]:
    """Return which rooms a room imports from; the root's own modules are rooms of their own."""
    graph: dict[str, set[str]] = {}
    for module in tree.modules:
        graph.setdefault(room(module), set()).update(room(each) for each in tree.imports(module))
    return {here: {other for other in others if other != here} for here, others in graph.items()}


def room(module: str) -> str:
    """Return the folder of the package that a module is in; the package itself is its API."""
    return module.removeprefix(PACKAGE).lstrip(".").split(".")[0] or "api"


def run_shapes(tree: Tree) -> dict[str, list[str]]:
    """Return the classes that hold a run's facts, with those that they hold."""
    held = {
        place: [name for name in names if name in RUN_FACTS] for place, names in tree.fields.items()
    }
    return {
        place: facts
        for place, facts in held.items()
        if len(facts) >= FACTS_OF_A_SHAPE and WHICH_RUN.intersection(facts)
    }


def fields(tree: Tree, name: str) -> tuple[str, ...]:
    """Return the fields of the class of a name."""
    return next((names for place, names in tree.fields.items() if place.endswith(f":{name}")), ())


def largest_group(tree: Tree, name: str) -> int:
    """Return how many fields the largest of a class and its bases has: they are its groups."""
    (made,) = (
        node
        for parsed in tree.parsed.values()
        for node in parsed.body
        if isinstance(node, ast.ClassDef) and node.name == name
    )
    bases = [base.id for base in made.bases if isinstance(base, ast.Name)]
    return max(len(fields(tree, each)) for each in (name, *bases))


def tool_tables(tree: Tree) -> list[str]:
    """Return the places that list our tools."""
    tools = {
        tool["name"]
        for tool in json.loads((tree.package / "pi_extension" / "tools.json").read_text("utf-8"))[
            "tools"
        ]
    }
    constants = {
        node.targets[0].id
        for parsed in tree.parsed.values()
        for node in parsed.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and node.value.value in tools
    }
    return [
        f"{tree.place(module)}:{node.lineno}"
        for module, parsed in tree.parsed.items()
        for node in ast.walk(parsed)
        if isinstance(node, (ast.expr, ast.stmt))
        and len(_tools_named(node, tools, constants)) >= TOOLS_OF_A_TABLE
    ]


def _tools_named(node: ast.AST, tools: set[str], constants: set[str]) -> set[str]:
    """Return the tools that the entries of a table name; none where there is no table."""
    entries: list[ast.AST] = []
    if isinstance(node, ast.Dict):
        entries = [key for key in node.keys if key]
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        entries = [
            each.args[0] if isinstance(each, ast.Call) and each.args else each for each in node.elts
        ]
    elif isinstance(node, ast.Match):
        entries = [
            case.pattern.value for case in node.cases if isinstance(case.pattern, ast.MatchValue)
        ]
    named = set()
    for entry in entries:
        if isinstance(entry, ast.Constant) and entry.value in tools:
            named.add(str(entry.value))
        elif isinstance(entry, ast.Name) and entry.id in constants:
            named.add(entry.id)
        elif isinstance(entry, ast.Attribute) and entry.attr in constants:
            named.add(entry.attr)
    return named if 2 * len(named) >= len(entries) else set()


def way(counted: tuple[int, int, int]) -> Measure:
    """Return the length of the trip that `scripts/trip.py` has followed."""
    functions, files, returns = counted
    return Measure(
        "functions from `subagents run` to its supervisor",
        "35 in 18 files, 14 returns",
        functions,
        MAX_STEPS,
        shown=f"{functions} in {files} files, {returns} returns",
    )


def rows(found: list[Measure]) -> list[tuple[str, str, str, str]]:
    """Return the table's rows: measure, first house, now, target."""
    return [
        (
            each.name,
            each.first,
            each.shown or str(each.now),
            "" if each.target is None else f"{'≤ ' if each.target else ''}{each.target}",
        )
        for each in found
    ]


def table(found: list[Measure]) -> str:
    """Return the measures as a Markdown table."""
    lines = ["| measure | first house | now | target |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows(found))])


def main(arguments: list[str], say: Callable[[str], object] = sys.stdout.write) -> int:
    """Print the measures of the tree this script stands in."""
    found = measures(Tree())
    if find_spec("click"):
        found.append(way(trip.counted(trip.trip())))
    printed = [("measure", "first house", "now", "target"), *rows(found)]
    widths = [max(len(row[column]) for row in printed) for column in range(4)]
    for row, each in zip(printed, [None, *found], strict=True):
        say(
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            + "\n"
        )
        if each and "--where" in arguments:
            say("".join(f"    {place}\n" for place in each.where))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
