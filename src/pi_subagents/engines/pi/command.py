"""
Decide which pi is used.

In: an environment, the working directory, the global setting `subagents.pi_command`, and, where pi
itself is the caller, what it runs in.
Out: the command to run.  Order: PI_SUBAGENTS_PI, the setting, the pi that calls, `pi` on PATH, the
managed one.  A configured command runs exactly as written; a program is never taken from inside the
working directory unless it is named by an absolute path.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pi_subagents.core import messages as core_messages
from pi_subagents.core.value import value
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.installed_version import packaged_version
from pi_subagents.engines.pi.versions import PINNED_PI_VERSION, version_text
from pi_subagents.errors import PiCommandUnusable, PiNotFound
from pi_subagents.system import home as user_home
from pi_subagents.system.programs import is_runnable, search_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.engine_values import HostProgram

PiSource = Literal["environment", "settings", "host", "path", "managed"]

VARIABLE = "PI_SUBAGENTS_PI"
# What can choose another pi than the managed one, in the words users know.
PI_CHOSEN_BY = {
    "environment": VARIABLE,
    "settings": "the setting subagents.pi_command",
    "host": "the pi you work in",
    "path": "PATH",
    "managed": "`subagents setup`",
}
HIDDEN = "…"
SHEBANG_BYTES = 256
RUNTIME = re.compile(r"(?:node|nodejs|bun|deno)[\d.-]*")  # runs scripts, and is no pi by itself


@value
class PiCommand:
    """How to start pi, where that was decided, and pi's version if it shows without asking."""

    argv: tuple[str, ...]
    source: PiSource
    version: str | None


def shown_words(argv: Sequence[str]) -> list[str]:
    """Return a command as its owner may see it, without keys: the program, files it was given."""
    program, *words = argv
    safe = [word if word.startswith("/") and Path(word).is_file() else HIDDEN for word in words]
    merged = [word for i, word in enumerate(safe) if word != HIDDEN or safe[i - 1 : i] != [HIDDEN]]
    return [masked(program), *merged]


def masked(word: str) -> str:
    """Return a word without what follows `=`: `KEY=secret pi` is an easy mistake to make."""
    name, equals, _ = word.partition("=")
    return f"{name}{equals}{HIDDEN}" if equals else word


def resolve_pi_command(
    env: Mapping[str, str],
    cwd: Path,
    configured: str | Sequence[str] | None,
    host: HostProgram | None = None,
) -> PiCommand:
    """Return the pi to use; PiCommandUnusable if one that was chosen cannot run, or PiNotFound."""
    from_env = env.get(VARIABLE, "")
    if from_env.strip():
        return _configured(from_env, "environment", env, cwd)
    if configured is not None and not (isinstance(configured, str) and not configured.strip()):
        return _configured(configured, "settings", env, cwd)
    if host is not None and (own := _of_host(host)) is not None:
        return own
    search = search_program("pi", env, cwd)
    if search.found is not None:
        return _on_path(search.found, env, cwd)
    managed = _managed(env, cwd)
    if managed is None:
        raise PiNotFound(PINNED_PI_VERSION, tuple(map(str, search.left_out)))
    return managed


def parse_command(command: str | Sequence[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words of a command, a leading `~/` expanded; ValueError for unmatched quotes."""
    words = shlex.split(command) if isinstance(command, str) else list(command)
    home = str(user_home.home_dir(env))
    return tuple(home + word[1:] if word.startswith("~/") else word for word in words)


def _configured(
    command: str | Sequence[str], source: PiSource, env: Mapping[str, str], cwd: Path
) -> PiCommand:
    shown = command if isinstance(command, str) else shlex.join(command)
    try:
        words = parse_command(command, env)
    except ValueError as error:
        raise _unusable(source, shown, messages.command_not_parsed(str(error))) from error
    if not words or not words[0]:
        raise _unusable(source, shown, messages.COMMAND_EMPTY)
    if any("\0" in word for word in words):
        raise _unusable(source, shown, core_messages.MUST_NOT_HAVE_NULL)
    program = Path(words[0])
    if os.sep not in words[0]:
        search = search_program(words[0], env, cwd)
        if search.found is None:
            inside, absent = messages.COMMAND_INSIDE_CWD, messages.COMMAND_NOT_ON_PATH
            raise _unusable(source, words[0], inside if search.left_out else absent)
        program = search.found
    elif not program.is_absolute():
        raise _unusable(source, words[0], messages.COMMAND_RELATIVE)
    elif not is_runnable(program):
        raise _unusable(source, words[0], messages.COMMAND_NOT_RUNNABLE)
    argv = (str(program), *words[1:])
    return PiCommand(argv, source, packaged_version(argv))


def _unusable(source: PiSource, command: str, reason: str) -> PiCommandUnusable:
    return PiCommandUnusable(source, PI_CHOSEN_BY[source], command, reason)


def _of_host(host: HostProgram) -> PiCommand | None:
    """
    Return the very pi that calls; None if its program is gone, or is not known to be pi.

    A program that merely contains pi would start itself once more, whatever that does: a script
    counts only inside a package of pi.  A compiled pi has no script on this disk.
    """
    program = Path(host.program)
    if not program.is_absolute() or not is_runnable(program):
        return None
    argv: tuple[str, ...] = (host.program,)
    if _is_script(host.script, program):
        argv += (host.script,)
        is_pi = packaged_version(argv[1:]) is not None
    else:
        is_pi = RUNTIME.fullmatch(program.name) is None
    version = packaged_version(argv) or host.version or None
    return PiCommand(argv, "host", version) if is_pi else None


def _is_script(script: str, program: Path) -> bool:
    """Return whether a word is a file that a program can be given to run."""
    try:
        path = Path(script)
        return path.is_absolute() and path.is_file() and not path.samefile(program)
    except (OSError, ValueError):
        return False


def _on_path(found: Path, env: Mapping[str, str], cwd: Path) -> PiCommand:
    argv: tuple[str, ...] = (str(found),)
    if is_node_script(found) and not _env_finds_good_node(env, cwd):
        from pi_subagents.engines.pi.install import node

        data_dir = user_home.data_dir(env)
        good = node.find_node(env, cwd, data_dir, needs_npm=False)
        if good is None:
            needs_node = messages.command_needs_node(version_text(node.MINIMUM))
            raise _unusable("path", str(found), needs_node)
        argv = (str(good.node), os.path.realpath(found))
    return PiCommand(argv, "path", packaged_version(argv))


def _managed(env: Mapping[str, str], cwd: Path) -> PiCommand | None:
    from pi_subagents.engines.pi.install import managed as managed_pi
    from pi_subagents.engines.pi.install import node

    data_dir = user_home.data_dir(env)
    pi = managed_pi.installed_pi(data_dir)
    if pi is None:
        return None
    if is_runnable(pi.node):
        return PiCommand(pi.argv, "managed", pi.version)
    # Its Node was uninstalled; `subagents setup` would note the new one for good.
    good = node.find_node(env, cwd, data_dir, needs_npm=False)
    return PiCommand((str(good.node), *pi.argv[1:]), "managed", pi.version) if good else None


def shebang(script: Path) -> list[str]:
    """Return the words of a script's first line; none where there is no such line."""
    try:
        with script.open("rb") as stream:
            first = stream.read(SHEBANG_BYTES).split(b"\n")[0]
    except OSError:  # executable, but not readable: no script
        return []
    return os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []


def is_node_script(program: Path) -> bool:
    """Return whether a program is a script that asks `env` for Node."""
    words = [word for word in shebang(program) if word != "-S"]
    return words[1:2] == ["node"] and words[0].endswith("/env")


def _env_finds_good_node(env: Mapping[str, str], cwd: Path) -> bool:
    search = search_program("node", env, cwd)
    if search.found is None or search.left_out:
        # `env node` would take the one inside the working directory.
        return False
    from pi_subagents.engines.pi.install import node

    version = node.node_version(search.found, env)
    return version is not None and version >= node.MINIMUM
