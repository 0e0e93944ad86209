"""
Set-up of pi: is there one, install the pinned one, remove it, and report on it.

In: the caller's directory and environment.  Out: lines for a person and facts for a script, which
also show the pi that is really used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.engine_values import SetupOutcome
from pi_subagents.engines.pi.command import PI_CHOSEN_BY, resolve_pi_command, shown_words
from pi_subagents.engines.pi.install.managed import install_managed_pi, managed_pi, remove_managed
from pi_subagents.errors import PiCommandUnusable, PiNotFound
from pi_subagents.system import home

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.core.engine_values import Report


def is_installed(cwd: Path, env: Mapping[str, str]) -> bool:
    """Return whether there is a pi that needs no set-up; one that was chosen must be usable."""
    try:
        resolve_pi_command(env, cwd, None)
    except PiNotFound:
        return False
    except PiCommandUnusable as error:
        if error.source != "path":
            raise  # someone chose that command; only a pi that lacks a Node is helped by set-up
        return False
    return True


def install(cwd: Path, env: Mapping[str, str], report: Report, *, force: bool) -> SetupOutcome:
    """Install the pinned pi, or leave it as it is."""
    data_dir = home.data_dir(env)
    before = managed_pi(env, data_dir)
    pi = install_managed_pi(env, data_dir=data_dir, report=report, force=force, cwd=cwd)
    settings, _ = load_settings(cwd, env)  # commands that start children report what is wrong in it
    used = resolve_pi_command(env, cwd, settings.pi_command)
    lines = [f"pi {pi.version} is ready in {pi.directory} (Node {pi.node_version})."]
    if used.source != "managed":
        lines.append(
            f"But {PI_CHOSEN_BY[used.source]} comes first: sub-agents run "
            f"{' '.join(shown_words(used.argv))} (pi {used.version or 'of unknown version'})."
        )
    return SetupOutcome(
        tuple(lines),
        {
            "pi": {
                "source": used.source,
                "version": used.version,
                "command": shown_words(used.argv),
                "managedVersion": pi.version,
                "managedDirectory": str(pi.directory),
            },
            "node": {"path": str(pi.node), "version": pi.node_version},
            "changed": pi != before,
        },
    )


def uninstall(env: Mapping[str, str], report: Report) -> SetupOutcome:
    """Remove the pi and the Node that set-up installed."""
    data_dir = home.data_dir(env)
    removed = [str(path) for path in remove_managed(data_dir, report)]
    line = (
        "Removed. `subagents setup` installs it again."
        if removed
        else f"Nothing to remove in {data_dir}."
    )
    return SetupOutcome((line,), {"removed": removed, "changed": bool(removed)})
