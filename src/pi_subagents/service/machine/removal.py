"""
Leave a machine in good order: which hosts would be left with a program that goes away.

In: the caller's directory and environment.  Out: our entries in the files of hosts that start this
installation or nothing at all, pi's extension among them, each of which can be taken out.  Those of
other installations, and of projects elsewhere, are none of our business.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.errors import RunsAtWork
from pi_subagents.hosts.files import (
    apply_change,
    configured_hosts,
    plan_uninstall,
    program_of,
    starts_this,
)
from pi_subagents.hosts.pi.extension import (
    HOST_NAME,
    extension_dir,
    named_packages,
    pi_settings_file,
)
from pi_subagents.service.machine.pi_extension import PiExtension
from pi_subagents.service.runs import Runs
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pi_subagents.hosts.files import Configured


@value
class EntryOfOurs:
    """Where a host is told to start us."""

    host: str  # by the name that `install` knows
    title: str  # for people
    path: Path
    project: bool  # whether it is in a file of the project
    take_out: Callable[[], None]  # SubagentsError where that is impossible


def entries_of_ours(cwd: Path, env: Mapping[str, str]) -> list[EntryOfOurs]:
    """Return every entry that would point, or points, at a program that is gone."""
    return [*_servers(cwd, env), *_extensions(cwd, env)]


def place_of_children(env: Mapping[str, str]) -> str:
    """Return the directory from which set-up's work is removed."""
    return str(data_dir(env))


def refuse_while_at_work(cwd: Path, env: Mapping[str, str]) -> None:
    """Raise RunsAtWork where a run of this user is active, wherever it is."""
    runs = Runs(cwd, env)
    if not runs.index.path.exists():  # a look would make one
        return
    runs.recover()
    active = sum(run.now().alive() for run in runs.index.not_ended())
    if active:
        raise RunsAtWork(active)


def _servers(cwd: Path, env: Mapping[str, str]) -> Iterator[EntryOfOurs]:
    for each in configured_hosts(cwd, env):
        if not each.problem and (starts_this(each, env) or program_of(each, env) is None):
            take_out = partial(_take_out, each)
            yield EntryOfOurs(each.host.name, each.host.title, each.path, each.project, take_out)


def _extensions(cwd: Path, env: Mapping[str, str]) -> Iterator[EntryOfOurs]:
    for project in (False, True):
        settings = pi_settings_file(cwd, env, project=project)
        ours = named_packages(settings, env).ours
        if any(path == extension_dir() or not path.is_dir() for path in ours):
            take_out = partial(_uninstall_extension, cwd, env, project=project)
            yield EntryOfOurs(HOST_NAME, HOST_NAME, settings, project, take_out)


def _take_out(entry: Configured) -> None:
    apply_change(plan_uninstall(entry.host, entry.path, entry.name))


def _uninstall_extension(cwd: Path, env: Mapping[str, str], *, project: bool) -> None:
    PiExtension(cwd, env, project=project).remove()
