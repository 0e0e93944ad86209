#!/usr/bin/env python3
"""
Follow one request through the house: which functions `subagents run` passes before a child starts.

    python scripts/trip.py            print the trip, as docs/architecture.md shows it

A real `subagents run --offline` is made in a directory of its own and watched until it asks its
fork server for the supervisor, which is not let happen.  A *step* is a function of the rooms that
decide (`WALKS`) that another file calls, from the verb's own function on; where such a file calls a
function of any other room, it *asks* below.  Helpers inside a file, class bodies and imports are no
steps.  A file that is entered again after another one is a *return*.
Needs the package's own dependencies and nothing else; `scripts/update_docs.py` writes the page.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGE = str(SOURCE / "pi_subagents")
WALKS = ("faces/", "api.py", "service/", "runners/")
FIRST = ("faces/cli/work/run.py", "run")
REQUEST = ("run", "--offline", "Say hello")
OPTIMIZED = 1  # the flag of a function's code; a class body has none
PATIENCE_S = 60
PI = "print('1.5.0')\n"  # nobody gets as far as to start it


@dataclass
class Stop:
    """One file on the way: the functions by which it is entered, and what it asks of others."""

    file: str
    functions: list[str] = field(default_factory=list)
    asks: dict[str, list[str]] = field(default_factory=dict)


def trip() -> list[Stop]:
    """Return the files on the way, in the order in which they are entered."""
    stops: list[Stop] = []
    for place, name, caller in recorded():
        if place.startswith(WALKS):
            if not stops or stops[-1].file != place:
                stops.append(Stop(place))
            stops[-1].functions.append(name)
        elif asking := [stop for stop in stops if stop.file == caller]:
            asking[-1].asks.setdefault(place, []).append(name)
    return stops


@cache
def recorded() -> tuple[tuple[str, str, str], ...]:
    """Make the request in a fresh home; return each function once, with the file that called it."""
    with tempfile.TemporaryDirectory() as place:
        home, project = Path(place, "home"), Path(place, "project")
        home.mkdir()
        (project / ".pi").mkdir(parents=True)  # whatever is above it is another project
        pi = Path(place, "pi.py")
        pi.write_text(PI, "utf-8")
        done = subprocess.run(
            [sys.executable, "-I", str(Path(__file__).resolve()), "--record"],
            cwd=project,
            env={
                "HOME": str(home),
                "TMPDIR": place,
                "PATH": os.defpath,
                "PI_SUBAGENTS_PI": f"{sys.executable} {pi}",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
    if done.returncode:
        raise SystemExit(f"the request never came to its supervisor:\n{done.stderr}")
    return tuple((place, name, caller) for place, name, caller in json.loads(done.stdout))


def record() -> NoReturn:
    """Be the request: watch every call of ours, and print them where the supervisor would start."""
    sys.path.insert(0, str(SOURCE))
    from pi_subagents.faces.cli.main import main

    passed: dict[tuple[str, str], str] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        here = (_place(frame), code.co_qualname)
        begun = bool(passed) or here == FIRST
        if not begun or here in passed or not _is_step(frame):
            return
        caller = frame.f_back
        while caller and not caller.f_code.co_filename.startswith(PACKAGE):
            caller = caller.f_back
        came_from = _place(caller) if caller else ""
        if came_from != here[0]:
            passed[here] = came_from

    def stop_at_the_supervisor(event: str, _: tuple[object, ...]) -> None:
        if event == "socket.sendmsg":
            sys.setprofile(None)
            found = [(*here, caller) for here, caller in passed.items()]
            os.write(1, json.dumps(found).encode())
            os._exit(0)

    sys.addaudithook(stop_at_the_supervisor)
    threading.setprofile(watch)
    sys.setprofile(watch)
    main(list(REQUEST))
    sys.exit("no supervisor was started")


def _place(frame: FrameType) -> str:
    return Path(frame.f_code.co_filename).relative_to(PACKAGE).as_posix()


def _is_step(frame: FrameType) -> bool:
    """Tell functions from class bodies, comprehensions, and what runs because of an import."""
    code = frame.f_code
    if not code.co_flags & OPTIMIZED or code.co_name.startswith("<"):
        return False
    above: FrameType | None = frame
    while above and above.f_code.co_name != "_find_and_load":
        above = above.f_back
    return above is None


def counted(stops: list[Stop]) -> tuple[int, int, int]:
    """Return how many functions in how many files, and how many returns."""
    files = {stop.file for stop in stops}
    return sum(len(stop.functions) for stop in stops), len(files), len(stops) - len(files)


def picture(stops: list[Stop]) -> str:
    """Return the trip as Markdown: its length, and a table of the files on the way."""
    functions, files, returns = counted(stops)
    lines = [
        f"{functions} functions in {files} files, {returns} returns.",
        "",
        "| file | entered by | asks |",
        "|---|---|---|",
    ]
    for stop in stops:
        asks = "; ".join(
            f"{file.removesuffix('.py')}: {_names(names)}" for file, names in stop.asks.items()
        )
        lines.append(f"| `{stop.file}` | {_names(stop.functions)} | {asks} |")
    return "\n".join(lines)


def _names(names: list[str]) -> str:
    shown = (name.replace(".<locals>", "").removesuffix(".__init__") for name in names)
    return ", ".join(f"`{name}`" for name in shown)


if __name__ == "__main__":
    if "--record" in sys.argv:
        record()
    sys.stdout.write(picture(trip()) + "\n")
