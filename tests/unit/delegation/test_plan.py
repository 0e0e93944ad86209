from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from pi_subagents.core.invocation import ModelOverride
from pi_subagents.core.request import DelegateRequest, Task
from pi_subagents.core.run_spec import RunSpec
from pi_subagents.core.settings import Settings
from pi_subagents.delegation.plan import Surroundings, plan_runs
from pi_subagents.disk.run_dir import RunDir
from pi_subagents.disk.run_store import RunStore
from pi_subagents.errors import StoreUnwritable


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    (tmp_path / "project").mkdir()
    return Surroundings(
        cwd=tmp_path / "project",
        settings=Settings(
            extend_timeout_debounce=7,
            extend_timeout_max=70,
            looping_tool_count=9,
            max_run_megabytes=8,
        ),
        store=RunStore(tmp_path / "runs"),
        pi_command=("node", "pi.js"),
        pi_source="path",
        pi_version="0.87.1",
        trusted=lambda cwd: cwd.name == "project",
    )


def plan(around: Surroundings, *tasks: Task) -> list[tuple[RunSpec, str]]:
    runs = plan_runs(DelegateRequest(tasks), around)
    assert [run.index for run in runs] == list(range(len(tasks)))
    assert [run.task for run in runs] == list(tasks)
    return [(run.spec, run.refusal) for run in runs]


def test_a_task_becomes_a_directory_and_a_specification(around: Surroundings) -> None:
    ((spec, refusal),) = plan(around, Task("build", "Build it.", timeout_s=30))
    run_id = spec.run_id
    assert refusal == ""
    assert spec == RunSpec(
        run_id=run_id,
        session_id=spec.session_id,
        name="build",
        run_dir=str(around.store.runs_dir / run_id),
        argv=("node", "pi.js", "--mode", "json", "-p", "--no-session", "--approve"),
        cwd=str(around.cwd),
        environment={"PI_SUBAGENTS_CHILD": "1", "PI_SUBAGENTS_RUN": run_id},
        timeout_s=30,
        extend_debounce_s=7,
        extend_max_s=70,
        looping_tool_count=9,
        max_run_bytes=8 * 1024 * 1024,
        lock_fd=spec.lock_fd,
    )
    run_dir = RunDir(Path(spec.run_dir))
    assert run_dir.alive()
    assert run_dir.prompt.read_bytes() == b"Build it."
    meta = run_dir.read_meta()
    assert isinstance(meta["createdAt"], int)
    expected = {
        "schemaVersion": 1,
        "runId": run_id,
        "sessionId": spec.session_id,
        "name": "build",
        "task": "Build it.",
        "taskLength": 9,
        "cwd": str(around.cwd),
        "timeoutS": 30,
        "attached": True,
        "engine": "pi",
        "pi": {"source": "path", "version": "0.87.1"},
        "argv": list(spec.argv),
        "offline": False,
        "trusted": True,
    }
    assert {key: meta[key] for key in expected} == expected


def test_every_run_has_ids_of_its_own(around: Surroundings) -> None:
    specs = [spec for spec, _ in plan(around, *[Task("a", "b")] * 16)]
    assert len({spec.run_id for spec in specs} | {spec.session_id for spec in specs}) == 32


def test_a_task_has_its_own_directory_and_trust(around: Surroundings, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    ((spec, refusal),) = plan(around, Task("a", "b", cwd=str(tmp_path / "other")))
    assert (spec.cwd, refusal, "--no-approve" in spec.argv) == (str(tmp_path / "other"), "", True)


def test_another_model_is_asked_for_per_run(around: Surroundings) -> None:
    offline = replace(
        around, override=lambda run_id: ModelOverride(("--model", "m"), {"URL": f"/{run_id}"})
    )
    ((spec, _),) = plan(offline, Task("a", "b"))
    assert spec.argv[-2:] == ("--model", "m")
    assert spec.environment["URL"] == f"/{spec.run_id}"
    assert RunDir(Path(spec.run_dir)).read_meta()["offline"] is True


def test_a_long_prompt_is_kept_whole_for_the_child_and_short_in_meta(around: Surroundings) -> None:
    prompt = "ü" * 100_000
    ((spec, _),) = plan(around, Task("a", prompt))
    run_dir = RunDir(Path(spec.run_dir))
    meta = run_dir.read_meta()
    assert run_dir.prompt.read_text(encoding="utf-8") == prompt
    assert (meta["task"], meta["taskLength"]) == ("ü" * 2000, 100_000)


def test_a_prompt_with_half_a_character_can_be_given_to_a_child(around: Surroundings) -> None:
    ((spec, _),) = plan(around, Task("\ud800", "half \ud800"))
    run_dir = RunDir(Path(spec.run_dir))
    assert run_dir.prompt.read_bytes() == b"half ?"
    json.dumps(run_dir.read_meta())


@pytest.mark.parametrize(
    "bad",
    ["absent", "file", "loop", "x" * 5000, "\ud800"],
    ids=["absent", "a file", "a circle", "too long", "not encodable"],
)
def test_a_task_whose_directory_is_missing_is_refused_alone(
    around: Surroundings, tmp_path: Path, bad: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    cwd = f"{tmp_path}/{bad}"
    (_, refusal), (_, good) = plan(around, Task("bad", "b", cwd=cwd), Task("good", "b"))
    assert (refusal, good) == (f"cwd does not exist or is not a directory: {cwd}", "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look anywhere")
def test_a_task_whose_directory_may_not_be_looked_at_is_refused_alone(
    around: Surroundings, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    (closed / "inside").mkdir(parents=True)
    closed.chmod(0)
    try:
        (_, refusal), (_, good) = plan(
            around, Task("bad", "b", cwd=str(closed / "inside")), Task("good", "b")
        )
    finally:
        closed.chmod(0o700)
    assert (bool(refusal), good) == (True, "")


def test_a_store_that_cannot_be_written_refuses_the_whole_call(
    around: Surroundings, tmp_path: Path
) -> None:
    (tmp_path / "runs").write_text("a file is in the way")
    with pytest.raises(StoreUnwritable):
        plan(around, Task("a", "b"))
