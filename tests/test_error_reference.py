"""
The error reference of the tools, row by row: each condition produced for real, to the character.

Every call here has a healthy sibling.  Where the whole call is refused, nothing of it may be left;
where one task fails, the sibling answers, and both have a session id.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest
from scripts import update_docs
from tests.fakes.driver import PATIENCE_S
from tests.fakes.workplace import Workplace, open_workplace

from pi_subagents.api import call_tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

DELEGATE = "delegate_to_subagents"
RETRIEVAL = ["get_subagent_output", "get_subagent_session"]
HEALTHY = {"name": "healthy", "prompt": "healthy"}
ABSENT = "c4d5e6f7a8b9c0d1"
KB = 1024
READ: dict[str, object] = {"path": "notes.md"}

SESSION_NOT_FOUND = 'Session "{}" not found. The session may have expired or the ID is incorrect.'
RESUME_RUNNING = (
    'Cannot resume: session "{}" is still running. Wait for it to complete before resuming.'
)
RESUME_NOT_FOUND = (
    'Cannot resume: session "{}" not found. The session may have expired or the ID is incorrect.'
)
UNKNOWN_PROFILE = 'Unknown profile: "{}". Available profiles: {}'
SPAWN_FAILED = "Failed to spawn sub-agent process"
TIMED_OUT = "Timed out after {}s. Consider resuming with a longer timeout."
CWD_RELATIVE = "cwd must be an absolute path"
CWD_CLIMBS = "cwd must not contain '..' path segments"
UNKNOWN_SKILLS = 'Unknown skills: "{}". Available skills: {}'
SUGGESTED_BUT_NO_SKILLS = (
    'Profile "{}" has both "suggestedSkills" and "noSkills" set. '
    "These are mutually exclusive — --no-skills would override --skill flags."
)
LOADED_BUT_NO_SKILLS = (
    'Profile "{}" has both "loadSkills" and "noSkills" set. '
    "These are mutually exclusive — --no-skills disables skill discovery."
)
LOOPING = "Loop detected: sub-agent is repeating the same tool calls"
FILE_NOT_FOUND = "[file not found: {}]"
FILE_UNREADABLE = "[could not read file: {}]"
FILE_TOO_LARGE = "[file too large: {} ({}KB, limit 1024KB)]"
OVERRIDES_TOOLS = (
    'Refusing extraArg "{}" which would override profile tool restrictions. '
    "Use the dedicated profile fields instead."
)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    """A project with fake children and no profiles yet, audited at the end."""
    if sys.platform != "linux":
        pytest.skip("the fakes and the auditor read /proc")
    async with open_workplace(tmp_path) as workplace:
        shutil.rmtree(profiles_of_user(workplace), ignore_errors=True)
        yield workplace


def profiles_of_user(place: Workplace) -> Path:
    return place.home / ".pi" / "agent" / "agent-profiles"


def global_profile(place: Workplace, name: str, *fields: str) -> None:
    write(profiles_of_user(place) / f"{name}.md", f"name: {name}", *fields)


def project_profile(place: Workplace, name: str, *fields: str) -> None:
    write(place.project / ".pi" / "agent-profiles" / f"{name}.md", f"name: {name}", *fields)


def skill(place: Workplace, name: str) -> None:
    write(
        place.home / ".pi" / "agent" / "skills" / name / "SKILL.md",
        f"name: {name}",
        "description: Does something.",
    )


def write(path: Path, *fields: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["---", *fields, "---", ""]))


async def call(place: Workplace, name: str, parameters: object) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S):
        return await call_tool(name, parameters, cwd=place.project, env=place.env)


def refusal(message: str) -> dict[str, object]:
    return {
        "content": [{"type": "text", "text": message}],
        "details": {"isError": True},
        "isError": True,
    }


async def assert_call_refused(
    place: Workplace, message: str, task: dict[str, object], **parameters: object
) -> None:
    """Prove that neither a task nor its healthy siblings were begun."""
    runs, children = place.run_dirs(), len(place.driver.children)
    tasks = [HEALTHY, {"name": "bad", "prompt": "bad", **task}, HEALTHY]
    answer = await call(place, DELEGATE, {"tasks": tasks, **parameters})
    assert answer == refusal(message)
    assert place.run_dirs() == runs
    assert len(place.driver.children) == children


def begin(place: Workplace, task: dict[str, object]) -> asyncio.Task[dict[str, Any]]:
    """Begin a call whose second task is healthy; that one is still to be answered."""
    tasks = [{"name": "bad", "prompt": "bad", **task}, HEALTHY]
    return asyncio.create_task(call(place, DELEGATE, {"tasks": tasks}))


async def assert_task_failed(
    place: Workplace, work: asyncio.Task[dict[str, Any]], message: str
) -> dict[str, Any]:
    """Prove that a task failed alone, and return its entry."""
    await (await place.child("healthy")).answer_and_exit("unharmed")
    answer = await work
    bad, healthy = answer["details"]["results"]
    assert (bad["status"], bad["errorMessage"]) == ("error", message)
    assert (healthy["status"], healthy["output"]) == ("completed", "unharmed")
    await assert_every_session_can_be_asked_for(place, answer)
    of_bad, of_healthy = answer["content"][0]["text"].split("\n")
    assert of_bad.startswith(f"✗ bad: error — {message} (session: {bad['sessionId']})")
    assert of_healthy.startswith(f"✓ healthy: completed (session: {healthy['sessionId']})")
    assert answer["isError"] is False
    return dict(bad)


async def assert_every_session_can_be_asked_for(place: Workplace, answer: dict[str, Any]) -> None:
    results = answer["details"]["results"]
    ids = [result["sessionId"] for result in results]
    assert all(re.fullmatch("[0-9a-f]{16}", session_id) for session_id in ids)
    assert len(set(ids)) == len(ids)
    assert answer["details"]["sessionIds"] == ids
    for result in results:
        found = await call(place, "get_subagent_output", {"sessionId": result["sessionId"]})
        heard = found["details"]
        assert (heard["taskName"], heard["status"]) == (result["name"], result["status"])


async def answered_session(place: Workplace) -> str:
    """Run a healthy task alone, and return its session."""
    work = asyncio.create_task(call(place, DELEGATE, {"tasks": [HEALTHY]}))
    await (await place.child("healthy")).answer_and_exit("done")
    (session_id,) = (await work)["details"]["sessionIds"]
    return str(session_id)


# Sessions


@pytest.mark.parametrize("tool", RETRIEVAL)
async def test_a_session_that_never_was_is_not_found(place: Workplace, tool: str) -> None:
    answer = await call(place, tool, {"sessionId": ABSENT})
    assert answer == refusal(SESSION_NOT_FOUND.format(ABSENT))


@pytest.mark.parametrize("tool", RETRIEVAL)
async def test_a_session_whose_runs_were_removed_is_not_found(place: Workplace, tool: str) -> None:
    session_id = await answered_session(place)
    shutil.rmtree(place.run_dirs()[0].path)
    answer = await call(place, tool, {"sessionId": session_id})
    assert answer == refusal(SESSION_NOT_FOUND.format(session_id))


async def test_a_running_session_is_not_resumed(place: Workplace) -> None:
    work = asyncio.create_task(call(place, DELEGATE, {"tasks": [HEALTHY]}))
    child = await place.child("healthy")
    session_id = place.run_dir(child).read_meta()["sessionId"]
    message = RESUME_RUNNING.format(session_id)
    await assert_call_refused(place, message, {"resume": session_id})
    await child.answer_and_exit("undisturbed")
    assert (await work)["details"]["results"][0]["output"] == "undisturbed"


async def test_a_session_that_never_was_is_not_resumed(place: Workplace) -> None:
    await assert_call_refused(place, RESUME_NOT_FOUND.format(ABSENT), {"resume": ABSENT})
    assert place.run_dirs() == []


async def test_a_session_whose_runs_were_removed_is_not_resumed(place: Workplace) -> None:
    session_id = await answered_session(place)
    shutil.rmtree(place.run_dirs()[0].path)
    await assert_call_refused(place, RESUME_NOT_FOUND.format(session_id), {"resume": session_id})


# Profiles and skills


async def test_an_unknown_profile_fails_its_task_and_names_the_others(place: Workplace) -> None:
    global_profile(place, "writer")
    global_profile(place, "reviewer")
    project_profile(place, "tester")
    work = begin(place, {"profile": "nobody"})
    message = UNKNOWN_PROFILE.format("nobody", "reviewer, tester, writer")
    bad = await assert_task_failed(place, work, message)
    assert (bad["output"], bad["exitCode"], bad["notes"]) == ("", None, [])
    assert len(place.driver.children) == 1


@pytest.mark.parametrize("name", ["nobody", "constructor", "__proto__"])
async def test_an_unknown_profile_where_there_are_none(place: Workplace, name: str) -> None:
    work = begin(place, {"profile": name})
    await assert_task_failed(place, work, UNKNOWN_PROFILE.format(name, "(none)"))


async def test_an_unknown_profile_of_the_call_fails_the_tasks_that_would_use_it(
    place: Workplace,
) -> None:
    global_profile(place, "known")
    tasks = [{"name": "bad", "prompt": "bad"}, {**HEALTHY, "profile": "known"}]
    parameters = {"tasks": tasks, "profile": "nobody"}
    work = asyncio.create_task(call(place, DELEGATE, parameters))
    await assert_task_failed(place, work, UNKNOWN_PROFILE.format("nobody", "known"))


@pytest.mark.parametrize("field", ["suggestedSkills", "loadSkills"])
async def test_an_unknown_skill_fails_its_task_and_names_the_others(
    place: Workplace, field: str
) -> None:
    skill(place, "skill-a")
    skill(place, "skill-b")
    global_profile(place, "skilled", f"{field}: skill-a, bad-name")
    work = begin(place, {"profile": "skilled"})
    message = UNKNOWN_SKILLS.format("bad-name", "skill-a, skill-b")
    bad = await assert_task_failed(place, work, message)
    assert (bad["output"], bad["exitCode"]) == ("", None)
    assert len(place.driver.children) == 1


async def test_every_unknown_skill_is_named_where_there_are_none(place: Workplace) -> None:
    global_profile(place, "skilled", "suggestedSkills: one", "loadSkills: two")
    work = begin(place, {"profile": "skilled"})
    await assert_task_failed(place, work, UNKNOWN_SKILLS.format('one", "two', "(none)"))


@pytest.mark.parametrize(
    ("field", "message"),
    [("suggestedSkills", SUGGESTED_BUT_NO_SKILLS), ("loadSkills", LOADED_BUT_NO_SKILLS)],
)
async def test_skills_beside_no_skills_refuse_the_call(
    place: Workplace, field: str, message: str
) -> None:
    skill(place, "skill-a")
    global_profile(place, "torn", f"{field}: skill-a", "noSkills: true")
    await assert_call_refused(place, message.format("torn"), {"profile": "torn"})
    await assert_call_refused(place, message.format("torn"), {}, profile="torn")
    assert place.run_dirs() == []


@pytest.mark.parametrize("restriction", ["tools: read", "excludeTools: bash", "noTools: true"])
@pytest.mark.parametrize(
    "items",
    ["--tools, bash", "-t, bash", "--no-tools", "-nt",
     "--tools=bash", "-t=bash", "--no-tools=false", "-nt=false"],
)  # fmt: skip
async def test_an_extra_arg_cannot_undo_the_tool_restrictions(
    place: Workplace, restriction: str, items: str
) -> None:
    global_profile(place, "restricted", restriction, f"extraArgs: {items}")
    message = OVERRIDES_TOOLS.format(items.partition(",")[0])
    await assert_call_refused(place, message, {"profile": "restricted"})
    assert place.run_dirs() == []


async def test_without_restrictions_an_extra_arg_may_choose_the_tools(place: Workplace) -> None:
    global_profile(place, "free", "extraArgs: --tools, read")
    task = {**HEALTHY, "profile": "free"}
    work = asyncio.create_task(call(place, DELEGATE, {"tasks": [task]}))
    child = await place.child("healthy")
    assert child.arguments[-6:-4] == ["--tools", "read"]
    await child.answer_and_exit("done")
    assert (await work)["details"]["results"][0]["status"] == "completed"


# Where a task works


async def test_a_relative_directory_refuses_the_call(place: Workplace) -> None:
    for cwd in ("src", "./src", "", "~/src", "../src"):
        await assert_call_refused(place, CWD_RELATIVE, {"cwd": cwd})
    assert place.run_dirs() == []


async def test_a_climbing_directory_refuses_the_call(place: Workplace) -> None:
    for cwd in (f"{place.project}/..", f"{place.project}/../project", "/.."):
        await assert_call_refused(place, CWD_CLIMBS, {"cwd": cwd})
    assert place.run_dirs() == []


# How a child ends


async def test_a_pi_that_cannot_be_started_fails_each_task_for_itself(place: Workplace) -> None:
    """The healthy sibling shares its pi here; tests/integration has one that does not."""
    program = place.home / "pi"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o700)
    env = {**place.env, "PI_SUBAGENTS_PI": str(program)}
    parameters = {"tasks": [{"name": "bad", "prompt": "bad"}, HEALTHY]}
    answer: dict[str, Any] = await call_tool(DELEGATE, parameters, cwd=place.project, env=env)
    results = answer["details"]["results"]
    assert [(each["name"], each["status"], each["errorMessage"]) for each in results] == [
        ("bad", "error", SPAWN_FAILED),
        ("healthy", "error", SPAWN_FAILED),
    ]
    await assert_every_session_can_be_asked_for(place, answer)
    assert answer["isError"] is False
    assert all("No such file" in each["notes"][0] for each in results)


@pytest.mark.parametrize(("timeout", "heard"), [(1.0, "1"), (1.25, "1.25")])
async def test_a_silent_child_is_timed_out(place: Workplace, timeout: float, heard: str) -> None:
    set_setting(place, "extend_timeout_debounce", 0)
    work = begin(place, {"timeout": timeout})
    child = await place.child("bad")
    bad = await assert_task_failed(place, work, TIMED_OUT.format(heard))
    assert bad["exitCode"] == 143
    await child.gone()


async def test_a_child_that_repeats_itself_is_ended(place: Workplace) -> None:
    set_setting(place, "looping_tool_count", 3)
    work = begin(place, {})
    child = await place.child("bad")
    await child.loop(3, "read", READ)
    await child.gone()
    bad = await assert_task_failed(place, work, LOOPING)
    assert bad["exitCode"] == 143


def set_setting(place: Workplace, key: str, value: int) -> None:
    settings = {"subagents": {key: value}}
    (place.project / ".pi" / "settings.json").write_text(json.dumps(settings))


# Files


async def assert_prompt_holds(place: Workplace, path: str, placeholder: str) -> None:
    """Prove what the child reads in place of a file, and that its task goes on."""
    task = {**HEALTHY, "files": [path]}
    work = asyncio.create_task(call(place, DELEGATE, {"tasks": [task]}))
    child = await place.child(f"=== {path} ===")
    assert (await child.prompt()).decode() == f"=== {path} ===\n{placeholder}\n\nhealthy"
    await child.answer_and_exit("did without")
    answer = await work
    (result,) = answer["details"]["results"]
    assert (result["status"], result["output"], result["notes"]) == ("completed", "did without", [])
    await assert_every_session_can_be_asked_for(place, answer)


async def test_a_missing_file_is_told_in_its_place(place: Workplace) -> None:
    await assert_prompt_holds(place, "src/gone.md", FILE_NOT_FOUND.format("src/gone.md"))


async def test_an_unreadable_file_is_told_in_its_place(place: Workplace) -> None:
    (place.project / "photo.png").write_bytes(b"\x89PNG\xff")
    await assert_prompt_holds(place, "photo.png", FILE_UNREADABLE.format("photo.png"))


async def test_a_directory_in_place_of_a_file_is_told(place: Workplace) -> None:
    await assert_prompt_holds(place, ".pi", FILE_UNREADABLE.format(".pi"))


@pytest.mark.parametrize(("size", "heard"), [(1500 * KB, 1500), (1024 * KB + 1, 1025)])
async def test_a_large_file_is_told_in_its_place(place: Workplace, size: int, heard: int) -> None:
    (place.project / "big.log").write_bytes(b"x" * size)
    await assert_prompt_holds(place, "big.log", FILE_TOO_LARGE.format("big.log", heard))


# The page


def test_every_message_of_the_reference_is_on_the_page_of_errors() -> None:
    reference = [
        SESSION_NOT_FOUND, RESUME_RUNNING, RESUME_NOT_FOUND, UNKNOWN_PROFILE, SPAWN_FAILED, TIMED_OUT,
        CWD_RELATIVE, CWD_CLIMBS, UNKNOWN_SKILLS, LOOPING, FILE_NOT_FOUND, FILE_UNREADABLE,
        OVERRIDES_TOOLS, FILE_TOO_LARGE.replace("1024", "{}"),
        'Profile "{}" has both "{}" and "{}" set. These are mutually exclusive — {}.',
        "--no-skills would override --skill flags", "--no-skills disables skill discovery",
    ]  # fmt: skip
    page = re.sub(r"\{[\w ]+\}", "{}", update_docs.ERRORS.read_text("utf-8"))
    assert [message for message in reference if message not in page] == []
