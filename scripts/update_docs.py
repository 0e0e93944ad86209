#!/usr/bin/env python3
"""
Write the generated parts of the documents: docs/cli.md, docs/errors.md, docs/architecture.md's.

    python scripts/update_docs.py            rewrite what is out of date
    python scripts/update_docs.py --check    change nothing, exit 1 if anything is

In: the live `--help` of every verb and of what is below it, every exception and message, the first
sentence of every module's docstring, the measures of the house, and one request on its way.
Needs the package's own dependencies and nothing else.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "pi_subagents"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
CLI = ROOT / "docs" / "cli.md"
ERRORS = ROOT / "docs" / "errors.md"
PI_TOOLS = PACKAGE / "pi_extension" / "tools.json"
PI_PACKAGE = PACKAGE / "pi_extension" / "package.json"
PI_CHANGELOG = PACKAGE / "pi_extension" / "CHANGELOG.md"
CHANGELOG = ROOT / "CHANGELOG.md"
HELP_WIDTH = 80
# As a request meets them, the public face first.
ROOMS = (
    "",
    "errors",
    "api",
    "faces",
    "service",
    "runners",
    "cluster",
    "supervisor",
    "engines",
    "hosts",
    "store",
    "workspaces",
    "config",
    "system",
    "view",
    "core",
)

CLI_HEAD = """\
# The command line

Written by `scripts/update_docs.py` from the live `--help`; do not edit it by hand.

## What a run is called

Every command, tool parameter and Python function that asks for a run or a session takes

- the id of a run or of a session, whole or its first characters, from anywhere on this machine;
- the name of a task, if one session of this project (or one background run) has it; of a task
  without a name, how its prompt begins, as it is listed (also where that ends in an `…`);
- `last`: the newest run of this project.

Where a run is asked for, a session means its run at work, or its latest; where a session is asked
for, a run means its session. What could mean several is refused, with a list of them. Screens show
the first eight characters of an id, JSON all of it. A task without a name of its own is listed by
the beginning of its prompt.

`--all` means one thing: everything, without a limit or a filter. `watch --everywhere` lists all
projects.

## How runs stand

| | | in JSON and the run directory |
|---|---|---|
| `○` | waiting | `planned` |
| `●` | running | `starting`, `running` |
| `◌` | stopping | `stopping` |
| `✓` | completed | `completed` |
| `⚠` | completed, without an answer | `completed` |
| `✗` | failed | `failed` |
| `■` | stopped: somebody asked for it | `aborted` |
| `!` | interrupted: its caller or its supervisor went away | `interrupted` |
"""

PI_CHANGELOG_HEAD = """\
# Changelog

What each release changed; pi shows it after an update. Written by `scripts/update_docs.py`; do not
edit it by hand.
"""
RELEASED = re.compile(r"## \[?\d+\.\d+\.\d+\]?(?!\S)")
LOCAL_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]+\)")


def first_sentence(docstring: str) -> str:
    """Return the first sentence of a docstring on one line."""
    paragraph = " ".join(docstring.strip().split("\n\n")[0].split())
    found = re.match(r".+?[.!?](?=\s|$)", paragraph)
    return found[0] if found else paragraph


def modules_table() -> str:
    """Return a Markdown table: every module and its first sentence."""
    lines = ["| module | what it is for |", "|---|---|"]
    for path in sorted(PACKAGE.rglob("*.py"), key=_place):
        docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        sentence = first_sentence(docstring).replace("|", "\\|")
        name = path.relative_to(PACKAGE).as_posix()
        if name.endswith("/__init__.py"):
            lines.append(f"| **`{name.removesuffix('__init__.py')}`** | **{sentence}** |")
        else:
            lines.append(f"| `{name}` | {sentence} |")
    return "\n".join(lines)


def architecture_page() -> str:
    """Return docs/architecture.md with its generated parts as they should be."""
    from scripts import measures, trip
    from scripts.source_tree import Tree

    tree = Tree()
    way = trip.trip()
    parts = {
        "rooms": rooms_table(measures.room_imports(tree)),
        "trip": trip.picture(way),
        "measures": measures.table([*measures.measures(tree), measures.way(trip.counted(way))]),
        "modules": modules_table(),
    }
    page = ARCHITECTURE.read_text("utf-8")
    for name, wanted in parts.items():
        page = with_part(page, name, wanted)
    return page


def rooms_table(imports: Mapping[str, set[str]]) -> str:
    """Return a Markdown table: every room, what it is for and what it imports."""
    lines = ["| room | holds | imports |", "|---|---|---|"]
    for name in ROOMS[1:]:
        home = PACKAGE / f"{name}.py"
        path = home if home.is_file() else PACKAGE / name / "__init__.py"
        sentence = first_sentence(ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "")
        others = sorted(imports[name].intersection(ROOMS), key=ROOMS.index)
        shown = name if home.is_file() else f"{name}/"
        lines.append(f"| `{shown}` | {sentence} | {', '.join(others)} |")
    return "\n".join(lines)


def with_part(page: str, name: str, wanted: str) -> str:
    """Return a page with what stands between `<!-- name -->` and `<!-- /name -->` replaced."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise SystemExit(f"{ARCHITECTURE} lacks {begin} or {end}")
    return f"{before}{begin}\n{wanted}\n{end}{after}"


def cli_page() -> str:
    """Return docs/cli.md as it should be."""
    from pi_subagents.faces.cli.main import group

    parts = [CLI_HEAD]
    for words in commands(group):
        heading = "###" if len(words) > 1 else "##"
        title = " ".join(["subagents", *words])
        parts.append(f"{heading} {title}\n\n```text\n{help_of(words)}\n```\n")
    return "\n".join(parts)


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words that lead to a command and to all below it, in the order of its help."""
    yield words
    if not isinstance(command, click.Group):
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from commands(below, (*words, name))


def help_of(words: Sequence[str]) -> str:
    """Return what `subagents WORDS --help` prints on a terminal of a fixed width."""
    from pi_subagents.faces.cli.main import group

    _forget_help(group, words)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        group.main(
            args=[*words, "--help"],
            prog_name="subagents",
            standalone_mode=False,
            terminal_width=HELP_WIDTH,
        )
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())


def _forget_help(command: click.Command, words: Sequence[str]) -> None:
    """Let every command on the way make its help option anew: click keeps that of the first use."""
    command._help_option = None  # noqa: SLF001 - there is no public way
    if words and isinstance(command, click.Group):
        below = command.get_command(click.Context(command), words[0])
        assert below is not None
        _forget_help(below, words[1:])


def errors_page() -> str:
    """Return docs/errors.md as it should be."""
    from scripts import errors_advice
    from scripts import errors_page as page

    from pi_subagents import errors

    return page.errors_page(errors, page.message_modules(PACKAGE), errors_advice.ADVICE)


def pi_tools() -> str:
    """Return pi_extension/tools.json as it should be."""
    from pi_subagents.faces.bridge.extension_tools import tools_to_json

    return json.dumps(tools_to_json(), indent=2, ensure_ascii=False) + "\n"


def pi_package() -> str:
    """Return pi_extension/package.json as it should be: pi tells an update by its version."""
    from pi_subagents._version import __version__

    wanted = f'"version": "{__version__}"'
    return re.sub(r'"version": "[^"]*"', wanted, PI_PACKAGE.read_text("utf-8"), count=1)


def pi_changelog(changelog: str) -> str:
    """
    Return pi_extension/CHANGELOG.md as it should be: what pi shows after an update.

    Only what was released: pi would show an entry that is newer than the package at every start.
    Links into this repository lead nowhere from there.
    """
    released = [part for part in re.split(r"(?m)^(?=## )", changelog) if RELEASED.match(part)]
    text = "\n".join([PI_CHANGELOG_HEAD, *(part.strip() + "\n" for part in released)])
    return LOCAL_LINK.sub(r"\1", text)


def pages() -> dict[Path, str]:
    """Return every generated page as it should be."""
    return {
        CLI: cli_page(),
        ERRORS: errors_page(),
        ARCHITECTURE: architecture_page(),
        PI_TOOLS: pi_tools(),
        PI_PACKAGE: pi_package(),
        PI_CHANGELOG: pi_changelog(CHANGELOG.read_text("utf-8")),
    }


def main(arguments: list[str]) -> int:
    """Bring the documents up to date, or only tell whether they are."""
    sys.path[:0] = [str(SOURCE), str(ROOT)]
    stale = False
    for path, wanted in pages().items():
        if path.is_file() and path.read_text("utf-8") == wanted:
            continue
        stale = True
        sys.stdout.write(f"out of date: {path.relative_to(ROOT)}\n")
        if "--check" not in arguments:
            path.write_text(wanted, "utf-8")
    return 1 if stale and "--check" in arguments else 0


def _place(path: Path) -> tuple[int, tuple[str, ...], bool, str]:
    """Sort by room, then by folder, the folder's own `__init__` first."""
    relative = path.relative_to(PACKAGE)
    room = relative.parts[0].removesuffix(".py")
    index = ROOMS.index(room) if room in ROOMS else 0
    return index, relative.parts[:-1], path.name != "__init__.py", path.name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
