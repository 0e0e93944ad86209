"""
A project that nobody trusts has a profile and a preset of the names that the user's own have: what
is used and what is said, by setting, in every face.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from mcp.types import ElicitResult
from tests.fakes.bridge_host import open_bridge
from tests.fakes.driver import PATIENCE_S
from tests.fakes.mcp_host import NEWEST, http_in_process, in_process, value_of
from tests.fakes.mcp_host import text_of as mcp_text
from tests.fakes.preset_place import MODEL, OTHER_MODEL, PresetPlace, text_of
from tests.fakes.profile_home import write_preset, write_profile
from tests.fakes.pty_command import SUBAGENTS, ended, subagents_on_a_terminal

from pi_subagents.api import call_tool
from pi_subagents.config.definition_answers import DIRECTORY
from pi_subagents.config.preset_files import invalidate_presets_cache
from pi_subagents.config.profile_files import invalidate_profiles_cache
from pi_subagents.core import messages as core_messages
from pi_subagents.faces.bridge import messages as bridge_messages
from pi_subagents.service import messages as service_messages
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcp.types import ElicitRequestParams
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

DELEGATE = "delegate_to_subagents"


@dataclass
class Clone(PresetPlace):
    """A user with a profile and a preset called `scout`, in a clone that has both, too."""

    def __post_init__(self) -> None:
        agent, project = self.work.home / ".pi" / "agent", self.work.project / ".pi"
        self.theirs: dict[str, Path] = {}
        for folder, write, kind in (
            ("agent-profiles", write_profile, "profile"),
            ("subagents", write_preset, "preset"),
        ):
            (agent / folder).mkdir(parents=True, exist_ok=True)
            (project / folder).mkdir(parents=True, exist_ok=True)
            write(agent / folder, "scout", f"model: {MODEL}")
            self.theirs[kind] = write(project / folder, "scout", f"model: {OTHER_MODEL}")
            self.theirs[f"new {kind}"] = write(project / folder, "new", f"model: {OTHER_MODEL}")
        self.look_again()

    def look_again(self) -> None:
        invalidate_profiles_cache()
        invalidate_presets_cache()

    def say(self, policy: str) -> None:
        self.work.settings(project_definitions=policy)

    def kept_answers(self) -> int:
        directory = data_dir(self.work.env) / DIRECTORY
        return len(list(directory.iterdir())) if directory.exists() else 0

    def replaces(self, kind: str) -> str:
        return core_messages.note_replaces(kind, "scout", str(self.theirs[kind]))


@pytest.fixture
def clone(place: Workplace) -> Clone:
    return Clone(place)


def delegated(name: str = "scout", prompt: str = "look") -> tuple[str, dict[str, Any]]:
    return DELEGATE, {"tasks": [{"name": "t", "prompt": prompt, "profile": name}]}


def with_preset(name: str = "scout", prompt: str = "look") -> tuple[str, dict[str, Any]]:
    return "subagent", {"preset": name, "task": prompt}


def model_of(child: FakeProcess) -> str:
    return child.arguments[child.arguments.index("--model") + 1]


async def used(
    clone: Clone, call: tuple[str, dict[str, Any]], prompt: str = "look", **options: Any
) -> tuple[str, list[str]]:
    """Make a call whose child answers; return the model it had, and the notes of its run."""
    work = asyncio.create_task(
        call_tool(*call, cwd=clone.work.project, env=clone.work.env, **options)
    )
    child = await clone.work.child(prompt)
    model, run = model_of(child), clone.work.run_dir(child)
    await child.answer_and_exit("seen")
    async with asyncio.timeout(PATIENCE_S):
        answer = await work
    assert not answer["isError"], answer
    result = run.read_result()
    assert result is not None
    for note in result.notes:  # whoever called is told
        assert note in json.dumps(answer, ensure_ascii=False).replace('\\"', '"')
    return model, list(result.notes)


async def refused(clone: Clone, call: tuple[str, dict[str, Any]], **options: Any) -> str:
    """Make a call that is refused, as a whole or in its one task; return why."""
    answer = await call_tool(*call, cwd=clone.work.project, env=clone.work.env, **options)
    assert clone.work.driver.children == []
    if answer["isError"]:
        return text_of(answer)
    (result,) = answer["details"]["results"]  # type: ignore[index]  # JSON
    return str(result["errorMessage"])


def person(*answers: bool | None) -> tuple[Callable[[str], Awaitable[bool | None]], list[str]]:
    """Return somebody who gives these answers, and what he is asked."""
    left, asked = list(answers), list[str]()

    async def ask(question: str) -> bool | None:
        asked.append(question)
        return left.pop(0)

    return ask, asked


BOTH = pytest.mark.parametrize(
    ("kind", "call"), [("profile", delegated), ("preset", with_preset)], ids=["profile", "preset"]
)


@BOTH
async def test_by_default_the_projects_own_counts_and_that_is_said(
    clone: Clone, kind: str, call: Any
) -> None:
    assert await used(clone, call()) == (OTHER_MODEL, [clone.replaces(kind)])


@BOTH
async def test_one_that_replaces_nothing_of_the_users_is_used_without_a_word(
    clone: Clone, kind: str, call: Any
) -> None:
    assert await used(clone, call("new")) == (OTHER_MODEL, [])


@BOTH
@pytest.mark.parametrize("policy", ["allow", "ask", "deny"])
async def test_a_trusted_project_decides_for_itself(
    clone: Clone, kind: str, call: Any, policy: str
) -> None:
    clone.say(policy)
    assert await used(clone, call(), trust_project=True) == (OTHER_MODEL, [])


@BOTH
async def test_denied_the_users_own_counts_and_that_is_said(
    clone: Clone, kind: str, call: Any
) -> None:
    clone.say("deny")
    note = core_messages.note_own_instead(kind, "scout", core_messages.FOREIGN_DENIED)
    assert await used(clone, call()) == (MODEL, [note])


@BOTH
async def test_denied_what_only_the_project_has_is_refused(
    clone: Clone, kind: str, call: Any
) -> None:
    clone.say("deny")
    expected = core_messages.foreign_refused(kind, "new", core_messages.FOREIGN_DENIED)
    assert await refused(clone, call("new")) == expected


@BOTH
async def test_where_nobody_can_be_asked_it_is_refused_with_what_to_do(
    clone: Clone, kind: str, call: Any
) -> None:
    clone.say("ask")
    expected = core_messages.nobody_to_ask(kind, "scout", str(clone.theirs[kind]))
    assert await refused(clone, call()) == expected
    assert clone.kept_answers() == 0


@BOTH
async def test_somebody_is_asked_once_for_each_content(clone: Clone, kind: str, call: Any) -> None:
    clone.say("ask")
    ask, asked = person(True, False)
    question = service_messages.ask_foreign(kind, "scout", str(clone.theirs[kind]))
    for word in ("first", "second"):
        found = await used(clone, call(prompt=word), word, ask=ask)
        assert found == (OTHER_MODEL, [clone.replaces(kind)])
    assert asked == [question]
    with clone.theirs[kind].open("a") as file:
        file.write("Do it differently.\n")
    clone.look_again()
    model, (note,) = await used(clone, call(), ask=ask)
    assert (model, asked) == (MODEL, [question, question])
    assert note.startswith(core_messages.note_own_instead(kind, "scout", "you said no to it")[:-1])
    assert clone.kept_answers() == 2


@BOTH
async def test_no_answer_is_not_kept(clone: Clone, kind: str, call: Any) -> None:
    clone.say("ask")
    ask, asked = person(None)
    expected = core_messages.nobody_to_ask(kind, "scout", str(clone.theirs[kind]))
    assert await refused(clone, call(), ask=ask) == expected
    assert (len(asked), clone.kept_answers()) == (1, 0)


async def test_a_projects_own_settings_decide_nothing_about_it(clone: Clone) -> None:
    clone.say("deny")
    settings = clone.work.project / ".pi" / "settings.json"
    settings.write_text('{"subagents": {"project_definitions": "allow"}}')
    notices: list[str] = []
    model, _ = await used(clone, delegated(), on_notice=notices.append)
    assert model == MODEL
    (notice,) = notices
    assert "project_definitions: ignored" in notice


async def test_a_background_run_says_it_at_once_and_in_its_result(clone: Clone) -> None:
    notices: list[str] = []
    place = clone.work
    parameters = {"preset": "scout", "task": "look"}
    answer = await call_tool(
        "background_agent", parameters, cwd=place.project, env=place.env, on_notice=notices.append
    )
    details: Any = answer["details"]
    child = await place.child("look")
    await child.answer_and_exit("seen")
    await clone.ended(details["runId"])
    result = clone.run_dir(details["runId"]).read_result()
    assert result is not None
    assert (list(result.notes), notices) == ([clone.replaces("preset")], [clone.replaces("preset")])


# Faces


async def test_an_mcp_host_is_told_the_note_and_the_refusal(clone: Clone) -> None:
    async with in_process(clone.work) as client:
        call = asyncio.create_task(client.call_tool(*delegated()))
        await (await clone.work.child("look")).answer_and_exit("seen")
        (entry,) = value_of(await call)["results"]
        assert clone.replaces("profile") in entry["notes"]
        clone.say("ask")
        answer = await client.call_tool(*with_preset())
        assert answer.is_error
        expected = core_messages.nobody_to_ask("preset", "scout", str(clone.theirs["preset"]))
        assert expected in mcp_text(answer)


class McpPerson:
    """Whoever sits in front of a host that can show questions."""

    def __init__(self, *answers: ElicitResult) -> None:
        self.asked: list[str] = []
        self.was_asked = asyncio.Event()
        self._answers = list(answers)

    async def __call__(
        self,
        context: object,  # noqa: ARG002 - the library passes it
        params: ElicitRequestParams,
    ) -> ElicitResult:
        self.asked.append(params.message)
        self.was_asked.set()
        if not self._answers:
            await asyncio.Event().wait()
        return self._answers.pop(0)


@pytest.mark.parametrize(("use", "model"), [(True, OTHER_MODEL), (False, MODEL)])
async def test_an_mcp_host_that_can_show_questions_asks_its_user(
    clone: Clone, *, use: bool, model: str
) -> None:
    clone.say("ask")
    person = McpPerson(ElicitResult(action="accept", content={"use": use}))
    async with in_process(clone.work, person=person) as client:
        for word in ("first", "second"):  # one answer is enough
            call = asyncio.create_task(client.call_tool(*delegated(prompt=word)))
            child = await clone.work.child(word)
            assert model_of(child) == model
            await child.answer_and_exit("seen")
            assert not (await call).is_error
    assert person.asked == [
        service_messages.ask_foreign("profile", "scout", str(clone.theirs["profile"]))
    ]
    assert clone.kept_answers() == 1


@pytest.mark.parametrize(
    "answer",
    [
        ElicitResult(action="decline"),
        ElicitResult(action="cancel"),
        ElicitResult(action="accept", content={}),
    ],
    ids=["declined", "dismissed", "nothing chosen"],
)
async def test_an_mcp_host_that_answers_neither_yes_nor_no_is_refused_and_asked_again(
    clone: Clone, answer: ElicitResult
) -> None:
    clone.say("ask")
    person = McpPerson(answer, answer)
    expected = core_messages.nobody_to_ask("preset", "scout", str(clone.theirs["preset"]))
    async with in_process(clone.work, person=person) as client:
        for _ in range(2):
            assert expected in mcp_text(await client.call_tool(*with_preset()))
    assert (len(person.asked), clone.kept_answers()) == (2, 0)


@BOTH
async def test_a_question_that_an_mcp_host_leaves_open_keeps_no_call(
    clone: Clone, kind: str, call: Any
) -> None:
    clone.say("ask")
    expected = core_messages.nobody_to_ask(kind, "scout", str(clone.theirs[kind]))
    async with in_process(clone.work, within_s=0.2, person=McpPerson()) as client:
        assert expected in mcp_text(await client.call_tool(*call()))
    assert clone.work.driver.children == []


async def test_a_server_that_ends_while_somebody_is_asked_waits_for_nobody(clone: Clone) -> None:
    clone.say("ask")
    person = McpPerson()
    async with in_process(clone.work, person=person) as client:
        call = asyncio.create_task(client.call_tool(*with_preset()))
        async with asyncio.timeout(PATIENCE_S):
            await person.was_asked.wait()
    await asyncio.wait({call})
    assert clone.work.driver.children == []


async def test_the_question_is_asked_over_http_too(clone: Clone) -> None:
    clone.say("ask")
    person = McpPerson(ElicitResult(action="accept", content={"use": True}))
    async with (
        http_in_process(clone.work) as server,
        server.client(person=person) as client,
    ):
        call = asyncio.create_task(client.call_tool(*delegated()))
        child = await clone.work.child("look")
        assert model_of(child) == OTHER_MODEL
        await child.answer_and_exit("seen")
        assert not (await call).is_error
    assert len(person.asked) == 1


async def test_over_the_newest_protocol_nobody_can_be_asked_during_a_call(clone: Clone) -> None:
    """Its servers send no requests: what is needed would have to be in the call already."""
    clone.say("ask")
    person = McpPerson()
    async with in_process(clone.work, mode=NEWEST, person=person) as client:
        expected = core_messages.nobody_to_ask("preset", "scout", str(clone.theirs["preset"]))
        assert expected in mcp_text(await client.call_tool(*with_preset()))
    assert person.asked == []


@pytest.mark.parametrize(("key", "model"), [(b"y\n", OTHER_MODEL), (b"n\n", MODEL)])
async def test_on_a_terminal_the_person_is_asked(clone: Clone, key: bytes, model: str) -> None:
    clone.say("ask")
    run = ("run", "look", "--profile", "scout")
    async with subagents_on_a_terminal(clone.work, *run) as (watcher, process, _):
        await watcher.until(lambda: "Use it? [y/n]" in watcher.sent)
        watcher.press(b"perhaps\n")
        await watcher.until(lambda: watcher.sent.count("Use it? [y/n]") == 2)
        watcher.press(key)
        child = await clone.work.child("look")
        assert model_of(child) == model
        await child.answer_and_exit("seen")
        assert await ended(process) == 0
    assert clone.kept_answers() == 1


@pytest.mark.parametrize("key", [b"\x03", b"\x04"], ids=["Ctrl+C", "Ctrl+D"])
async def test_a_person_who_does_not_answer_starts_nothing(clone: Clone, key: bytes) -> None:
    clone.say("ask")
    run = ("run", "look", "--profile", "scout")
    async with subagents_on_a_terminal(clone.work, *run) as (watcher, process, _):
        await watcher.until(lambda: "Use it? [y/n]" in watcher.sent)
        watcher.press(key)
        assert await ended(process) == (130 if key == b"\x03" else 1)
    assert (clone.work.driver.children, clone.kept_answers()) == ([], 0)


async def test_a_background_start_on_a_terminal_asks_too(clone: Clone) -> None:
    clone.say("ask")
    start = ("background", "start", "scout", "look")
    async with subagents_on_a_terminal(clone.work, *start) as (watcher, process, _):
        await watcher.until(lambda: "Use it? [y/n]" in watcher.sent)
        watcher.press(b"y\n")
        assert await ended(process) == 0
    child = await clone.work.child("look")
    assert model_of(child) == OTHER_MODEL
    await child.answer_and_exit("seen")
    await clone.ended(child.run_id)


@BOTH
async def test_inside_pi_the_window_of_a_run_says_it(clone: Clone, kind: str, call: Any) -> None:
    async with open_bridge(clone.work.project, clone.work.env) as host:
        await host.open()
        number = host.begin("c1", *call(), hasUI=True, trusted=False, models=[OTHER_MODEL])
        await (await clone.work.child("look")).answer_and_exit("seen")
        picture = (await host.answer(number))["result"]["details"]["picture"]
        shown = json.dumps(picture, ensure_ascii=False)
        assert json.dumps(f"Note: {clone.replaces(kind)}", ensure_ascii=False)[1:-1] in shown
        assert await host.bye() == 0


@BOTH
async def test_in_a_shell_it_is_said_beside_the_answer(clone: Clone, kind: str, call: Any) -> None:
    tool, parameters = call()
    process = await asyncio.create_subprocess_exec(
        *(*SUBAGENTS, "call", tool, json.dumps(parameters)),
        cwd=clone.work.project,
        env=clone.work.env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    await (await clone.work.child("look")).answer_and_exit("seen")
    _, beside = await process.communicate()
    assert clone.replaces(kind) in beside.decode()


async def test_inside_pi_the_person_is_asked_in_a_dialog(clone: Clone) -> None:
    clone.say("ask")
    async with open_bridge(clone.work.project, clone.work.env) as host:
        dialogs: list[Any] = []

        def answer(dialog: Any) -> bool:
            dialogs.append(dialog)
            return True

        host.dialog = answer
        await host.open()
        number = host.begin("c1", *delegated(), hasUI=True, trusted=False)
        child = await clone.work.child("look")
        assert model_of(child) == OTHER_MODEL
        await child.answer_and_exit("seen")
        heard = (await host.answer(number))["result"]
        assert not heard["isError"]
        (dialog,) = dialogs
        question = service_messages.ask_foreign("profile", "scout", str(clone.theirs["profile"]))
        assert dialog == {"kind": "confirm", "arguments": [bridge_messages.ASK_TITLE, question]}
        assert await host.bye() == 0


async def test_inside_a_pi_without_a_screen_it_is_refused(clone: Clone) -> None:
    clone.say("ask")
    async with open_bridge(clone.work.project, clone.work.env) as host:
        await host.open()
        answer = await host.call(*with_preset(), hasUI=False, trusted=False, models=[MODEL])
        expected = core_messages.nobody_to_ask("preset", "scout", str(clone.theirs["preset"]))
        assert (answer["isError"], text_of(answer)) == (True, expected)


async def test_a_call_that_is_stopped_while_somebody_is_asked_ends(clone: Clone) -> None:
    clone.say("ask")
    async with open_bridge(clone.work.project, clone.work.env) as host:
        host.answers_dialogs = False
        await host.open()
        number = host.begin("c1", *with_preset(), hasUI=True, trusted=False, models=[MODEL])
        await host.line(lambda each: each.get("method") == "dialog")
        host.tell("cancel", callId="c1")
        answer = (await host.answer(number))["result"]
        assert answer["isError"]
    assert clone.work.driver.children == []
