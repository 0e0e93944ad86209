from __future__ import annotations

import json
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from tests.fakes.call_contexts import call_context
from tests.fakes.pi_calls import OneKindOfPi, pi_call
from tests.fakes.records import record
from tests.fakes.specs import make_spec

from pi_subagents.core.offline.script import parse_script
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.spec import RunSpec, changed
from pi_subagents.core.settings import Settings
from pi_subagents.core.task.attachment import FileSpec
from pi_subagents.core.task.request import DelegateRequest, Task
from pi_subagents.core.value import replace
from pi_subagents.engines.base import CallPlace, ChildPlan, ChildRequest
from pi_subagents.engines.pi.invocation import REPORTING
from pi_subagents.errors import StoreUnwritable
from pi_subagents.service.delegation import Preparation
from pi_subagents.service.plan import plan_runs, prewarm_spec
from pi_subagents.store.held_runs import HeldRuns
from pi_subagents.store.local_order import LocalOrder, PlaceOrder
from pi_subagents.store.run_store import RunStore

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.engines.pi.command import PiCommand
    from pi_subagents.service.call import CallContext

SETTINGS = Settings(
    extend_timeout_debounce=7,
    extend_timeout_max=70,
    looping_tool_count=9,
    max_run_megabytes=8,
    wrap_up_before=12,
)


@pytest.fixture
def around(tmp_path: Path) -> CallContext:
    (tmp_path / "project").mkdir()
    store = RunStore(tmp_path / "runs", tmp_path / "data")
    return call_context(
        tmp_path / "project",
        store,
        HeldRuns(store, "the slots"),
        pi_call(version="0.87.1", settings=SETTINGS, kind=OneKindOfPi),
        SETTINGS,
        trusted=lambda cwd: cwd.name == "project",
    )


def plan(around: CallContext, *tasks: Task) -> list[tuple[RunSpec, str]]:
    runs = plan_runs(DelegateRequest(tasks), around)
    assert [run.index for run in runs] == list(range(len(tasks)))
    assert [run.task for run in runs] == list(tasks)
    return [(run.spec, run.needs.refusal) for run in runs]


def test_a_task_becomes_a_directory_and_a_specification(around: CallContext) -> None:
    ((spec, refusal),) = plan(around, Task("build", "Build it.", timeout_s=30))
    run_id = spec.run_id
    assert refusal == ""
    assert spec == make_spec(
        run_id=run_id,
        session_id=spec.session_id,
        name="build",
        argv=("node", "pi.js", "--mode", "rpc", "--approve", *REPORTING),
        provider="",
        account=spec.child.account,
        session_option="--session",
        no_session_option="--no-session",
        cwd=str(around.cwd),
        environment={"PI_SUBAGENTS_CHILD": "1", "PI_SUBAGENTS_RUN": run_id},
        timeout_s=30,
        extend_debounce_s=7,
        extend_max_s=70,
        looping_tool_count=9,
        max_run_bytes=8 * 1024 * 1024,
        max_children=16,
        mode="rpc",
        takes_commands=True,
        kind="a kind",
        wrap_up_s=12,
    )
    run_dir = around.runs.store.run_dir(run_id)
    assert run_dir.alive()
    placed = around.held.placed(spec)
    there = PlaceOrder(
        run_dir=str(around.runs.store.runs_dir / run_id),
        desk=str(around.runs.store.data_dir / "desks" / run_id),
        dir_mark=run_dir.mark(),
        slots_dir="the slots",
        lock_fd=placed.place.lock_fd,
    )
    assert placed == LocalOrder(spec, there)
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
        "desk": str(run_dir.desk.path),
        "engine": "pi",
        "childMode": "rpc",
        "pi": {"source": "path", "version": "0.87.1"},
        "argv": list(spec.child.argv),
        "offline": False,
        "trusted": True,
        "profile": None,
        "resumed": None,
        "forkedFrom": None,
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


def test_a_profile_decides_options_prompts_and_key(around: CallContext) -> None:
    needs = Preparation(REVIEWER, skill_paths=("/skills/a",), notes=("Mind this.",))
    (run,) = plan_runs(DelegateRequest((Task("a", "Go."),)), around, [needs])
    run_dir = around.held.run_dir(run.spec.run_id)
    assert run.needs == needs
    assert run.spec.child.argv[5:] == (
        *("--provider", "anthropic", "--model", "claude-sonnet-4-5"),
        *("--system-prompt", str(run_dir.desk.path / "system-prompt.md")),
        *("--append-system-prompt", str(run_dir.desk.path / "append-system-prompt.md")),
        *("--tools", "read,grep", "--skill", "/skills/a"),
        *REPORTING,
    )
    assert run.spec.child.environment["PI_API_KEY"] == "sk-test-abc123"
    assert run.spec.child.environment["ANTHROPIC_API_KEY"] == "sk-test-abc123"
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


class Noting(OneKindOfPi):
    """A pi that keeps what children it was asked for."""

    def __init__(self, place: CallPlace, pi: PiCommand) -> None:
        super().__init__(place, pi)
        self.asked: list[ChildRequest] = []

    def plan_child(self, request: ChildRequest) -> ChildPlan:
        self.asked.append(request)
        return super().plan_child(request)


def test_what_shapes_a_child_is_told_with_the_content_of_its_own_files(
    around: CallContext,
) -> None:
    engine = pi_call(version="0.87.1", settings=SETTINGS, kind=Noting)
    assert isinstance(engine, Noting)
    around = replace(around, open_engine=lambda _: engine)
    needs = Preparation(replace(REVIEWER, isolation="reuse"))
    background = replace(needs, detached=True)
    tasks = (Task("a", "Go."), Task("b", "Go on."))
    first, second = plan_runs(DelegateRequest(tasks), around, [needs, background])
    desk = around.held.run_dir(first.spec.run_id).desk.path
    system, append = str(desk / "system-prompt.md"), str(desk / "append-system-prompt.md")
    assert engine.asked[0] == ChildRequest(
        run_id=first.spec.run_id,
        cwd=str(around.cwd),
        trusted=True,
        profile=replace(REVIEWER, isolation="reuse"),
        system_prompt_file=system,
        append_prompt_file=append,
        orders_file=str(desk / "orders.json"),
        texts={
            str(desk / "prompt.md"): b"Go.",
            system: b"You review.",
            append: b"Be brief.",
        },
    )
    assert [each.shareable for each in engine.asked] == [True, False]
    assert (first.spec.reuse.kind, second.spec.reuse.kind) == ("a kind", "")


def test_the_offline_model_stands_in_for_a_profiles_provider(around: CallContext) -> None:
    offline = around.open_engine("").offline_each()
    around = replace(around, open_engine=lambda _: offline)
    (run,) = plan_runs(DelegateRequest((Task("a", "b"),)), around, [Preparation(REVIEWER)])
    assert run.spec.child.argv[-4:] == ("--provider", "subagents-offline", "--model", "offline")


def test_a_resumed_task_goes_on_in_its_session_with_what_was_said(
    around: CallContext, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("content")
    said = (ev.UserMessage("First."), ev.AssistantMessage("Done."))
    earlier = record("r", "a3f7b9c2d1e8f4a1", "x", "completed", messages=said)
    files = (FileSpec(str(tmp_path / "a.txt")),)
    task = Task("a", "Go on.", resume="a3f7b9c2d1e8f4a1", files=files)
    (run,) = plan_runs(DelegateRequest((task,)), around, [Preparation(earlier=(earlier,))])
    run_dir = around.held.run_dir(run.spec.run_id)
    assert run.spec.session_id == "a3f7b9c2d1e8f4a1"
    assert run_dir.read_meta()["resumed"] == "replay"
    header = f"=== {tmp_path}/a.txt ===\ncontent\n\n"
    assert run_dir.task.read_text() == f"{header}Go on."
    assert run_dir.prompt.read_text() == (
        f"{header}Previously:\n\n--- Run 1 (completed, 2 messages) ---\n"
        "User: First.\nAssistant: Done.\n\nInstructions:\n\nGo on."
    )


def test_what_a_resumed_task_is_told_is_bounded_by_a_setting(around: CallContext) -> None:
    said = (ev.UserMessage("x" * 5000), ev.AssistantMessage("Done."))
    needs = Preparation(earlier=(record("r", "s", "x", "completed", messages=said),))
    around = replace(around, settings=Settings(max_resume_kilobytes=1))
    (run,) = plan_runs(DelegateRequest((Task("a", "Go on.", resume="s"),)), around, [needs])
    prompt = around.held.run_dir(run.spec.run_id).prompt.read_text()
    assert len(prompt) <= 1024 + len("Previously:\n\n\n\nInstructions:\n\nGo on.")
    assert "Assistant: Done." in prompt


def test_a_refusal_of_its_preparation_is_the_tasks_own(around: CallContext) -> None:
    needs = [Preparation(refusal="Unknown profile"), Preparation()]
    runs = plan_runs(DelegateRequest((Task("a", "b"), Task("c", "d"))), around, needs)
    assert [run.needs.refusal for run in runs] == ["Unknown profile", ""]


def test_the_profile_of_the_call_is_that_of_tasks_that_name_none(around: CallContext) -> None:
    tasks = (Task("a", "b"), Task("c", "d", profile="worker"))
    runs = plan_runs(DelegateRequest(tasks, "reviewer"), around)
    assert [run.task.profile for run in runs] == ["reviewer", "worker"]


def test_every_run_has_ids_of_its_own(around: CallContext) -> None:
    specs = [spec for spec, _ in plan(around, *[Task("a", "b")] * 16)]
    assert len({spec.run_id for spec in specs} | {spec.session_id for spec in specs}) == 32


def test_a_task_has_its_own_directory_and_trust(around: CallContext, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    ((spec, refusal),) = plan(around, Task("a", "b", cwd=str(tmp_path / "other")))
    assert (spec.child.cwd, refusal, "--no-approve" in spec.child.argv) == (
        str(tmp_path / "other"),
        "",
        True,
    )


def test_a_script_of_the_offline_model_has_an_address_for_each_run(around: CallContext) -> None:
    with ExitStack() as resources:
        script = parse_script({"default": [{"text": "hello"}]})
        served = around.open_engine("").offline(script, resources)
        offline = replace(around, open_engine=lambda _: served)
        specs = [spec for spec, _ in plan(offline, Task("a", "b"), Task("c", "d"))]
    for spec in specs:
        assert spec.child.argv[-2:] == ("--model", "offline")
        assert spec.run_id in spec.child.environment["PI_SUBAGENTS_OFFLINE_URL"]
        assert around.held.run_dir(spec.run_id).read_meta()["offline"] is True


def test_a_long_prompt_is_kept_whole_for_the_child_and_short_in_meta(around: CallContext) -> None:
    prompt = "ü" * 100_000
    ((spec, _),) = plan(around, Task("a", prompt))
    run_dir = around.held.run_dir(spec.run_id)
    meta = run_dir.read_meta()
    assert run_dir.prompt.read_text(encoding="utf-8") == prompt
    assert (meta["task"], meta["taskLength"]) == ("ü" * 2000, 100_000)


def test_a_prompt_with_half_a_character_can_be_given_to_a_child(around: CallContext) -> None:
    ((spec, _),) = plan(around, Task("\ud800", "half \ud800"))
    run_dir = around.held.run_dir(spec.run_id)
    assert run_dir.prompt.read_bytes() == b"half ?"
    json.dumps(run_dir.read_meta())


@pytest.mark.parametrize(
    "bad",
    ["absent", "file", "loop", "x" * 5000, "\ud800"],
    ids=["absent", "a file", "a circle", "too long", "not encodable"],
)
def test_a_task_whose_directory_is_missing_is_refused_alone(
    around: CallContext, tmp_path: Path, bad: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    cwd = f"{tmp_path}/{bad}"
    (_, refusal), (_, good) = plan(around, Task("bad", "b", cwd=cwd), Task("good", "b"))
    assert (refusal, good) == (f"cwd does not exist or is not a directory: {cwd}", "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look anywhere")
def test_a_task_whose_directory_may_not_be_looked_at_is_refused_alone(
    around: CallContext, tmp_path: Path
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
    around: CallContext, tmp_path: Path
) -> None:
    (tmp_path / "runs").write_text("a file is in the way")
    with pytest.raises(StoreUnwritable):
        plan(around, Task("a", "b"))


def test_before_its_run_a_task_says_what_starts_its_child(around: CallContext) -> None:
    task, needs = Task("build", "Build it."), Preparation(profile=Profile("quick", model="m"))
    prewarmed = prewarm_spec(task, needs, around)
    assert prewarmed is not None
    ((run,)) = plan_runs(DelegateRequest((task,)), around, [needs])
    own: dict[str, object] = {
        "run_id": "",
        "session_id": "",
        "environment": {},
    }
    assert changed(prewarmed, **own) == changed(run.spec, **own)
    assert not around.held.run_dir(prewarmed.run_id).path.exists()


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
def test_no_child_starts_before_its_run_if(around: CallContext, needs: Preparation) -> None:
    assert prewarm_spec(Task("build", "Build it."), needs, around) is None
