"""What differs between children that take commands and children that only read their prompt."""

import json
from pathlib import Path

import pytest
from tests.e2e.conftest import Project

from pi_subagents import RunResult, Task, delegate
from pi_subagents.core import messages as core_messages
from pi_subagents.engines.pi import messages as pi_messages

pytestmark = pytest.mark.pi

ASKING_AT_ITS_START = """export default (pi) => pi.on(
  "session_start", async (_event, ctx) => { await ctx.ui.confirm("Begin?", "Really?"); },
);
"""
ASKING = """export default (pi) => {
  pi.on("before_agent_start", async (_event, ctx) => { await ctx.ui.confirm("Begin?", ""); });
  pi.registerTool({
    name: "ask", label: "Ask", description: "Asks.", parameters: { type: "object", properties: {} },
    async execute(_id, _params, _signal, _update, ctx) {
      const said = [
        await ctx.ui.confirm("Sure?", "x"), await ctx.ui.select("Which?", ["a", "b"]),
        await ctx.ui.input("Name?"), await ctx.ui.editor("Text?", "old"),
      ];
      return { content: [{ type: "text", text: JSON.stringify(said) }], details: {} };
    },
  });
};
"""
SWALLOWING = 'export default (pi) => pi.on("input", async () => ({ action: "handled" }));'
ASKED = (
    ("confirm", "Begin?"),
    ("confirm", "Sure?"),
    ("select", "Which?"),
    ("input", "Name?"),
    ("editor", "Text?"),
)


def add_extension(project: Project, source: str) -> None:
    directory = project.agent_dir / "extensions"
    directory.mkdir()
    (directory / "theirs.js").write_text(source)


def run_dir(project: Project, result: RunResult) -> Path:
    return project.path / ".pi/subagents/runs" / result.run_id


def journal(project: Project, result: RunResult, kind: str) -> list[dict[str, object]]:
    lines = (run_dir(project, result) / "events.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


async def unaided(project: Project) -> RunResult:
    """Delegate without the offline model: what the user's pi has of its own is all there is."""
    tasks = [Task("task", "do it")]
    return (await delegate(tasks, cwd=project.path, env=project.env)).results[0]


async def test_questions_of_an_extension_are_answered_at_once_and_with_no(
    project: Project, child_mode: str
) -> None:
    add_extension(project, ASKING)
    turns = [{"toolCalls": [{"name": "ask", "arguments": {}}]}, {"text": "asked"}]
    result = (await project.delegate(Task("task", "ask"), script=turns)).results[0]
    assert (result.status, result.output, result.notes) == ("completed", "asked", ())
    (finished,) = journal(project, result, "tool_result")
    assert finished["text"] == "[false,null,null,null]"
    # In JSON mode pi itself answers so, and nobody hears of it.
    dismissed = [pi_messages.note_dialog(*asked) for asked in ASKED]
    noted = [record["text"] for record in journal(project, result, "note")]
    assert noted == (dismissed if child_mode == "rpc" else [])


async def test_a_question_that_nobody_could_answer_in_time_is_told_with_a_way_out(
    project: Project, child_mode: str
) -> None:
    """While its extensions begin, pi reads no answers; in RPC mode it exits, and that is told."""
    add_extension(project, ASKING_AT_ITS_START)
    result = (await project.delegate(Task("task", "ask"), script=[{"text": "asked"}])).results[0]
    expected = {
        "rpc": ("failed", "", core_messages.prompt_refused(pi_messages.ASKED_TOO_EARLY)),
        "json": ("completed", "asked", ""),
    }
    assert (result.status, result.output, result.error_message) == expected[child_mode]


async def test_a_prompt_that_an_extension_handles_itself_is_an_error_and_no_wait(
    project: Project, child_mode: str
) -> None:
    add_extension(project, SWALLOWING)
    result = (await project.delegate(Task("task", "do it"), script=[{"text": "never"}])).results[0]
    expected = {
        "rpc": core_messages.prompt_refused(pi_messages.NO_RUN_STARTED),
        "json": "Sub-agent exited with code 0 without an answer",
    }
    assert (result.status, result.error_message) == ("failed", expected[child_mode])


async def test_a_child_without_a_key_says_so_with_a_way_out(
    project: Project, child_mode: str
) -> None:
    """In RPC mode pi is up and refuses the prompt; in JSON mode it does not get that far."""
    project.env["PI_SUBAGENTS_PI"] += " --provider anthropic --model claude-sonnet-4-5"
    result = await unaided(project)
    opening = {
        "rpc": "Sub-agent could not start: No API key found for anthropic.",
        "json": "Sub-agent exited with code 1 without an answer: No API key found for anthropic.",
    }
    assert (result.status, result.notes) == ("failed", (core_messages.NOTE_NO_MODEL,))
    assert result.error_message.startswith(opening[child_mode])
    assert "\n" not in result.error_message


@pytest.mark.usefixtures("child_mode")
async def test_a_provider_that_there_is_not_ends_pi_at_its_start(project: Project) -> None:
    project.env["PI_SUBAGENTS_PI"] += " --provider nobody --model x"
    result = await unaided(project)
    assert (result.status, result.exit_code) == ("failed", 1)
    assert result.error_message.startswith("Sub-agent exited with code 1 without an answer: ")
    assert "nobody" in result.error_message


async def test_how_a_child_is_started_tells_how_it_is_spoken_to(
    project: Project, child_mode: str
) -> None:
    result = (await project.delegate(Task("task", "x"), script=[{"text": "ok"}])).results[0]
    meta = json.loads((run_dir(project, result) / "meta.json").read_text())
    words = {"rpc": ["--mode", "rpc", "--no-approve"], "json": ["--mode", "json", "-p"]}
    first = meta["argv"].index("--mode")
    assert meta["argv"][first : first + 3] == words[child_mode]
    assert meta["childMode"] == child_mode
    assert (result.status, result.exit_code, result.output) == ("completed", 0, "ok")
