"""
The same work by the same real pi, handed out in seven ways: what does delegation add to it?

A task is three model requests of half a second each, with two calls of bash between them; four are
at work at once.  The ideal is the time of the model alone: nothing that starts, switches or ends
can be quicker.  Bare RPC is pi used again and again with nothing around it (bare_rpc.py): nothing
that uses this pi can be quicker than that.  Every way talks to one scripted model in a process of
its own, and pi has its provider from its own files, as a user's pi has.  xargs uses `setsid`, as
in against_xargs.py.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Cost, Figure, Place, Target, cost_of, progress, ratios, start
from scripted_model import scripted_model
from tree_memory import watched

from pi_subagents.core.value import replace
from pi_subagents.engines.offline.conversations import EACH_PROMPT
from pi_subagents.engines.pi.command import resolve_pi_command
from pi_subagents.engines.pi.invocation import QUIET
from pi_subagents.hosts.pi.extension import extension_dir, remember_interpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tree_memory import Peaks

SECTION = "Real work"
AT_ONCE = 4
REQUEST_S = 0.5
REQUESTS = 3
ROUNDS = {4: 5, 16: 3}
MAIN, CHILDREN = "main", "children"
JSON_MODE = ("--mode", "json", "-p", "--no-session", "--no-approve")
RPC_MODE = ("--mode", "rpc", "--no-session", "--no-approve")
COMMAND = (sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()")
HOST = (sys.executable, str(Path(__file__).with_name("delegate_work.py")))
BARE_RPC = (sys.executable, "-I", "-S", str(Path(__file__).with_name("bare_rpc.py")))
BARE, XARGS, SHELL, PYTHON = "bare RPC", "xargs", "shell", "Python"
WARM, PI = "warm host", "inside pi"
WRITTEN = "inside pi, call written at model speed"
SIDES = {4: (XARGS, BARE, SHELL, PYTHON, WARM), 16: (XARGS, BARE, SHELL, PYTHON, PI, WRITTEN)}
# The one's CPU is that of two calls; the others do not wait for their core: it is not in the sum.
NO_CPU = (WARM, PI, WRITTEN)
PIECE_MS = 70  # 16 tasks are 64 pieces: 1,850 characters in 4.5 s
WALL_TARGETS = {
    (4, SHELL): Target(1.75),
    (4, WARM): Target(1.20),
    (16, SHELL): Target(1.20),
    (16, PI): Target(1.25),
    (16, WRITTEN): Target(1.25),
}
CPU_TARGETS = {(16, SHELL): Target(0.40)}
MEMORY_TARGET = Target(1.4)


@dataclass(frozen=True, slots=True)
class _Call:
    """Prompts to be handed out once: a script is played once for each prompt."""

    side: str
    count: int
    number: int

    def prompts(self, what: str = "work") -> list[str]:
        name = f"{what} {self.side} {self.count} {self.number}"
        return [f"Do what is to be done: {name}, task {index}." for index in range(self.count)]

    def main_prompt(self) -> str:
        return f"Please delegate number {self.number} of {self.count} tasks, {self.side}."


def measure(place: Place) -> list[Figure]:
    """Return wall and CPU of every way, held against the ideal and against xargs, and memory."""
    counts = list(ROUNDS)[: place.amount(2, 2, 1)]
    rounds = {count: place.rounds(ROUNDS[count]) for count in counts}
    with scripted_model(_script(rounds), place.env) as url_of:
        bench = _Bench(own_place(place, url_of), own_place(place, url_of, warm=AT_ONCE))
        bench.warm_up()
        return [
            *(figure for count in rounds for figure in _compare(bench, count, rounds[count])),
            *_memory(bench, max(rounds), place.rounds(ROUNDS[max(rounds)])),
        ]


def _compare(bench: _Bench, count: int, rounds: int) -> list[Figure]:
    sides = SIDES[count]
    costs: dict[str, list[Cost]] = {side: [] for side in sides}
    for number in range(rounds):
        progress(f"{SECTION}: {count} tasks, round {number + 1} of {rounds}")
        for side in sides if number % 2 else reversed(sides):
            costs[side].append(bench.run(_Call(side, count, number)))
    ideal_ms = math.ceil(count / AT_ONCE) * REQUESTS * REQUEST_S * 1000
    theirs = [cost.cpu_ms for cost in costs[XARGS]]
    name = f"{count} tasks"
    figures = [Figure(SECTION, f"{name}: ideal, the model alone", "ms", (ideal_ms,))]
    for side in sides:
        walls = [cost.wall_ms for cost in costs[side]]
        to_ideal = ratios(walls, [ideal_ms] * rounds)
        target = WALL_TARGETS.get((count, side))
        figures.append(Figure(SECTION, f"{name}: wall, {side}", "ms", tuple(walls)))
        figures.append(Figure(SECTION, f"{name}: wall, {side} to ideal", "x", to_ideal, target))
        if side == SHELL:
            bare = ratios(walls, [cost.wall_ms for cost in costs[BARE]])
            figures.append(Figure(SECTION, f"{name}: wall, {side} to {BARE}", "x", bare))
    for side in (each for each in sides if each not in NO_CPU):
        cpu = [cost.cpu_ms for cost in costs[side]]
        figures.append(Figure(SECTION, f"{name}: CPU, {side}", "ms", tuple(cpu)))
        if side != XARGS:
            to_xargs, target = ratios(cpu, theirs), CPU_TARGETS.get((count, side))
            figures.append(Figure(SECTION, f"{name}: CPU, {side} to xargs", "x", to_xargs, target))
    return figures


def _memory(bench: _Bench, count: int, rounds: int) -> list[Figure]:
    """Run two ways once more and look at their processes while they run."""
    peaks: dict[str, list[Peaks]] = {XARGS: [], SHELL: []}
    for number in range(rounds):
        progress(f"{SECTION}: {count} tasks, memory, round {number + 1} of {rounds}")
        for side, found in peaks.items():
            found.append(bench.peaks(_Call(f"{side} in memory", count, number), side))
    theirs, ours = ([peak.tree_mb for peak in peaks[side]] for side in (XARGS, SHELL))
    name = f"{count} tasks: peak memory of the whole tree"
    largest = tuple(peak.supervisor_mb for peak in peaks[SHELL])
    return [
        Figure(SECTION, f"{name}, {XARGS}", "MB", tuple(theirs)),
        Figure(SECTION, f"{name}, {SHELL}", "MB", tuple(ours)),
        Figure(SECTION, f"{name}, {SHELL} to xargs", "x", ratios(ours, theirs), MEMORY_TARGET),
        Figure(SECTION, f"{count} tasks: peak memory, largest supervisor", "MB", largest),
    ]


class _Bench:
    """Every way to have a call done, in one place."""

    def __init__(self, place: Place, warm_place: Place) -> None:
        self._place = place
        self._warm_place = warm_place
        self._pi = resolve_pi_command(place.env, place.project, None).argv
        self._out, self._err = place.path / "work.out", place.path / "work.err"
        self._ways: Mapping[str, Callable[[_Call], Cost]] = {
            XARGS: self._by_xargs,
            BARE: self._by_bare_rpc,
            SHELL: self._by_shell,
            PYTHON: self._by_python,
            WARM: self._by_warm_host,
            PI: self._by_main_agent,
            WRITTEN: self._by_main_agent,
        }

    def warm_up(self) -> None:
        """Have everything read once that is read from disk."""
        for side in (XARGS, SHELL, PYTHON):
            self.run(_Call(side, 1, -1))

    def run(self, call: _Call) -> Cost:
        """Have the call done to its end; a task that fails ends the measurement."""
        return self._ways[call.side](call)

    def peaks(self, call: _Call, side: str) -> Peaks:
        """Have the call done while its processes are looked at."""
        prompts = self._file(call)
        argv = self._xargs() if side == XARGS else self._shell(call)
        with prompts.open("rb") as stdin, self._out.open("wb") as out, self._err.open("wb") as err:
            process = start(argv, self._place, stdin=stdin, stdout=out, stderr=err)
            found = watched(process)
        if process.returncode != 0:
            raise RuntimeError(f"{side} ended with {process.returncode}: {self._told()}")
        return found

    def _by_xargs(self, call: _Call) -> Cost:
        cost = self._cost_of(self._xargs(), self._file(call))
        answered = self._out.read_bytes().count(b'"type":"agent_settled"')
        if answered != call.count:
            raise RuntimeError(f"xargs: {answered} of {call.count} answered")
        return cost

    def _by_bare_rpc(self, call: _Call) -> Cost:
        argv = (*BARE_RPC, str(AT_ONCE), *self._pi, *RPC_MODE)
        return self._cost_of(argv, self._file(call))

    def _by_shell(self, call: _Call) -> Cost:
        return self._cost_of(self._shell(call))

    def _by_python(self, call: _Call) -> Cost:
        return self._cost_of((*HOST, str(self._json_file(call.prompts(), "prompts.json"))))

    def _by_warm_host(self, call: _Call) -> Cost:
        measured = self._json_file(call.prompts(), "prompts.json")
        before = self._json_file(call.prompts("earlier work"), "before.json")
        cost = self._cost_of((*HOST, str(measured), str(before)), place=self._warm_place)
        return replace(cost, wall_ms=json.loads(self._out.read_bytes())["wallMs"])

    def _by_main_agent(self, call: _Call) -> Cost:
        """Let the real pi delegate in one tool call; the wall time is that of the call."""
        argv = (
            *(*self._pi, "--provider", MAIN, "--model", MAIN, "-e", str(extension_dir())),
            *(*JSON_MODE, call.main_prompt()),
        )
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd=self._place.project,
            env=dict(self._place.env),
        )
        assert process.stdout is not None
        seen = {}
        for line in process.stdout:
            now = time.perf_counter()
            if (
                line.startswith(b'{"type":"tool_execution_')
                and b'"tool_execution_update"' not in line
            ):
                seen[json.loads(line)["type"]] = now, line
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        (begun, _), (ended, result) = seen["tool_execution_start"], seen["tool_execution_end"]
        if process.returncode != 0 or result.count(b": completed (session: ") != call.count:
            raise RuntimeError(f"pi ended with {process.returncode}: {result[:2000]!r}")
        return Cost((ended - begun) * 1000, (usage.ru_utime + usage.ru_stime) * 1000)

    def _cost_of(
        self, argv: Sequence[str], stdin: Path = Path(os.devnull), place: Place | None = None
    ) -> Cost:
        with stdin.open("rb") as given, self._out.open("wb") as out, self._err.open("wb") as err:
            try:
                return cost_of(argv, place or self._place, stdin=given, stdout=out, stderr=err)
            except RuntimeError as error:
                raise RuntimeError(f"{error}: {self._told()}") from None

    def _told(self) -> str:
        return self._err.read_text("utf-8", "replace")[-2000:]

    def _xargs(self) -> tuple[str, ...]:
        session = ("setsid",) if shutil.which("setsid") else ()
        return ("xargs", "-0", "-n1", f"-P{AT_ONCE}", *session, *self._pi, *JSON_MODE)

    def _shell(self, call: _Call) -> tuple[str, ...]:
        return (*COMMAND, "run", "--concurrency", str(AT_ONCE), *call.prompts())

    def _file(self, call: _Call) -> Path:
        path = self._place.path / "prompts"
        path.write_text("".join(f"{prompt}\0" for prompt in call.prompts()), "ascii")
        return path

    def _json_file(self, value: object, name: str) -> Path:
        path = self._place.path / name
        path.write_text(json.dumps(value), "ascii")
        return path


def _script(rounds: Mapping[int, int]) -> dict[str, object]:
    """Return what the model says: to a main agent by its prompt, to everybody else the work."""
    delay = {"delayMs": round(REQUEST_S * 1000)}
    steps = [{**tool_call("bash", command=f"echo step {step}"), **delay} for step in (1, 2)]
    mains = [
        _Call(side, count, number)
        for side in (PI, WRITTEN)
        for count in rounds
        for number in range(rounds[count])
    ]
    return {
        "conversations": [
            {"match": call.main_prompt(), "turns": [_delegating(call), {"text": "all done"}]}
            for call in mains
        ],
        "default": [*steps, {"text": "done", **delay}],
    }


def _delegating(call: _Call) -> dict[str, object]:
    tasks = [{"name": f"task-{i}", "prompt": text} for i, text in enumerate(call.prompts(), 1)]
    pause = {"chunkDelayMs": PIECE_MS} if call.side == WRITTEN else {}
    return {**tool_call("delegate_to_subagents", tasks=tasks), **pause}


def tool_call(name: str, **arguments: object) -> dict[str, object]:
    return {"toolCalls": [{"name": name, "arguments": arguments}]}


def own_place(place: Place, url_of: Callable[[str], str], warm: int = 1) -> Place:
    """Return a place whose pi has a model for itself and one for children, in its own files."""
    path = place.path / f"real-work-{warm}"
    agent = path / "home" / ".pi" / "agent"
    agent.mkdir(parents=True)
    (path / "project" / ".pi").mkdir(parents=True)
    providers = {
        name: {
            "baseUrl": url_of(EACH_PROMPT),
            "api": "openai-completions",
            "apiKey": "x",
            "models": [{"id": name}],
        }
        for name in (MAIN, CHILDREN)
    }
    (agent / "models.json").write_text(json.dumps({"providers": providers}))
    settings = {
        "defaultProvider": CHILDREN,
        "defaultModel": CHILDREN,
        "subagents": {"warm_children": warm},
    }
    (agent / "settings.json").write_text(json.dumps(settings))
    env = {**place.env, **QUIET, "HOME": str(path / "home")}
    remember_interpreter(env)
    return replace(place, path=path, project=path / "project", env=env)
