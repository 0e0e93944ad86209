"""
The configuration files of hosts: where they are, what is in them, and how a change is saved.

In: a host, a directory, the environment.  Out: a HostChange that says what would be written,
and then its file in place, whole, with the mode it had and a copy of the old one beside it.  Links
are followed; what cannot be understood is left as it is.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import errors
from pi_subagents.core.value import replace, value
from pi_subagents.hosts import entry, messages
from pi_subagents.hosts.catalogue import HOSTS, SERVER_ARGUMENTS, SERVER_NAME, Host
from pi_subagents.system.home import home_dir
from pi_subagents.system.safe_io import (
    PRIVATE_FILE,
    make_private_dirs,
    read_bounded,
    replace_file,
    write_new,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAX_BYTES = 64 * 1024 * 1024  # some hosts keep their history in the same file


@value
class HostChange:
    """What is in a host's file (None: there is no file), and what should be."""

    host: Host
    path: Path
    before: str | None
    after: str | None

    @property
    def is_needed(self) -> bool:
        """Return whether anything has to be written."""
        return self.before != self.after


@value
class Configured:
    """An entry of ours in a host's file, or why that file cannot be read."""

    host: Host
    path: Path
    argv: tuple[str, ...] = ()
    problem: str = ""
    name: str = ""  # under which the host knows it
    project: bool = False  # whether it is in a file of the project


def host_file(
    host: Host,
    cwd: Path,
    env: Mapping[str, str],
    *,
    project: bool = False,
    platform: str = sys.platform,
) -> Path:
    """Return the file in which a host looks for its servers."""
    if project:
        base, names = project_dir(cwd), host.project_files
    else:
        base, names = _user_dir(host, env, platform), host.user_files
    paths = [base / name for name in names]
    return next((path for path in paths if os.path.lexists(path)), paths[0])


def project_dir(cwd: Path) -> Path:
    """Return where hosts look for the files of a project: its repository, else the directory."""
    return next((each for each in (cwd, *cwd.parents) if (each / ".git").exists()), cwd)


def plan_install(host: Host, path: Path, name: str, argv: Sequence[str]) -> HostChange:
    """Return what puts our entry into a file; an entry of somebody else's is refused."""
    before = _read(path)
    try:
        _refuse_foreign(host, path, before or "", name)
        after = entry.with_entry(host, before or "", name, argv)
    except errors.MalformedConfig as error:
        raise errors.HostFileBroken(str(path), error.problem) from error
    except errors.ConfigNotEditable as error:
        raise errors.HostFileNotEditable(
            str(path), error.reason, entry.snippet(host, name, argv)
        ) from error
    return HostChange(host, path, before, after)


def plan_uninstall(host: Host, path: Path, name: str) -> HostChange:
    """Return what takes our entry out of a file; of a file that only we wrote, nothing is left."""
    before = _read(path)
    if before is None:
        return HostChange(host, path, None, None)
    try:
        _refuse_foreign(host, path, before, name)
        change = HostChange(host, path, before, entry.without_entry(host, before, name))
        left_of_ours = entry.without_entry(host, entry.with_entry(host, "", name, ("x",)), name)
    except errors.MalformedConfig as error:
        raise errors.HostFileBroken(str(path), error.problem) from error
    except errors.ConfigNotEditable as error:
        shown = entry.snippet(host, name, (SERVER_NAME, *SERVER_ARGUMENTS))
        raise errors.HostFileNotEditable(str(path), error.reason, shown) from error
    is_ours_alone = change.is_needed and change.after == left_of_ours and not path.is_symlink()
    return replace(change, after=None) if is_ours_alone else change


def apply_change(change: HostChange) -> Path | None:
    """Write what was planned, and return the copy of what was there, if anything was."""
    real = Path(os.path.realpath(change.path))
    try:
        if _read(change.path) != change.before:
            raise errors.HostFileNotSaved(str(change.path), messages.HOST_FILE_CHANGED)
        if change.before is not None and not os.access(real, os.W_OK):
            raise errors.HostFileNotSaved(str(change.path), messages.NOT_WRITABLE)
        backup = _backup(change)
        if change.after is None:
            real.unlink(missing_ok=True)
            return backup
        mode = PRIVATE_FILE
        if change.before is None:
            make_private_dirs(real.parent)
        else:
            mode = stat.S_IMODE(real.stat().st_mode)
        replace_file(real, change.after.encode(), mode)
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise errors.HostFileNotSaved(str(change.path), reason) from error
    return backup


def configured_hosts(cwd: Path, env: Mapping[str, str]) -> Iterator[Configured]:
    """Yield our entries in the files of every host, the user's and this project's."""
    for host in HOSTS.values():
        places = {host_file(host, cwd, env, project=each): each for each in (True, False)}
        for path, project in reversed(places.items()):
            try:
                commands = entry.our_commands(host, _read(path) or "")
            except (errors.MalformedConfig, errors.HostFileBroken) as error:
                yield Configured(host, path, problem=error.problem)
            except errors.HostFileNotSaved as error:
                yield Configured(host, path, problem=error.reason)
            else:
                for name, argv in commands.items():
                    yield Configured(host, path, argv, name=name, project=project)


def program_of(entry: Configured, env: Mapping[str, str]) -> str | None:
    """Return what a host would start, by its path or from PATH; None where that is gone."""
    program = os.path.expanduser(entry.argv[0])  # noqa: PTH111 - text of a file, not yet a path
    return shutil.which(program, path=env.get("PATH", os.defpath))


def starts_this(entry: Configured, env: Mapping[str, str]) -> bool:
    """Return whether a host starts this very installation: of others nothing is known here."""
    program = program_of(entry, env)
    return program is not None and Path(program).resolve().parent == Path(sys.executable).parent


def _user_dir(host: Host, env: Mapping[str, str], platform: str) -> Path:
    place = host.directory
    moved = env.get(place.variable, "") if place.variable else ""
    if platform == "darwin" and place.below_home_on_mac is not None:
        return home_dir(env) / place.below_home_on_mac
    return Path(moved) if Path(moved).is_absolute() else home_dir(env) / place.below_home


def _read(path: Path) -> str | None:
    """Return what is in the file, links followed; None where there is none."""
    try:
        return read_bounded(Path(os.path.realpath(path)), MAX_BYTES).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise errors.HostFileBroken(str(path), messages.NOT_UTF_8) from error
    except OSError as error:
        raise errors.HostFileNotSaved(str(path), error.strerror or str(error)) from error


def _refuse_foreign(host: Host, path: Path, text: str, name: str) -> None:
    there = entry.find_entry(host, text, name)
    if there is not None and not entry.is_our_command(entry.command_of(there)):
        raise errors.HostEntryForeign(name, str(path))


def _backup(change: HostChange) -> Path | None:
    """Copy what is there beside it, under a name that is free."""
    if change.before is None:
        return None
    for number in count(1):
        copy = change.path.with_name(f"{change.path.name}.bak-{number}")
        try:
            write_new(copy, change.before.encode())
        except FileExistsError:
            continue
        return copy
    raise AssertionError  # the numbers do not end
