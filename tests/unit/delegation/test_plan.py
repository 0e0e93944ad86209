from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pi_subagents.core import events as ev
from pi_subagents.core.attachment import FileSpec
from pi_subagents.core.child_shape import ChildShape
from pi_subagents.core.invocation import ModelOverride
from pi_subagents.core.pi_versions import traits_of
from pi_subagents.core.profile import Profile
from pi_subagents.core.request import DelegateRequest, Task
from pi_subagents.core.run_spec import RunSpec
from pi_subagents.core.session import StoredRun
from pi_subagents.core.settings import Settings
from pi_subagents.core.value import replace
from pi_subagents.delegation.plan import Surroundings, plan_runs, spec_ahead
from pi_subagents.delegation.preparation import Preparation
from pi_subagents.disk.run_store import RunStore
from pi_subagents.errors import StoreUnwritable
from pi_subagents.procs.attached_runner import run_dir_of


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
            wrap_up_before=12,
        ),
        store=RunStore(tmp_path / "runs", tmp_path / "data"),
        pi_command=("node", "pi.js"),
        pi_source="path",
        traits=traits_of("0.87.1"),
        trusted=lambda cwd: cwd.name == "project",
        kind_of=lambda _: "a kind",
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
        desk=str(around.store.data_dir / "desks" / run_id),
        argv=("node", "pi.js", "--mode", "rpc", "--no-session", "--approve"),
        cwd=str(around.cwd),
        environment={"PI_SUBAGENTS_CHILD": "1", "PI_SUBAGENTS_RUN": run_id},
        timeout_s=30,
        extend_debounce_s=7,
        extend_max_s=70,
        looping_tool_count=9,
        max_run_bytes=8 * 1024 * 1024,
        max_children=16,
        dir_mark=spec.dir_mark,
        lock_fd=spec.lock_fd,
        mode="rpc",
        kind="a kind",
        wrap_up_s=12,
    )
    run_dir = run_dir_of(spec)
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
        "desk": spec.desk,
        "engine": "pi",
        "childMode": "rpc",
        "pi": {"source": "path", "version": "0.87.1"},
        "argv": list(spec.argv),
        "offline": False,
        "trusted": True,
        "profile": None,
        "resumed": False,
        "notes": [],
    }
    assert {key: meta[key] for key in expected} == expected


REVIEWER = Profile(
    "reviewer",
    provider="anthropic",
    model="claude-sonnet-4-5",
    system_prompt="You review.",
    append_system_prompt="Be brief.",
    tools=("read", "grep"),
    api_key="sk-test-abc123",
)


def test_a_profile_decides_options_prompts_and_key(around: Surroundings) -> None:
    needs = Preparation(REVIEWER, skill_paths=("/skills/a",), notes=("Mind this.",))
    (run,) = plan_runs(DelegateRequest((Task("a", "Go."),)), around, [needs])
    run_dir = run_dir_of(run.spec)
    assert run.profile == REVIEWER
    assert run.spec.argv[6:] == (
        *("--provider", "anthropic", "--model", "claude-sonnet-4-5"),
        *("--system-prompt", str(run_dir.desk.path / "system-prompt.md")),
        *("--append-system-prompt", str(run_dir.desk.path / "append-system-prompt.md")),
        *("--tools", "read,grep", "--skill", "/skills/a"),
    )
    assert run.spec.environment["PI_API_KEY"] == "sk-test-abc123"
    assert run.spec.environment["ANTHROPIC_API_KEY"] == "sk-test-abc123"
    assert run.spec.notes == ("Mind this.",)
    assert run_dir.system_prompt.read_text() == "You review."
    assert run_dir.append_prompt.read_text() == "Be brief."
    files = [*run_dir.path.iterdir(), *run_dir.desk.path.iterdir()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    texts = ("prompt.md", "system-prompt.md", "append-system-prompt.md", "meta.json")
    assert [(run_dir.desk.path / name).read_bytes() for name in texts] == [
        (run_dir.path / name).read_bytes() for name in texts
    ]
    kept = {str(path): path.read_bytes() for path in files}
    assert [name for name, content in kept.items() if b"sk-test" in content] == []
    assert (run_dir.read_meta()["profile"], run_dir.read_meta()["notes"]) == (
        "reviewer",
        ["Mind this."],
    )


def test_what_shapes_a_child_is_told_with_the_content_of_its_own_files(
    around: Surroundings,
) -> None:
    shapes: list[ChildShape] = []

    def kind_of(shape: ChildShape) -> str:
        shapes.append(shape)
        return "its kind"

    around = replace(around, kind_of=kind_of)
    needs = Preparation(replace(REVIEWER, isolation="reuse"))
    background = replace(needs, detached=True)
    tasks = (Task("a", "Go."), Task("b", "Go on."))
    first, second = plan_runs(DelegateRequest(tasks), around, [needs, background])
    run_dir = run_dir_of(first.spec)
    assert shapes == [
        ChildShape(
            argv=first.spec.argv,
            environment=first.spec.environment,
            cwd=str(around.cwd),
            trusted=True,
            texts={
                str(run_dir.desk.path / "system-prompt.md"): b"You review.",
                str(run_dir.desk.path / "append-system-prompt.md"): b"Be brief.",
            },
            isolation="reuse",
        )
    ]
    assert (first.spec.kind, second.spec.kind) == ("its kind", "")


def test_the_offline_model_stands_in_for_a_profiles_provider(around: Surroundings) -> None:
    offline = ModelOverride(("--provider", "offline"), {"X": "1"})
    around = replace(around, override=lambda _: offline)
    (run,) = plan_runs(DelegateRequest((Task("a", "b"),)), around, [Preparation(REVIEWER)])
    assert run.spec.argv[-2:] == ("--provider", "offline")


def test_a_resumed_task_goes_on_in_its_session_with_what_was_said(
    around: Surroundings, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("content")
    said = (ev.UserMessage("First."), ev.AssistantMessage("Done."))
    earlier = StoredRun("r", "a3f7b9c2d1e8f4a1", "x", "completed", said)
    files = (FileSpec(str(tmp_path / "a.txt")),)
    task = Task("a", "Go on.", resume="a3f7b9c2d1e8f4a1", files=files)
    (run,) = plan_runs(DelegateRequest((task,)), around, [Preparation(earlier=(earlier,))])
    run_dir = run_dir_of(run.spec)
    assert run.spec.session_id == "a3f7b9c2d1e8f4a1"
    assert run_dir.read_meta()["resumed"] is True
    header = f"=== {tmp_path}/a.txt ===\ncontent\n\n"
    assert run_dir.task.read_text() == f"{header}Go on."
    assert run_dir.prompt.read_text() == (
        f"{header}Previously:\n\n--- Run 1 (completed, 2 messages) ---\n"
        "User: First.\nAssistant: Done.\n\nInstructions:\n\nGo on."
    )


def test_what_a_resumed_task_is_told_is_bounded_by_a_setting(around: Surroundings) -> None:
    said = (ev.UserMessage("x" * 5000), ev.AssistantMessage("Done."))
    needs = Preparation(earlier=(StoredRun("r", "s", "x", "completed", said),))
    around = replace(around, settings=Settings(max_resume_kilobytes=1))
    (run,) = plan_runs(DelegateRequest((Task("a", "Go on.", resume="s"),)), around, [needs])
    prompt = run_dir_of(run.spec).prompt.read_text()
    assert len(prompt) <= 1024 + len("Previously:\n\n\n\nInstructions:\n\nGo on.")
    assert "Assistant: Done." in prompt


def test_a_refusal_of_its_preparation_is_the_tasks_own(around: Surroundings) -> None:
    needs = [Preparation(refusal="Unknown profile"), Preparation()]
    runs = plan_runs(DelegateRequest((Task("a", "b"), Task("c", "d"))), around, needs)
    assert [run.refusal for run in runs] == ["Unknown profile", ""]


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
    assert run_dir_of(spec).read_meta()["offline"] is True


def test_a_long_prompt_is_kept_whole_for_the_child_and_short_in_meta(around: Surroundings) -> None:
    prompt = "ü" * 100_000
    ((spec, _),) = plan(around, Task("a", prompt))
    run_dir = run_dir_of(spec)
    meta = run_dir.read_meta()
    assert run_dir.prompt.read_text(encoding="utf-8") == prompt
    assert (meta["task"], meta["taskLength"]) == ("ü" * 2000, 100_000)


def test_a_prompt_with_half_a_character_can_be_given_to_a_child(around: Surroundings) -> None:
    ((spec, _),) = plan(around, Task("\ud800", "half \ud800"))
    run_dir = run_dir_of(spec)
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


def test_before_its_run_a_task_says_what_starts_its_child(around: Surroundings) -> None:
    task, needs = Task("build", "Build it."), Preparation(profile=Profile("quick", model="m"))
    ahead = spec_ahead(task, needs, around)
    assert ahead is not None
    ((run,)) = plan_runs(DelegateRequest((task,)), around, [needs])
    own: dict[str, object] = {
        "run_id": "",
        "session_id": "",
        "run_dir": "",
        "desk": "",
        "environment": {},
        "dir_mark": "",
        "lock_fd": None,
    }
    assert replace(ahead, **own) == replace(run.spec, **own)
    assert not Path(ahead.run_dir).exists()


@pytest.mark.parametrize(
    "needs",
    [
        Preparation(refusal="no such profile"),
        Preparation(profile=Profile("p", system_prompt="You review.")),
        Preparation(profile=Profile("p", append_system_prompt="Be brief.")),
        Preparation(detached=True),
    ],
    ids=["it cannot start", "it reads a prompt", "it reads an addition", "it belongs to nobody"],
)
def test_no_child_starts_before_its_run_if(around: Surroundings, needs: Preparation) -> None:
    assert spec_ahead(Task("build", "Build it."), needs, around) is None
