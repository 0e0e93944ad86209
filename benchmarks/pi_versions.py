"""The start of pi itself, by version: what every child costs before its task."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Figure, Place, interleaved, peak_memory_mb, progress, ratios, timed_ms

from pi_subagents.engines.offline.provider import URL_VARIABLE
from pi_subagents.engines.offline.server import OfflineModel
from pi_subagents.engines.pi.invocation import QUIET
from pi_subagents.engines.pi.offline import pi_arguments
from pi_subagents.engines.pi.versions import TESTED_VERSIONS, traits_of

sys.path.append(str(Path(__file__).parents[1]))

from scripts.e2e_versions import installed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SECTION = "Start of pi, by version"
ROUNDS = 9


def measure(place: Place) -> list[Figure]:
    """Return starts of every tested version side by side; each is installed below .cache once."""
    progress(f"{SECTION}: finding {' and '.join(TESTED_VERSIONS)}")
    pis = {version: installed(version).argv for version in TESTED_VERSIONS}
    with OfflineModel(None, keep_requests=0) as model:
        env = {**place.env, **QUIET, URL_VARIABLE: model.url_for("main")}
        figures = [
            *_compared("to the answer of get_state in RPC mode", pis, env, place, _until_state),
            *_compared("a whole run in JSON mode", pis, env, place, _whole_run),
        ]
        memory = {version: _memory(argv, env, place) for version, argv in pis.items()}
    return [
        *figures,
        *(
            Figure(SECTION, f"{version}: peak memory, idle in RPC mode", "MB", (found,))
            for version, found in memory.items()
        ),
    ]


def _compared(
    what: str,
    pis: Mapping[str, tuple[str, ...]],
    env: Mapping[str, str],
    place: Place,
    work: Callable[[tuple[str, ...], Mapping[str, str], Place], None],
) -> list[Figure]:
    def side(version: str) -> Callable[[], float]:
        argv = (*pis[version], *traits_of(version).without_mcp, "--no-session")
        return lambda: timed_ms(lambda: work(argv, env, place))

    times = interleaved(
        place.rounds(ROUNDS), {each: side(each) for each in pis}, f"{SECTION}: {what}"
    )
    oldest, *_, newest = pis
    return [
        *(Figure(SECTION, f"{version}: {what}", "ms", found) for version, found in times.items()),
        Figure(SECTION, f"{newest} to {oldest}: {what}", "x", ratios(times[newest], times[oldest])),
    ]


def _until_state(argv: tuple[str, ...], env: Mapping[str, str], place: Place) -> None:
    with _ready(argv, env, place):
        pass


def _whole_run(argv: tuple[str, ...], env: Mapping[str, str], place: Place) -> None:
    subprocess.run(
        [*argv, *pi_arguments(), "--mode", "json", "-p"],
        cwd=place.project,
        env=dict(env),
        input=b"hello",
        stdout=subprocess.DEVNULL,
        check=True,
    )


def _memory(argv: tuple[str, ...], env: Mapping[str, str], place: Place) -> float:
    with _ready((*argv, "--no-session"), env, place) as child:
        return peak_memory_mb(child.pid) or 0.0


def _ready(argv: tuple[str, ...], env: Mapping[str, str], place: Place) -> subprocess.Popen[bytes]:
    """Start pi in RPC mode and return it when it has answered."""
    child = subprocess.Popen(
        [*argv, "--mode", "rpc"],
        cwd=place.project,
        env={**os.environ, **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(b'{"type":"get_state"}\n')
    child.stdin.flush()
    while b'"get_state"' not in (line := child.stdout.readline()):
        if not line:
            raise RuntimeError(f"{argv[:2]} ended with {child.wait()}")
    return child
