"""`ulimit -u 4`: whatever cannot be started, each task's outcome is told, and nothing is an internal error."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import SETTINGS, takes_long
from tests.fakes.many_tasks import QUICK_PI_COMMAND
from tests.faults.aftermath import SOURCES

from pi_subagents.engines.offline.server import OfflineModel
from pi_subagents.errors import NoMoreProcesses
from pi_subagents.system.own_thread import in_own_thread, start_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    takes_long,
    pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's"),
]
# The kernel limits nobody who is root: another user, who may still read root's Python.
SOMEBODY = 64_321
AS_SOMEBODY = (
    "setpriv", "--reuid", str(SOMEBODY), "--regid", str(SOMEBODY), "--clear-groups",
    "--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search",
)  # fmt: skip
MAIN = "from pi_subagents.faces.cli.main import main; main()"
NAMES = ("a", "b", "c", "d", "e", "f")


class Cramped:
    """A place of a user who may have only so many processes."""

    def __init__(self, root: Path, child_mode: str) -> None:
        self.project, self.home = root / "project", root / "home"
        agent = self.home / ".pi" / "agent"
        agent.mkdir(parents=True)
        (self.project / ".pi").mkdir(parents=True)
        (agent / "settings.json").write_text(json.dumps({"subagents": SETTINGS[child_mode]}))
        self._become: tuple[str, ...] = ()
        if os.geteuid() == 0:
            self._become = AS_SOMEBODY
            for path in (root, *root.rglob("*")):
                os.chown(path, SOMEBODY, SOMEBODY)

    def run(self, limit: int, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `subagents` with no more processes and threads than these."""
        limited = ("prlimit", f"--nproc={limit}:{limit}")
        return subprocess.run(
            [*self._become, *limited, sys.executable, "-c", MAIN, *arguments],
            cwd=self.project,
            env={
                "HOME": str(self.home),
                "PATH": os.defpath,
                "PYTHONPATH": str(SOURCES),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PI_SUBAGENTS_PI": QUICK_PI_COMMAND,
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def cramped(child_mode: str) -> Iterator[Cramped]:
    """A place that everybody can reach: pytest's own is for its user alone."""
    if shutil.which("prlimit") is None or (os.geteuid() == 0 and shutil.which("setpriv") is None):
        pytest.skip("prlimit and setpriv set the limit here")
    root = Path("/tmp") / f"cramped-{os.getpid()}-{threading.get_native_id()}"
    root.mkdir(mode=0o755)
    try:
        yield Cramped(root, child_mode)
    finally:
        shutil.rmtree(root)


@pytest.mark.parametrize("limit", [1, 2, 4, 6])
def test_every_task_has_an_outcome_and_the_exit_code_is_the_documented_one(
    cramped: Cramped, limit: int
) -> None:
    done = cramped.run(limit, "run", "--json", *NAMES)
    results = json.loads(done.stdout)["details"]["results"]
    assert [entry["name"] for entry in results] == [f"task-{n}" for n in range(1, 7)]
    statuses = {entry["status"] for entry in results}
    assert statuses <= {"completed", "error"}
    assert done.returncode == (0 if statuses == {"completed"} else 1)
    assert "internal error" not in done.stderr
    for entry in results:
        assert entry["status"] == "completed" or entry["errorMessage"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--offline", "a", "b"),
        ("call", "subagent", '{"preset": "none", "task": "x"}'),
        ("background", "start", "none", "x"),
        ("background", "stop", "--all"),
    ],
    ids=["offline", "subagent", "start", "stop"],
)
def test_what_needs_a_thread_is_done_without_one_or_refused_in_words(
    cramped: Cramped, limit: int, arguments: tuple[str, ...]
) -> None:
    done = cramped.run(limit, *arguments)
    assert done.returncode in {0, 1, 2}, done.stderr
    assert "internal error" not in done.stderr


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)


async def test_work_for_a_thread_is_done_where_there_is_none(no_threads: None) -> None:
    assert await in_own_thread("work", partial(divmod, 7, 2)) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await in_own_thread("work", partial(divmod, 7, 0))
    assert not start_thread("work", print)


def test_an_offline_model_without_a_thread_is_refused_and_leaves_nothing(no_threads: None) -> None:
    model = OfflineModel()
    with pytest.raises(NoMoreProcesses, match="ulimit -u"):
        model.start()
    model.close()
