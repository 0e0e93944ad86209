"""Run directories made without any process, and every way to damage a file of one."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult
from pi_subagents.service.runs import Runs
from pi_subagents.store.run_log import RunLog
from pi_subagents.store.run_store import new_run_id

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

CREATED_MS = 1_700_000_000_000


@dataclass(frozen=True)
class Site:
    """A project and a home, without a driver: nothing runs here."""

    root: Path

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def data(self) -> Path:
        return self.root / "home" / ".local" / "share" / "pi-subagents"

    @property
    def env(self) -> dict[str, str]:
        return {"HOME": str(self.root / "home"), "PATH": os.defpath}

    def runs(self) -> Runs:
        """Look anew, as another process would."""
        return Runs(self.project, self.env)


def make_site(root: Path) -> Site:
    site = Site(root)
    (site.project / ".pi").mkdir(parents=True)
    (root / "home").mkdir()
    return site


def make_run(
    runs: Runs, name: str, *, finished: bool = True, sealed: bool = True, known: bool = True
) -> RunDir:
    """Leave a run as a process of ours would have left it, finished or lost."""
    runs.store.prepare()
    run = runs.store.run_dir(new_run_id())
    meta = {
        "schemaVersion": 1,
        "runId": run.run_id,
        "sessionId": "0" * 16,
        "name": name,
        "task": "a prompt",
        "createdAt": CREATED_MS,
        "seal": runs.seal(run) if sealed else None,
    }
    lock = run.begin(meta, b"a prompt")
    log = RunLog(run, name)
    log.record(ev.StateChanged("running"), CREATED_MS)
    log.record(ev.AssistantMessage(f"{name} answer", stop_reason="stop"), CREATED_MS)
    log.record(ev.Settled(), CREATED_MS)
    if finished:
        log.record(ev.StateChanged("completed"), CREATED_MS)
    log.close()
    if finished:
        run.write_result(
            RunResult(run.run_id, "0" * 16, name, "completed", f"{name} answer", duration_ms=7)
        )
        run.desk.remove()
    os.close(lock)
    if known:
        runs.index.adopt([run])
    return run


def truncations(path: Path, chance: random.Random, most: int) -> list[tuple[str, bytes]]:
    """Return the file cut at up to `most` places, and always at the telling ones."""
    data = path.read_bytes()
    places = {0, 1, len(data) // 2, len(data) - 2}
    places |= set(chance.sample(range(len(data) - 1), min(most, len(data) - 1)))
    return [(f"cut at {place}", data[:place]) for place in sorted(places)]


def flips(path: Path, chance: random.Random, count: int) -> list[tuple[str, bytes]]:
    """Return the file with one bit turned, that many times."""
    data = path.read_bytes()
    found = []
    for _ in range(count):
        place, bit = chance.randrange(len(data)), 1 << chance.randrange(8)
        turned = bytes([data[place] ^ bit])
        found.append((f"bit {bit} of {place}", data[:place] + turned + data[place + 1 :]))
    return found


def of_version(path: Path, version: object) -> bytes:
    """Return the file as another version of us might have written it."""
    if path.suffix == ".jsonl":
        lines = [{**json.loads(line), "v": version} for line in path.read_bytes().splitlines()]
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return json.dumps({**json.loads(path.read_bytes()), "schemaVersion": version}).encode()


NOT_FILES: dict[str, Callable[[Path, Path], None]] = {
    "a directory": lambda path, _: path.mkdir(),
    "a directory with content": lambda path, _: (path / "inner").mkdir(parents=True),
    "a FIFO": lambda path, _: os.mkfifo(path),
    "a link to a file": lambda path, outside: path.symlink_to(outside / "file"),
    "a link to a directory": lambda path, outside: path.symlink_to(outside),
    "a dangling link": lambda path, outside: path.symlink_to(outside / "missing"),
    "a link to itself": lambda path, _: path.symlink_to(path),
    "a device": lambda path, _: path.symlink_to("/dev/zero"),
}


def replace_by(path: Path, kind: str, outside: Path) -> None:
    """Put something that is no file in the place of a file."""
    path.unlink(missing_ok=True)
    NOT_FILES[kind](path, outside)


def outside_of(root: Path) -> Path:
    """Make a place that no operation on runs may ever touch."""
    outside = root / "outside"
    outside.mkdir()
    (outside / "file").write_text('{"schemaVersion": 1, "status": "completed"}')
    return outside


def remove_all(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
