"""
Bring what workers did since the last look into the directories of their runs.

In: runs that are done in a cluster.  Out: their files and results are here, as far as the cluster
can be reached; where it cannot, that is what each run waits for, and none is concluded.  A run that
another process mirrors is left to that.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from dataclasses import replace as with_fields
from typing import TYPE_CHECKING

from pi_subagents.cluster.address import cluster_address
from pi_subagents.cluster.caller import fetched_now, records_after_now, states_now
from pi_subagents.cluster.link import ShortLink
from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.cluster.state import LOST, QUEUED, RunState
from pi_subagents.errors import SubagentsError
from pi_subagents.runners.messages import cluster_is_away, unknown_to_cluster
from pi_subagents.service.cluster import messages
from pi_subagents.service.cluster.workplaces import accept_changes
from pi_subagents.store.remote.ending import conclude_remote
from pi_subagents.store.remote.mirror import Mirror
from pi_subagents.store.remote.note import read_note, write_wait

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pi_subagents.cluster.address import ClusterAddress
    from pi_subagents.store.run_dir import RunDir

_APPLICATION = "pi-subagents caller"
# Somebody waits for a look: it is to fail soon, and not again at once.
_CONNECT_S = 3
_AWAY_S = 10.0


class _Looks:
    """When this process looked last, and since when there was no answer."""

    def __init__(self) -> None:
        self._last = self._failed = -_AWAY_S

    def is_due(self, every_s: float) -> bool:
        """Return whether it is time for another look."""
        now = time.monotonic()
        return now >= max(self._last + every_s, self._failed + _AWAY_S)

    def note(self, *, failed: bool) -> None:
        """Note that there was one."""
        self._last = time.monotonic()
        self._failed = self._last if failed else -_AWAY_S


_looks = _Looks()


def look_at_cluster(cwd: Path, env: Mapping[str, str]) -> ShortLink:
    """Return a connection to the cluster that is known here; ClusterError without one."""
    address = cluster_address(load_settings(cwd, env)[0], env)
    parts = {"connect_timeout": str(_CONNECT_S), **address.parts}
    return ShortLink(with_fields(address, parts=parts), _APPLICATION)


def refresh(
    run_dirs: Sequence[RunDir], cwd: Path, env: Mapping[str, str], every_s: float = 0
) -> None:
    """Do so for these runs, at most so often in this process."""
    if not _looks.is_due(every_s):
        return
    with ExitStack() as resources:
        opened = [mirror for each in run_dirs if (mirror := Mirror.open(each))]
        for mirror in opened:
            resources.callback(mirror.close)
        if not opened:
            return
        failed = False
        try:
            _bring(opened, resources.enter_context(look_at_cluster(cwd, env)))
        except SubagentsError as error:
            failed = True
            for mirror in opened:
                _note_away(mirror, str(error))
        _looks.note(failed=failed)


def _bring(opened: Sequence[Mirror], look: ShortLink) -> None:
    """Bring everything that is new."""
    found = states_now(look, [mirror.run_dir.run_id for mirror in opened])
    for mirror in opened:
        run_id = mirror.run_dir.run_id
        if run_id not in found and not _is_the_same(mirror, look.address):
            _note_away(mirror, messages.OTHER_CLUSTER)
            continue
        state = found.get(run_id) or _unknown(run_id, look.address)
        with suppress(OSError):  # no room: the next look tries again
            _bring_one(mirror, state, look)


def _bring_one(mirror: Mirror, state: RunState, look: ShortLink) -> None:
    desk = mirror.run_dir.desk
    mirror.note_worker(state)
    while state.attempt:
        after = mirror.after(state.attempt)
        pieces = records_after_now(look, state.run_id, state.attempt, after)
        if not pieces or mirror.write(state.attempt, pieces) == after:
            break
    waits = state.state == QUEUED
    write_wait(desk, messages.waits_for_worker(mirror.note.tag, state.behind) if waits else "")
    if state.is_over:
        conclude_remote(mirror, state, accept_changes)
        desk.clear()
        fetched_now(look, [state.run_id])


def _note_away(mirror: Mirror, why: str) -> None:
    with suppress(OSError):
        write_wait(mirror.run_dir.desk, f"{cluster_is_away(mirror.note.shown)} ({why})")


def _is_the_same(mirror: Mirror, address: ClusterAddress) -> bool:
    note = read_note(mirror.run_dir.desk)
    return note is not None and note.shown == address.shown


def _unknown(run_id: str, address: ClusterAddress) -> RunState:
    """Return how a run stands that was never submitted there, or was removed."""
    reason = unknown_to_cluster(address.shown)
    return RunState(run_id, LOST, 0, "", "", 0, None, reason, 0, None, None, 0)
