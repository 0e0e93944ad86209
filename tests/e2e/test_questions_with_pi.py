"""Questions and permissions of the real pi: asked in a child, answered from somewhere else."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.command import subagents
from tests.e2e.conftest import Project
from tests.e2e.pi_under_test import needs_mcp
from tests.fakes.driver import PATIENCE_S

from pi_subagents import Task, Update, delegate, parse_script
from pi_subagents.config.profile_files import invalidate_profiles_cache
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult

pytestmark = pytest.mark.pi


def calls(name: str, **arguments: object) -> dict[str, Any]:
    return {"toolCalls": [{"name": name, "arguments": arguments}]}


ENDS = {"text": "Done."}


def with_profile(project: Project, fields: str) -> None:
    directory = project.agent_dir / "agent-profiles"
    directory.mkdir(exist_ok=True)
    (directory / "careful.md").write_text(f"---\nname: careful\n{fields}\n---\n")
    invalidate_profiles_cache()


class Asked:
    """A delegation whose questions are answered by the command, in a process of its own."""

    def __init__(self, project: Project, *answers: str) -> None:
        self.project = project
        self.answers = list(answers)
        self.questions: list[ev.Asked] = []
        self.said: list[str] = []
        self.events: list[ev.Event] = []
        self._threads: list[threading.Thread] = []

    def __call__(self, update: Update) -> None:
        if isinstance(update.what, RunResult):
            return
        self.events.append(update.what)
        if isinstance(update.what, ev.Asked):
            self.questions.append(update.what)
            run_id = update.run.spec.run_id
            thread = threading.Thread(target=self._answer, args=(run_id, self.answers.pop(0)))
            self._threads.append(thread)
            thread.start()

    def _answer(self, run_id: str, text: str) -> None:
        self.said.append(subagents(self.project, "answer", run_id, text).out)

    @property
    def heard(self) -> list[str]:
        """What the model read as the results of its calls."""
        return [each.text.strip() for each in self.events if isinstance(each, ev.ToolFinished)]

    async def result(self, task: Task, script: object) -> RunResult:
        project = self.project
        async with asyncio.timeout(PATIENCE_S):
            done = await delegate(
                task,
                cwd=project.path,
                env=project.env,
                offline=parse_script(script),
                on_update=self,
            )
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        return done.results[0]


async def test_ask_parent_waits_for_an_answer_from_another_terminal(project: Project) -> None:
    asked = Asked(project, "staging")
    result = await asked.result(
        Task("deploy", "Deploy it.", questions="ask"),
        [calls("ask_parent", question="Which database?"), ENDS],
    )
    assert asked.questions == [ev.Asked("1", "Which database?", (), 600)]
    assert asked.said == ["Answered: deploy goes on.\n"]
    assert (result.status, asked.heard) == ("completed", ["staging"])


async def test_ask_parent_offers_options_that_are_chosen_by_number(project: Project) -> None:
    asked = Asked(project, "2")
    await asked.result(
        Task("deploy", "Deploy it.", questions="ask", tools=("read",)),
        [calls("ask_parent", question="Which?", options=["old", "new"]), ENDS],
    )
    assert asked.questions == [ev.Asked("1", "Which?", ("old", "new"), 600)]
    assert asked.heard == ["new"]


async def test_without_an_answer_the_model_is_told_so_and_decides(project: Project) -> None:
    project.configure(answer_within=1)
    asked = Asked(project, "")
    await asked.result(
        Task("deploy", "Deploy it.", questions="ask"),
        [calls("ask_parent", question="Which database?"), ENDS],
    )
    assert asked.heard[0].startswith("Nobody answered. Decide yourself")


async def test_without_questions_there_is_no_tool_to_ask_with(project: Project) -> None:
    asked = Asked(project)
    await asked.result(
        Task("deploy", "Deploy it."),
        [calls("ask_parent", question="Which database?"), ENDS],
    )
    assert (asked.questions, asked.heard) == ([], ["Tool ask_parent not found"])


@pytest.mark.parametrize(
    ("typed", "made", "heard"),
    [("Allow", True, ""), ("deny", False, "This call of bash was not permitted. ")],
)
async def test_a_call_that_is_asked_about_is_made_only_if_somebody_allows_it(
    project: Project, typed: str, *, made: bool, heard: str
) -> None:
    with_profile(project, "permissions:\n  execute: ask")
    asked = Asked(project, typed)
    await asked.result(
        Task("deploy", "Deploy it.", profile="careful"),
        [calls("bash", command="touch deployed"), ENDS],
    )
    question = "May I call bash?\n\ntouch deployed"
    assert asked.questions == [ev.Asked("1", question, ("Allow", "Deny"), 600)]
    assert (project.path / "deployed").exists() is made
    assert heard in asked.heard[0]


@pytest.mark.parametrize("mode", ["rpc", "json"])
async def test_a_call_that_is_denied_is_never_made_and_the_model_knows_why(
    project: Project, mode: str
) -> None:
    project.configure(child_mode=mode)
    with_profile(project, "permissions: {edit: deny, other: deny}")
    asked = Asked(project)
    await asked.result(
        Task("deploy", "Deploy it.", profile="careful"),
        [
            calls("write", path="deployed", content="x"),
            calls("bash", command="echo but this may be done"),
            ENDS,
        ],
    )
    assert not (project.path / "deployed").exists()
    assert asked.heard == [
        "Calls of write are not permitted in this task. Do without it.",
        "but this may be done",
    ]


@needs_mcp
async def test_every_call_that_a_script_makes_is_checked(project: Project) -> None:
    with_profile(project, "tools: [codemode, bash, write]\npermissions: {execute: ask, edit: deny}")
    code = """
      const tried = [];
      for (const command of ["touch one", "touch two"])
        tried.push(await tools.bash({ command }).then(() => "made", () => "refused"));
      tried.push(await tools.write({ path: "three", content: "x" }).then(() => "made", () => "refused"));
      return tried.join(" ");
    """
    asked = Asked(project, "Allow", "Deny")
    await asked.result(
        Task("deploy", "Deploy it.", profile="careful"), [calls("codemode", code=code), ENDS]
    )
    assert [each.text for each in asked.questions] == [
        "May I call bash?\n\ntouch one",
        "May I call bash?\n\ntouch two",
    ]
    assert [(project.path / name).exists() for name in ("one", "two", "three")] == [
        True,
        False,
        False,
    ]
    assert "made refused refused" in asked.heard[-1]


async def test_a_dialog_of_another_extension_is_a_question_too(
    project: Project, tmp_path: Path
) -> None:
    extension = tmp_path / "asking.mjs"
    extension.write_text("""export default (pi) => pi.registerTool({
      name: "sure", label: "Sure", description: "Asks.",
      parameters: { type: "object", properties: {} },
      execute: async (_id, _given, _signal, _update, ctx) => ({
        content: [{ type: "text", text: String(await ctx.ui.confirm("Sure?", "Really?")) }], details: {},
      }),
    });""")
    with_profile(project, f"questions: ask\nextensions: [{json.dumps(str(extension))}]")
    asked = Asked(project, "y")
    await asked.result(Task("deploy", "Deploy it.", profile="careful"), [calls("sure"), ENDS])
    assert asked.questions == [ev.Asked("1", "Sure?\n\nReally?", ("Yes", "No"), 600)]
    assert asked.heard == ["true"]
