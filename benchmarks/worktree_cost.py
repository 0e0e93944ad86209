"""
What a worktree costs in a large repository: its snapshot, its making and ending, and four at work.

The yardstick is git alone: `git worktree add` of the same commit, and `git worktree remove` after.
Ours also proves what it made, keeps the index, saves the patch of one changed file and applies it
once.  Then four tasks of the real pi with worktrees beside four that share the checkout: each time
a fresh process, all with one scripted model.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from delegate_tasks import CONCURRENCY
from measuring import (
    Figure,
    Place,
    Target,
    cost_of,
    interleaved,
    progress,
    project_of_printers,
    ratios,
    timed_ms,
)
from scripted_model import scripted_model

from pi_subagents.core.value import replace
from pi_subagents.engines.offline.provider import URL_VARIABLE
from pi_subagents.engines.pi.command import resolve_pi_command
from pi_subagents.engines.pi.invocation import QUIET
from pi_subagents.engines.pi.offline import pi_arguments
from pi_subagents.workspaces.concluding import conclude_worktree
from pi_subagents.workspaces.snapshot import take_snapshot
from pi_subagents.workspaces.worktree import Worktree, make_worktree, verify_worktree

if TYPE_CHECKING:
    from collections.abc import Mapping


SCRIPT = [{"text": "done", "repeat": True}]
OURS = (sys.executable, str(Path(__file__).with_name("delegate_tasks.py")))
_PER_DIRECTORY = 100
_AUTHOR = ("-c", "user.name=Bench", "-c", "user.email=bench@localhost")


def measure(place: Place) -> list[Figure]:
    """Return what each step takes, beside git alone."""
    count = place.amount(50_000, 5_000, 200)
    section = f"Worktrees of {count:,} files"
    top = project_of_printers(place.path / "repository")
    progress(f"{section}: making the repository")
    _make_repository(top, count, place.env)
    return [*_steps(place, top, section), *_at_work(place, top, section)]


def _steps(place: Place, top: Path, section: str) -> list[Figure]:
    homes = iter(place.path / f"home-{number}" for number in range(10_000))
    bare = place.path / "bare"
    snapshot = take_snapshot(top, next(homes), place.env)
    ended: dict[str, list[float]] = {"git": [], "us": []}

    def by_git() -> float:
        took = timed_ms(
            partial(_git, top, place.env, "worktree", "add", "--detach", "-q", str(bare))
        )
        (bare / "d0" / "f0.txt").write_text("changed\n")
        gone = ("worktree", "remove", "--force", str(bare))
        ended["git"].append(timed_ms(partial(_git, top, place.env, *gone)))
        return took

    def by_us() -> float:
        worktree = Worktree(snapshot, os.urandom(8).hex())
        run_dir = place.path / "runs" / worktree.run_id
        run_dir.mkdir(parents=True)
        took = timed_ms(partial(_made, worktree, place.env))
        (worktree.path / "d0" / "f0.txt").write_text("changed\n")
        ended["us"].append(timed_ms(partial(conclude_worktree, worktree, run_dir, place.env)))
        return took

    def clean() -> float:
        return timed_ms(lambda: take_snapshot(top, next(homes), place.env))

    adding, making, clean_name = "git worktree add", "ours: made and proved", "snapshot, clean tree"
    sides = {adding: by_git, making: by_us, clean_name: clean}
    times = interleaved(place.rounds(5), sides, section)
    rounds = len(times[adding])
    removed, saved = ended["git"][-rounds:], ended["us"][-rounds:]
    whole_git = [one + two for one, two in zip(times[adding], removed, strict=True)]
    whole_us = [one + two for one, two in zip(times[making], saved, strict=True)]
    return [
        Figure(section, clean_name, "ms", times[clean_name], Target(150)),
        Figure(section, adding, "ms", times[adding]),
        Figure(section, making, "ms", times[making]),
        Figure(section, f"{making}, ratio", "x", ratios(times[making], times[adding]), Target(1.5)),
        Figure(section, "git worktree remove", "ms", tuple(removed)),
        Figure(section, "ours: changes saved, then removed", "ms", tuple(saved)),
        Figure(section, "both together, ratio", "x", ratios(whole_us, whole_git), Target(1.5)),
    ]


def _made(worktree: Worktree, env: Mapping[str, str]) -> None:
    make_worktree(worktree, env)
    verify_worktree(worktree, worktree.cwd, env)


def _at_work(place: Place, top: Path, section: str) -> list[Figure]:
    pi = resolve_pi_command(place.env, place.project, None).argv
    count = place.amount(CONCURRENCY, CONCURRENCY, 1)
    shared, separate = "four tasks that share the checkout", "four tasks with worktrees"
    with scripted_model(SCRIPT, place.env) as url_of:
        env = {
            **place.env,
            **QUIET,
            URL_VARIABLE: url_of("bench"),
            "PI_SUBAGENTS_PI": shlex.join((*pi, *pi_arguments())),
        }
        placed = replace(place, project=top, env=env)

        def worked(mode: str) -> float:
            settings = {"subagents": {"workspace": mode, "child_mode": "json"}}
            (top / ".pi" / "settings.json").write_text(json.dumps(settings))
            with Path(os.devnull).open("wb") as nothing:
                return cost_of((*OURS, str(count)), placed, stdout=nothing).wall_ms

        sides = {shared: partial(worked, "shared"), separate: partial(worked, "worktree")}
        times = interleaved(place.rounds(3), sides, f"{section}: four at work")
    added = tuple((b - a) / count for a, b in zip(times[shared], times[separate], strict=True))
    return [
        Figure(section, shared, "ms", times[shared]),
        Figure(section, separate, "ms", times[separate]),
        Figure(section, "what each of the four adds", "ms", added),
    ]


def _make_repository(top: Path, count: int, env: Mapping[str, str]) -> None:
    _git(top, env, "init", "-q", "-b", "main")
    (top / ".gitignore").write_text(".pi/\n")
    for number in range(count):
        place = top / f"d{number // _PER_DIRECTORY}"
        if number % _PER_DIRECTORY == 0:
            place.mkdir()
        (place / f"f{number % _PER_DIRECTORY}.txt").write_text(f"file {number}\n" * 20)
    _git(top, env, "add", "-A")
    _git(top, env, *_AUTHOR, "commit", "-qm", "files")
    _git(top, env, "status", "--short")


def _git(top: Path, env: Mapping[str, str], *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=top, env=dict(env), check=True, capture_output=True)
