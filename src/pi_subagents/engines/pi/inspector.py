"""
Start pi so that no signal opens Node's debugger in it.

Any process that may signal a Node can have it listen for a debugger (SIGUSR1), and whatever talks
to that runs code in it.  One task could so leave code behind for the next task of a shared child.
In: a command that starts pi.  Out: the same with the debugger closed, or None where that cannot be
known: a compiled pi, a wrapper in a shell, a Node too old.  Such a child is not shared.

The option stands in the arguments and not in NODE_OPTIONS, which every Node that the child itself
starts would inherit, older ones that do not know it among them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.engines.pi.command import shebang
from pi_subagents.engines.pi.installed_version import find_node_version
from pi_subagents.system.programs import is_runnable, search_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.engines.pi.install.node import NodeVersion

CLOSED = "--disable-sigusr1"
NODE_OPTIONS = "NODE_OPTIONS"
OPEN = "--inspect"
_NODE = re.compile(r"node(js)?[-.\d]*")


def with_closed_inspector(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path
) -> tuple[str, ...] | None:
    """Return the command with Node's debugger closed; None where it cannot be."""
    words = _as_node(argv, env, cwd)
    if words is None or OPEN in " ".join((*words, env.get(NODE_OPTIONS, ""))):
        return None
    version = find_node_version(Path(words[0]), env)
    if version is None or not _knows_the_option(version):
        return None
    return (words[0], CLOSED, *words[1:]) if CLOSED not in words else words


def _as_node(argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> tuple[str, ...] | None:
    """Return the command as `node ... script ...`; None if it is not that."""
    program = Path(argv[0])
    if _is_node(program):
        return tuple(argv) if len(argv) > 1 else None
    interpreter = shebang(program)
    if interpreter and Path(interpreter[0]).name == "env":
        interpreter = [word for word in interpreter[1:] if word != "-S"]
        search = search_program(interpreter[0], env, cwd) if interpreter else None
        if search is None or search.found is None or search.left_out:
            return None  # what `env` would take is none of ours to guess
        interpreter[0] = str(search.found)
    if not interpreter or not _is_node(Path(interpreter[0])):
        return None
    return (*interpreter, *argv)


def _is_node(program: Path) -> bool:
    """Return whether a program is called like Node, by its own name or that of its file."""
    names = (program.name, os.path.basename(os.path.realpath(program)))  # noqa: PTH119 - a name
    return is_runnable(program) and any(_NODE.fullmatch(name) for name in names)


def _knows_the_option(version: NodeVersion) -> bool:
    return version >= (23, 7, 0) or (22, 14, 0) <= version < (23, 0, 0)
