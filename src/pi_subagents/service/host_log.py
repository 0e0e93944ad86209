"""
What the session log of a host tells: the sessions of ended calls, and its background runs.

In: the host's directory and environment, and the entries of its log, of any JSON.  Out: both as
they stand, to be kept up to date while the host's session is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.hosts.pi.session_log import sessions_of_log
from pi_subagents.service.background import Registry
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pi_subagents.core.session.recent import SessionView


@value
class HostLog:
    """The sessions and the background runs that a log tells of."""

    sessions: SessionView
    background: Registry


def open_host_log(cwd: Path, env: Mapping[str, str], entries: Sequence[object]) -> HostLog:
    """Read the entries; background runs are looked for on disk."""
    return HostLog(sessions_of_log(entries), Registry(Runs(cwd, env), entries))
