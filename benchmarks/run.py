"""
Measure what the README promises: start-up, imports, the supervisor, a whole delegation.

Run with `make bench`. Prints medians over interleaved rounds; asserts nothing, since a busy machine
must not turn a test red. `--json` prints the numbers for scripts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pi_subagents import Task, delegate_sync
from pi_subagents.core.run_spec import RunSpec
from pi_subagents.disk.run_dir import RunDir
from pi_subagents.engines.offline_model.script import parse_script
from pi_subagents.procs import process_runner

ROUNDS = 9
COMMAND = [sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()"]
STARTS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import pi_subagents": [sys.executable, "-c", "import pi_subagents"],
    "import pi_subagents.api": [sys.executable, "-c", "import pi_subagents.api"],
    "subagents --version": [*COMMAND, "--version"],
    "subagents --help": [*COMMAND, "--help"],
    "subagents runs": [*COMMAND, "runs"],
}


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    as_json = parser.parse_args().json
    with tempfile.TemporaryDirectory() as place:
        project = Path(place)
        (project / ".pi").mkdir()
        os.chdir(project)
        numbers = {**starts(), **supervisor(project), **delegation()}
    if as_json:
        print(json.dumps({"schemaVersion": 1, "numbers": numbers}))
        return
    for name, value in numbers.items():
        print(f"{name:44} {value:10.1f}")


def starts() -> dict[str, float]:
    """Return milliseconds from start to end of short commands, interleaved."""
    times: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(ROUNDS):
        for name, argv in STARTS.items():
            begun = time.perf_counter()
            subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
            times[name].append((time.perf_counter() - begun) * 1000)
    return {f"{name} (ms)": statistics.median(values) for name, values in times.items()}


def supervisor(project: Path) -> dict[str, float]:
    """Return what one supervisor costs around a child that does nothing."""
    times: list[float] = []
    peaks: list[float] = []
    for index in range(ROUNDS):
        run_id = f"{index:032x}"
        run_dir = RunDir(project / run_id)
        lock = run_dir.begin({"runId": run_id}, b"")
        # The child reports the peak memory of its parent, the supervisor.
        report = "grep VmHWM /proc/$PPID/status >&2"
        spec = RunSpec(
            run_id=run_id,
            session_id="0" * 16,
            name="bench",
            run_dir=str(run_dir.path),
            argv=("/bin/sh", "-c", report),
            cwd=str(project),
            lock_fd=lock,
        )
        begun = time.perf_counter()
        process = process_runner.start_supervisor(spec, os.environ)
        os.close(lock)
        process.communicate()
        times.append((time.perf_counter() - begun) * 1000)
        peaks.append(float(run_dir.stderr.read_text("ascii").split()[1]) / 1024)
    return {
        "supervisor around /bin/sh (ms)": statistics.median(times),
        "supervisor peak memory (MB)": statistics.median(peaks),
    }


def delegation() -> dict[str, float]:
    """Return the wall time of real delegations on the offline model, and our own memory."""
    script = parse_script([{"text": "done"}])
    numbers: dict[str, float] = {}
    for count in (1, 4, 16):
        begun = time.perf_counter()
        tasks = [Task(f"task-{i}", "say done") for i in range(count)]
        result = delegate_sync(tasks, offline=script)
        assert all(each.completed for each in result.results), result.summary
        numbers[f"{count} real tasks, 4 at once (ms)"] = (time.perf_counter() - begun) * 1000
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    numbers["orchestrator peak memory (MB)"] = peak
    return numbers


if __name__ == "__main__":
    main()
