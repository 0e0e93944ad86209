"""
Measure what we promise: start-up, supervisor, delegation, events, display, store, watch,
worktrees, clusters, models, other agents.

    make bench                                   a table
    python benchmarks/run.py --write-docs        the table in docs/performance.md too
    python benchmarks/run.py --quick --only store

Medians over rounds that take both sides in turn; nothing asserts.  Writes into a temporary
directory only, with a home of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import tempfile
from pathlib import Path

import acp_start
import against_xargs
import cluster_cost
import display_cost
import event_path
import machine
import many_tasks
import mcp_start
import model_lists
import page_cost
import pi_start
import pi_stream
import pi_versions
import real_work
import report
import start_up
import store_scan
import supervisor_cost
import watch_cost
import worktree_cost
from measuring import Place, progress

from pi_subagents.core.value import replace
from pi_subagents.engines.pi.command import resolve_pi_command

PARTS = {
    "start-up": start_up.measure,
    "mcp": mcp_start.measure,
    "pi": pi_start.measure,
    "versions": pi_versions.measure,
    "stream": pi_stream.measure,
    "supervisor": supervisor_cost.measure,
    "delegation": against_xargs.measure,
    "work": real_work.measure_few,
    "work-many": real_work.measure_many,
    "many": many_tasks.measure,
    "events": event_path.measure,
    "display": display_cost.measure,
    "store": store_scan.measure,
    "watch": watch_cost.measure,
    "page": page_cost.measure,
    "worktrees": worktree_cost.measure,
    "cluster": cluster_cost.measure,
    "models": model_lists.measure,
    "acp": acp_start.measure,
}


def main() -> None:
    """Measure, then print."""
    parser = argparse.ArgumentParser(description="Measure what we promise; nothing asserts.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="two small rounds of everything")
    parser.add_argument("--sample", action="store_true", help="the least that runs all of its code")
    parser.add_argument("--rounds", type=_rounds, help="so many rounds where a part has rounds")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part (repeatable)")
    parser.add_argument(
        "--write-docs", action="store_true", help="rewrite these tables in docs/performance.md"
    )
    options = parser.parse_args()
    chosen = options.only or list(PARTS)
    if options.write_docs and (options.quick or options.sample):
        parser.error("--write-docs wants all rounds")
    with tempfile.TemporaryDirectory(prefix="subagents-bench-") as scratch:
        place = _place(Path(scratch), quick=options.quick, sample=options.sample)
        place = replace(place, own_rounds=options.rounds)
        measured_on = machine.describe(place.env, place.project)
        figures = [figure for name in chosen for figure in PARTS[name](_own(place, name))]
    progress("done")
    if options.json:
        print(json.dumps(report.as_json(figures, measured_on)))
    else:
        print(report.as_text(figures, measured_on))
    if options.write_docs:
        report.write_document(figures, measured_on, whole=not options.only)


def _rounds(text: str) -> int:
    rounds = int(text)
    if rounds < 1:
        raise argparse.ArgumentTypeError("at least one round")
    return rounds


def _place(path: Path, *, quick: bool, sample: bool) -> Place:
    """Return a place whose runs, settings and pi state are nobody else's."""
    pi = resolve_pi_command(os.environ, Path.cwd(), None)  # before the home is another one
    project, home = path / "project", path / "home"
    (project / ".pi").mkdir(parents=True)
    home.mkdir()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PI_", "XDG_"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # what is compiled once stays compiled for a user
    env = {**kept, "HOME": str(home), "PI_SUBAGENTS_PI": shlex.join(pi.argv)}
    return Place(path, project, env, quick or sample, sample)


def _own(place: Place, name: str) -> Place:
    """Return the same place with a directory of its own: parts may call their files alike."""
    path = place.path / name
    path.mkdir()
    return replace(place, path=path)


if __name__ == "__main__":
    main()
