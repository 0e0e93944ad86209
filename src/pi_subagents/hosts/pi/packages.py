"""
Have pi load our extension, or no longer: through pi's own package commands.

In: which pi, where.  Out: what its settings say afterwards; PiPackageNotChanged where they do not
say what was asked for.  pi's exit code is no proof: it is 0 even when nothing could be written.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from pi_subagents.config.settings_files import MAX_SETTINGS_BYTES, load_settings
from pi_subagents.core.plain_text import printable
from pi_subagents.core.value import value
from pi_subagents.engines.pi.command import resolve_pi_command
from pi_subagents.engines.pi.invocation import QUIET
from pi_subagents.engines.pi.trust import is_trusted
from pi_subagents.errors import PiPackageNotChanged
from pi_subagents.hosts.jsonc_edit import parse_jsonc, set_value
from pi_subagents.hosts.pi.extension import (
    NamedPackages,
    copy_of_ours,
    extension_dir,
    named_packages,
    pi_settings_file,
    remember_interpreter,
)
from pi_subagents.system.safe_io import read_bounded, replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LIMIT_S = 60.0  # a cold disk; normally half a second
_SHOWN_LINES = 12


@value
class PiScope:
    """Whose settings: the user's own, or those of the project at `cwd`."""

    pi: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    project: bool = False

    @property
    def settings(self) -> Path:
        """The file that pi changes."""
        return pi_settings_file(self.cwd, self.env, project=self.project)

    @property
    def is_trusted(self) -> bool:
        """Return whether pi loads what the project itself configures."""
        return is_trusted(self.cwd, self.env)


def scope_of(cwd: Path, env: Mapping[str, str], *, project: bool) -> PiScope:
    """Return the settings that are meant, and the pi that is to change them."""
    settings, _ = load_settings(cwd, env)
    pi = resolve_pi_command(env, cwd, settings.pi_command)
    return PiScope(pi.argv, cwd, env, project)


def install_extension(scope: PiScope) -> NamedPackages:
    """Make pi load the extension of this Python, and no other copy of it."""
    remember_interpreter(scope.env)
    own = extension_dir()
    for other in named_packages(scope.settings, scope.env).ours:
        if other != own:
            _run(scope, "remove", other)
    said = _run(scope, "install", own)
    return _verified(scope, (own,), said)


def uninstall_extension(scope: PiScope) -> bool:
    """Make pi load no copy of the extension; return whether it did before."""
    named = named_packages(scope.settings, scope.env)
    said = [line for each in named.ours for line in _run(scope, "remove", each)]
    _verified(scope, (), said)
    return bool(named.ours)


def forget_extension(scope: PiScope) -> bool:
    """Do the same where no pi is left that could: its entry in `packages` goes, nothing else."""
    named = named_packages(scope.settings, scope.env)
    if not named.ours:
        return False
    path = scope.settings.resolve()
    text = read_bounded(path, MAX_SETTINGS_BYTES).decode()
    content = parse_jsonc(text)
    assert isinstance(content, dict)  # which named_packages has read
    kept = [
        each
        for each in content["packages"]
        if copy_of_ours(each, scope.settings, scope.env) is None
    ]
    replace_file(path, set_value(text, ("packages",), kept).encode())
    _verified(scope, (), ())
    return True


def package_command(scope: PiScope, verb: str, folder: Path) -> list[str]:
    """Return the command that makes pi change its settings."""
    # Whoever asks for a change of the project's settings means it: pi would ask for trust.
    where = ("-l", "--approve") if scope.project else ()
    return [*scope.pi, verb, str(folder), *where]


def _run(scope: PiScope, verb: str, folder: Path) -> list[str]:
    """Let pi change its settings, and return what it said about it."""
    try:
        done = subprocess.run(
            package_command(scope, verb, folder),
            cwd=scope.cwd,
            env={**scope.env, **QUIET},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [str(error)]
    return printable(done.stdout.decode("utf-8", "replace")).splitlines()


def _verified(scope: PiScope, wanted: tuple[Path, ...], said: Sequence[str]) -> NamedPackages:
    named = named_packages(scope.settings, scope.env)
    if named.problem or named.ours != wanted:
        raise PiPackageNotChanged(str(scope.settings), named.problem, tuple(said[-_SHOWN_LINES:]))
    return named
