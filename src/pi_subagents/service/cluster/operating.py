"""
What an operator asks of a cluster: to make it, how it stands, to drain, requeue and prune.

In: the environment and the user's settings, or an address that was typed.  Out: values, and
exceptions of ours; a password is in none of them.  None of it is for sub-agents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.cluster.address import cluster_address, parse_address
from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.value import value
from pi_subagents.errors.cluster import ClusterRunUnknown
from pi_subagents.service.inside import refuse_inside_subagent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.cluster.address import ClusterAddress
    from pi_subagents.cluster.link import ShortLink
    from pi_subagents.cluster.making import MadeCluster

APPLICATION = "subagents cluster"
AT_ONCE = 1000  # runs that one transaction removes


@value
class Requeued:
    """A run, how it stood, and whether it is in the queue now."""

    run_id: str
    was: str
    done: bool


@value
class Pruned:
    """How many of each were removed, or would be."""

    runs: int
    packs: int
    workers: int


class Operator:
    """One cluster, as the user of its address may treat it."""

    def __init__(self, cwd: Path, env: Mapping[str, str], dsn: str = "") -> None:
        refuse_inside_subagent(env)
        settings, _ = load_settings(cwd, env)
        self.address: ClusterAddress = (
            parse_address(dsn, env) if dsn else cluster_address(settings, env)
        )

    def make(self) -> MadeCluster:
        """Make the cluster, or bring its functions up to date."""
        from pi_subagents.cluster.making import make_cluster

        return make_cluster(self.address)

    def overview(self, runs: int) -> dict[str, Any]:
        """Return how the cluster stands, as JSON, with its latest runs."""
        with self._link() as link:
            (row,) = link.call("overview", runs)
        found: dict[str, Any] = row["overview"]
        return found

    def drain(self, worker: str, *, draining: bool) -> list[tuple[str, int]]:
        """Have workers of that name or id take no more runs, or again; return their loads."""
        with self._link() as link:
            rows = link.call("drain", worker, draining)
        if not rows:
            raise ClusterRunUnknown(f"there is no worker {worker}")
        return [(row["id"], row["busy"]) for row in rows]

    def requeue(self, run: str, *, force: bool) -> Requeued:
        """Have a run begun once more, if it may be."""
        with self._link() as link:
            (row,) = link.call("requeue", run, force)
        return Requeued(run_id=row["run_id"], was=row["was"], done=row["done"])

    def prunable(self, days: float) -> Pruned:
        """Return what is old enough to go."""
        with self._link() as link:
            (row,) = link.call("prunable", _interval(days))
        return Pruned(**row)

    def prune(self, days: float) -> Pruned:
        """Remove it, some at a time, so that nobody waits for long."""
        total = Pruned(runs=0, packs=0, workers=0)
        with self._link() as link:
            while True:
                (row,) = link.call("prune", _interval(days), AT_ONCE)
                total = Pruned(
                    runs=total.runs + row["runs"],
                    packs=total.packs + row["packs"],
                    workers=total.workers + row["workers"],
                )
                if row["runs"] < AT_ONCE:
                    return total

    def _link(self) -> ShortLink:
        from pi_subagents.cluster.link import ShortLink

        return ShortLink(self.address, APPLICATION)


def _interval(days: float) -> str:
    return f"{days:f} days"
