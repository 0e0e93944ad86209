"""
What every case of the fault suite does after the fault: look from elsewhere, compare, look again.

Programs of ours run as processes of their own here (callers that are killed, looks from another
directory), each in exactly the environment of its place.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakes.driver import PATIENCE_S
from tests.fakes.forked import FORKED

import pi_subagents
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from tests.fakes.workplace import Workplace

    from pi_subagents.core.run.result import RunResult
    from pi_subagents.store.run_dir import RunDir

HERE = Path(__file__).parent
SOURCES = Path(pi_subagents.__file__).parents[1]
INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)"
LEFTOVERS = (".making-", ".removing-")


@asynccontextmanager
async def program(
    place: Workplace,
    name: str,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run one of the programs beside this file; it is gone at the end, whatever happened."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(HERE / name), *arguments),
        env={**place.env, "PYTHONPATH": str(SOURCES), **FORKED, **(env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=before,
    )
    try:
        yield process
    except BaseException as error:
        error.add_note(f"{name} ended with {process.returncode}")
        raise
    finally:
        if process.returncode is None:
            process.kill()
        output, _ = await process.communicate(b"")
        if output:
            print(f"{name} printed: {output.decode(errors='replace')}")


async def output_of(process: asyncio.subprocess.Process) -> str:
    """Return what a program printed, once it has ended."""
    async with asyncio.timeout(PATIENCE_S):
        output, _ = await process.communicate(b"")  # an end of file
    return output.decode()


async def recover_elsewhere(place: Workplace) -> list[str]:
    """Recover in two processes, released together; return what they concluded."""
    elsewhere = place.home / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    async with program(place, "recoverer.py", str(elsewhere)) as process:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n", await process.stdout.read()
        one, other = map(json.loads, (await output_of(process)).splitlines())
        assert process.returncode == 0
    return sorted([*one, *other])


def content(root: Path) -> dict[str, object]:
    """Return everything below a directory: what each entry is, holds, and points to."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        kept: object = None
        if path.is_symlink():
            kept = path.readlink()
        elif path.is_file():
            kept = path.read_bytes()
        found[str(path.relative_to(root))] = (oct(info.st_mode), info.st_ino, kept)
    return found


async def end_of(run: RunDir) -> RunResult | None:
    """Return what a run came to, once nobody answers for it any more."""
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.to_thread(run.desk.wait_for_end, PATIENCE_S)
    return run.read_result()


@dataclass
class Told:
    """What there is to tell of a run after everything."""

    status: str
    error_message: str
    output: str


def told_by_runs(place: Workplace) -> dict[str, Told]:
    """Return how every run of the place stands, by name."""
    found = {}
    for run in place.run_dirs():
        result = run.read_result()
        assert result is not None, f"{run.read_meta()['name']} has no result"
        found[result.name] = Told(result.status, result.error_message, result.output)
    return found


async def recovered(place: Workplace, untouched: RunDir) -> dict[str, Told]:
    """
    Look from elsewhere (two at once), then from the project, then again; tell how it stands.

    Nothing finished may change, one look must be enough, and nobody may be left.
    """
    before = content(untouched.path)
    concluded = await recover_elsewhere(place)
    assert len(set(concluded)) == len(concluded), "two concluded the same run"
    own = [run.run_id for run in Runs(place.project, place.env).recover()]
    assert not set(own) & set(concluded)
    runs_dir = place.store.runs_dir
    after = content(runs_dir)
    assert Runs(place.home / "elsewhere", place.env).recover() == []
    assert Runs(place.project, place.env).recover() == []
    assert content(runs_dir) == after, "a second look changed something"
    assert content(untouched.path) == before, "a finished run was changed"
    return told_by_runs(place)


def remains_in(place: Workplace) -> list[Path]:
    """Return what was being made, or removed, when somebody was killed."""
    entries = place.store.runs_dir.iterdir() if place.store.runs_dir.exists() else []
    return [path for path in entries if path.name.startswith(LEFTOVERS)]
