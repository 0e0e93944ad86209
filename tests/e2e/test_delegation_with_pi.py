"""The real pi under supervision: every way a child can end, told truthfully."""

import json
import re
from pathlib import Path

import pytest
from tests.e2e.conftest import Project
from tests.fakes.child_modes import takes_long_with_pi

from pi_subagents import RunResult, Task
from pi_subagents.core import messages
from pi_subagents.core.value import as_dict
from pi_subagents.engines.pi.rpc import GUARD

pytestmark = pytest.mark.pi
both_modes = pytest.mark.usefixtures("child_mode")


def said(result: RunResult) -> tuple[str, str, str, tuple[str, ...]]:
    return result.status, result.output, result.error_message, result.notes


async def outcome(project: Project, *turns: object) -> RunResult:
    delegation = await project.delegate(Task("task", "do it"), script=list(turns))
    return delegation.results[0]


def retries(project: Project, result: RunResult) -> list[str]:
    """Return which attempts the transcript of a run tells of."""
    run_dir = project.path / ".pi/subagents/runs" / result.run_id
    return re.findall(r"Retrying \((.*?)\): ", (run_dir / "transcript.log").read_text())


@takes_long_with_pi
async def test_sixteen_tasks_give_sixteen_right_results_in_task_order(
    project: Project, child_mode: str
) -> None:
    """Each prompt is data, whatever it looks like and however long it is."""
    (project.path / "notes.txt").write_text("secret")
    templates = project.agent_dir / "prompts"
    templates.mkdir()
    (templates / "reload.md").write_text("EXPANDED")
    extensions = project.agent_dir / "extensions"
    extensions.mkdir()
    (extensions / "boom.js").write_text(
        'export default (pi) => pi.registerCommand("boom", '
        '{description: "x", handler: async () => process.exit(9)});'
    )
    long = "0123456789abcdef" * (5 * 1024 * 1024 // 16)
    odd = "\u2028 x\u0085y é 𝄞 'q' \"q\" \t\n\n end"
    plain = ["--approve", "@notes.txt", "-h", "--", "!ls", "a\r\nb", "a\x00b", odd, long]
    slashed = [
        "/reload",
        "/skill:x",
        "/boom",
        "\n/boom",
        " /reload",
        "\ufeff/boom",
        "\u00a0/reload",
    ]
    prompts = [*plain, *slashed]
    tasks = [Task(f"task {number}", prompt) for number, prompt in enumerate(prompts)]
    delegation = await project.delegate(*tasks, script=[{"echo": True}])
    # pi trims what it reads on its standard input; a command's message is taken as it is.
    arrived = [prompt.strip() for prompt in plain] if child_mode == "json" else plain
    expected = arrived + [GUARD + prompt for prompt in slashed]
    assert [(r.name, *said(r)) for r in delegation.results] == [
        (f"task {number}", "completed", text, "", ()) for number, text in enumerate(expected)
    ]
    assert len({r.session_id for r in delegation.results}) == 16


@both_modes
@pytest.mark.sample
async def test_a_model_error_is_a_failure_although_pi_exits_with_zero(project: Project) -> None:
    result = await outcome(project, {"error": {"status": 400, "message": "no such thing"}})
    assert (result.status, result.exit_code, result.stop_reason) == ("failed", 0, "error")
    assert "400" in result.error_message
    assert "no such thing" in result.error_message
    assert retries(project, result) == []


@both_modes
async def test_a_rate_limit_and_a_stream_cut_half_way_are_only_retries(project: Project) -> None:
    limited = {"error": {"status": 429, "message": "slow down"}}
    cut = {"text": "this will be cut off", "cut": True}
    result = await outcome(project, limited, cut, {"text": "whole"})
    assert said(result) == ("completed", "whole", "", ("Asked its model again 2 times",))
    assert retries(project, result) == ["1/3", "2/3"]


@both_modes
async def test_an_empty_answer_is_completed_with_the_placeholder_and_a_note(
    project: Project,
) -> None:
    result = await outcome(project, {"text": ""})
    assert said(result) == (
        "completed",
        "(no text output from sub-agent)",
        "",
        (messages.NOTE_EMPTY_ANSWER,),
    )


@both_modes
async def test_an_answer_cut_by_length_is_completed_with_a_note(project: Project) -> None:
    result = await outcome(project, {"text": "as far as I", "stop": "length"})
    assert said(result) == ("completed", "as far as I", "", (messages.NOTE_LENGTH,))


@both_modes
async def test_an_unknown_option_of_the_pi_command_is_told_with_pis_own_words(
    project: Project,
) -> None:
    project.env["PI_SUBAGENTS_PI"] += " --no-such-option"
    result = await outcome(project, {"text": "never"})
    assert (result.status, result.exit_code) == ("failed", 1)
    assert "--no-such-option" in result.error_message


@both_modes
async def test_the_same_call_for_ever_is_stopped_at_the_fifth(project: Project) -> None:
    call = {"toolCalls": [{"name": "bash", "arguments": {"command": "true"}}], "repeat": True}
    result = await outcome(project, call)
    assert said(result) == ("failed", "", messages.LOOP_DETECTED, ())
    assert result.tool_call_count >= 5  # pi may begin another before it hears of the end


async def test_five_different_edits_of_one_file_are_no_loop(project: Project) -> None:
    (project.path / "file.txt").write_text("a0 a1 a2 a3 a4 a5")
    edits = [
        {
            "toolCalls": [
                {
                    "name": "edit",
                    "arguments": {
                        "path": "file.txt",
                        "edits": [{"oldText": f"a{i}", "newText": f"b{i}"}],
                    },
                }
            ]
        }
        for i in range(6)
    ]
    result = await outcome(project, *edits, {"text": "edited"})
    assert said(result) == ("completed", "edited", "", ())
    assert (project.path / "file.txt").read_text() == "b0 b1 b2 b3 b4 b5"


@both_modes
async def test_a_time_out_ends_the_run_and_what_its_tool_left_running(project: Project) -> None:
    settings = {"subagents": {"extend_timeout_debounce": 0}}
    (project.path / ".pi/settings.json").write_text(json.dumps(settings))
    beside = project.path / "beside.pid"
    command = f"setsid sleep 1000 & echo $! > {beside}; sleep 1000"
    call = {"toolCalls": [{"name": "bash", "arguments": {"command": command}}]}
    delegation = await project.delegate(Task("slow", "wait", timeout_s=6), script=[call])
    result = delegation.results[0]
    assert said(result) == (
        "failed",
        "",
        "Timed out after 6s. Consider resuming with a longer timeout.",
        (),
    )
    assert not Path(f"/proc/{int(beside.read_text())}").exists()


@both_modes
async def test_tokens_and_model_are_told_as_the_child_reported_them(project: Project) -> None:
    result = await outcome(project, {"text": "x", "usage": {"input": 1000, "output": 7}})
    assert (result.provider, result.model) == ("subagents-offline", "offline")
    assert as_dict(result.usage) == {
        "input": 1000,
        "output": 7,
        "cache_read": 0,
        "cache_write": 0,
        "total_tokens": 1007,
        "cost": 0.0,
        "cost_is_billed": False,
    }


@pytest.mark.parametrize(
    ("decision", "expected"), [({}, "--no-approve"), ({"trusted": True}, "--approve")]
)
async def test_trust_follows_pis_own_saved_decision(
    project: Project, decision: dict[str, bool], expected: str
) -> None:
    saved = {str(project.path.resolve()): True} if decision else {}
    (project.agent_dir / "trust.json").write_text(json.dumps(saved))
    result = await outcome(project, {"text": "ok"})
    meta = json.loads((project.path / f".pi/subagents/runs/{result.run_id}/meta.json").read_text())
    assert [word for word in meta["argv"] if "approve" in word] == [expected]


async def test_offline_leaves_the_users_agent_directory_as_it_is(project: Project) -> None:
    before = {p.name: p.read_bytes() for p in project.agent_dir.iterdir() if p.is_file()}
    await outcome(project, {"text": "ok"})
    after = {p.name: p.read_bytes() for p in project.agent_dir.iterdir() if p.is_file()}
    assert {name: after[name] for name in before} == before
    # pi itself keeps two caches there; a models.json of ours would be one too many.
    assert set(after) - set(before) <= {"auth.json", "models-store.json"}
