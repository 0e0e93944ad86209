"""
Every way to have a call of the part *Real work* done: one small function each.

In: a call.  Out: its wall time, and the processor time of all processes that were started for it.
Where a main agent delegates, the wall time is that from the end of its writing to the answer, and
the processor time its own as well.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from main_agent import JSON_MODE, main_agent, walls_ms
from measuring import start
from whole_cost import Peaks, cpu_ms_of, peaks_of
from work_calls import AT_ONCE

from pi_subagents.engines.pi.command import resolve_pi_command
from pi_subagents.hosts.pi.extension import extension_dir

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping, Sequence

    from measuring import Place
    from work_calls import Call

    Took = tuple[dict[str, float], float]

XARGS, BARE, SHELL = "xargs", "bare RPC", "shell"
HOST, BARE_SECOND = "warm host, second call", "bare RPC, second call"
PI, REFERENCE = "inside pi, cold", "reference, cold"
LIVE, REFERENCE_LIVE = "inside pi, live", "reference, live"
SECOND, REFERENCE_SECOND = "inside pi, second call", "reference, second call"
WORKTREES, SECOND_WORKTREES = "in worktrees, live", "in worktrees, second call"
# Those of a main agent that calls twice have a figure for each call.
SECOND_OF = {
    LIVE: SECOND,
    WORKTREES: SECOND_WORKTREES,
    REFERENCE_LIVE: REFERENCE_SECOND,
}
RPC_MODE = ("--mode", "rpc", "--no-session", "--no-approve")
COMMAND = (sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()")
PYTHON = (sys.executable, str(Path(__file__).with_name("delegate_work.py")))
BARE_RPC = (sys.executable, "-I", "-S", str(Path(__file__).with_name("bare_rpc.py")))


class Ways:
    """All of them, on one model, in places of their own."""

    def __init__(
        self, place: Place, warm_place: Place, repository: Place, reference: Path | None
    ) -> None:
        self._place, self._warm_place = place, warm_place
        self._pi = resolve_pi_command(place.env, place.project, None).argv
        self._out, self._err = place.path / "work.out", place.path / "work.err"
        ours = str(extension_dir())
        self._by_side: Mapping[str, Callable[[Call], dict[str, float]]] = {
            XARGS: self._by_xargs,
            BARE: self._by_bare_rpc,
            BARE_SECOND: self._by_warm_bare_rpc,
            SHELL: self._by_shell,
            HOST: self._by_warm_host,
            PI: partial(self._by_main_agent, ours),
            LIVE: partial(self._by_live_agent, ours, place),
            WORKTREES: partial(self._by_live_agent, ours, repository),
        }
        self._extensions = {PI: ours}
        if reference is not None:
            self._by_side = {
                **self._by_side,
                REFERENCE: partial(self._by_main_agent, str(reference)),
                REFERENCE_LIVE: partial(self._by_live_agent, str(reference), place),
            }
            self._extensions[REFERENCE] = str(reference)

    @property
    def sides(self) -> tuple[str, ...]:
        """Return the ways there are here."""
        return tuple(self._by_side)

    def run(self, call: Call) -> Took:
        """Have the call done to its end; a task that fails ends the measurement."""
        return cpu_ms_of(partial(self._by_side[call.side], call))

    def peaks(self, call: Call, side: str) -> Peaks:
        """Have the call done while the memory of its processes is looked at."""
        argv: Sequence[str]
        if side in self._extensions:
            argv = main_agent(self._place, self._extensions[side], call.main_prompt())
        elif side == BARE:
            argv = self._bare_rpc()
        else:
            argv = self._shell(call)
        with self._file(call.prompts()).open("rb") as given:
            process = self._started(argv, given.fileno())
            peaks = peaks_of(process)
        if process.returncode != 0:
            raise RuntimeError(f"{side} ended with {process.returncode}: {self._told()}")
        return peaks

    def _by_xargs(self, call: Call) -> dict[str, float]:
        session = ("setsid",) if shutil.which("setsid") else ()
        argv = ("xargs", "-0", "-n1", f"-P{AT_ONCE}", *session, *self._pi, *JSON_MODE)
        walls = self._timed(call, argv)
        answered = self._out.read_bytes().count(b'"type":"agent_settled"')
        if answered != call.count:
            raise RuntimeError(f"xargs: {answered} of {call.count} answered")
        return walls

    def _by_bare_rpc(self, call: Call) -> dict[str, float]:
        return self._timed(call, self._bare_rpc())

    def _by_warm_bare_rpc(self, call: Call) -> dict[str, float]:
        self._timed(call, self._bare_rpc(calls=2), prompts=_twice(call))
        return {call.side: json.loads(self._out.read_bytes())["wallMs"]}

    def _by_shell(self, call: Call) -> dict[str, float]:
        return self._timed(call, self._shell(call))

    def _by_warm_host(self, call: Call) -> dict[str, float]:
        files = [
            self._json_file(call.prompts(what), f"{name}.json")
            for name, what in (("measured", "work"), ("before", "earlier work"))
        ]
        self._timed(call, (*PYTHON, *map(str, files)), place=self._warm_place)
        return {call.side: json.loads(self._out.read_bytes())["wallMs"]}

    def _by_main_agent(self, extension: str, call: Call) -> dict[str, float]:
        argv = main_agent(self._place, extension, call.main_prompt())
        return {call.side: walls_ms(argv, self._place, 1, call.count)[0]}

    def _by_live_agent(self, extension: str, place: Place, call: Call) -> dict[str, float]:
        argv = main_agent(place, extension, call.main_prompt())
        first, second = walls_ms(argv, place, 2, call.count)
        return {call.side: first, SECOND_OF[call.side]: second}

    def _timed(
        self,
        call: Call,
        argv: Sequence[str],
        place: Place | None = None,
        prompts: Sequence[str] = (),
    ) -> dict[str, float]:
        with self._file(prompts or call.prompts()).open("rb") as given:
            begun = time.perf_counter()
            process = self._started(argv, given.fileno(), place)
            process.wait()
            wall_ms = (time.perf_counter() - begun) * 1000
        if process.returncode != 0:
            raise RuntimeError(f"{call.side} ended with {process.returncode}: {self._told()}")
        return {call.side: wall_ms}

    def _started(
        self, argv: Sequence[str], stdin: int, place: Place | None = None
    ) -> subprocess.Popen[bytes]:
        with (
            os.fdopen(os.dup(stdin), "rb") as given,
            self._out.open("wb") as out,
            self._err.open("wb") as err,
        ):
            return start(argv, place or self._place, stdin=given, stdout=out, stderr=err)

    def _told(self) -> str:
        return self._err.read_text("utf-8", "replace")[-2000:]

    def _bare_rpc(self, calls: int = 1) -> tuple[str, ...]:
        return (*BARE_RPC, str(calls), str(AT_ONCE), *self._pi, *RPC_MODE)

    def _shell(self, call: Call) -> tuple[str, ...]:
        return (*COMMAND, "run", "--concurrency", str(AT_ONCE), *call.prompts())

    def _file(self, prompts: Sequence[str]) -> Path:
        path = self._place.path / "prompts"
        path.write_text("".join(f"{prompt}\0" for prompt in prompts), "ascii")
        return path

    def _json_file(self, value: object, name: str) -> Path:
        path = self._place.path / name
        path.write_text(json.dumps(value), "ascii")
        return path


def _twice(call: Call) -> list[str]:
    return [*call.prompts("earlier work"), *call.prompts()]
