"""The refusals that come before anything is looked up or started."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pi_subagents import FileSpec, Task, delegate, errors, start, steer
from pi_subagents.api import call_tool
from pi_subagents.config.profile_files import invalidate_profiles_cache
from pi_subagents.core.messages import note_replaces
from pi_subagents.engines.pi.skills import files as skill_files

TASKS = [{"name": "a", "prompt": "b"}]


async def test_a_sub_agent_may_not_delegate(tmp_path: Path) -> None:
    with pytest.raises(errors.NestedDelegation):
        await delegate([Task("a", "b")], cwd=tmp_path, env={"PI_SUBAGENTS_CHILD": "1"})
    assert list(tmp_path.iterdir()) == []


async def test_a_refusal_is_a_value_for_whoever_calls_a_tool(tmp_path: Path) -> None:
    answer = await call_tool(
        "delegate_to_subagents", {"tasks": TASKS}, cwd=tmp_path, env={"PI_SUBAGENTS_CHILD": "1"}
    )
    assert answer == {
        "content": [{"type": "text", "text": str(errors.NestedDelegation())}],
        "details": {"isError": True},
        "isError": True,
    }
    assert list(tmp_path.iterdir()) == []


async def test_windows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(errors.PlatformNotSupported):
        await delegate([Task("a", "b")], cwd=tmp_path, env={})


async def test_an_unknown_tool_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    answer = await call_tool("nonsense", {}, cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert answer["isError"] is True
    assert str(answer["content"]).startswith(
        "[{'type': 'text', 'text': 'Unknown tool: \"nonsense\"."
    )


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"ofline": True}, "options"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": 17}, "concurrency"),
        ({"concurrency": "4"}, "concurrency"),
        ({"runner": "zzz"}, "runner"),
        ({"runner": ["tmux"]}, "runner"),
        ({"engine": 5}, "engine"),
        ({"offline": "yes"}, "offline"),
        ({"offline": None}, "offline"),
        ({"trust_project": "yes"}, "trust_project"),
        ({"profile": 5}, "profile"),
        ({"stop": True}, "stop"),
        ({"pool": object()}, "pool"),
        ({"on_update": "print"}, "on_update"),
        ({"on_notice": 1}, "on_notice"),
        ({"ask": True}, "ask"),
        ({"columns": "80"}, "columns"),
        ({"parent_tools": "read"}, "parent_tools"),
    ],
)
async def test_an_option_that_means_nothing_is_refused(
    tmp_path: Path, options: dict[str, Any], where: str
) -> None:
    """A misspelt `offline` must not send a task to a model that costs money."""
    with pytest.raises(errors.InvalidRequest) as refusal:
        await delegate([Task("a", "b")], cwd=tmp_path, env={}, **options)
    assert refusal.value.where == where
    answer = await call_tool("list_subagent_profiles", {}, cwd=tmp_path, env={}, **options)
    assert answer["isError"] is True


@pytest.mark.parametrize(
    ("task", "refusal"),
    [
        ({"prompt": 5}, "tasks[0].prompt: is required and must be a string"),
        ({"name": None}, "tasks[0].name: is required and must be a string"),
        ({"cwd": Path("/")}, "tasks[0].cwd: must be a string"),
        ({"timeout_s": "60"}, "tasks[0].timeout: must be a number of seconds"),
        ({"timeout_s": float("nan")}, "tasks[0].timeout: must be 1 to 86400 seconds"),
        ({"profile": 5}, "tasks[0].profile: must be a string"),
        ({"resume": b"a"}, "tasks[0].resume: must be a string"),
        ({"files": ("a.txt",)}, "tasks[0].files[0]: must be a FileSpec"),
        ({"files": "a.txt"}, "tasks[0].files: must be a tuple of FileSpec"),
        ({"files": 5}, "tasks[0].files: must be a tuple of FileSpec"),
        (
            {"files": (FileSpec(Path("/a")),)},  # type: ignore[arg-type]  # as a program may
            "tasks[0].files[0].path: is required and must be a string",
        ),
        (
            {"files": [FileSpec("/a", head=0)]},
            "tasks[0].files[0].head: must be a whole number of at least 1",
        ),
        (
            {"files": [FileSpec("/a", start="1")]},  # type: ignore[arg-type]  # as a program may
            "tasks[0].files[0].start: must be a whole number of at least 1",
        ),
        ({"files": [FileSpec("/a", start=3, end=2)]}, "tasks[0].files[0]: starts after it ends"),
        ({"model": 5}, "tasks[0].model: must be a string"),
        ({"model": " "}, "tasks[0].model: must not be empty"),
        (
            {"thinking": "hard"},
            "tasks[0].thinking: must be one of off, minimal, low, medium, high, xhigh, max",
        ),
        ({"thinking": 3}, "tasks[0].thinking: must be a string"),
        ({"tools": "read"}, "tasks[0].tools: must be a list of the names of tools"),
        ({"tools": ("read", 5)}, "tasks[0].tools: must be a list of the names of tools"),
    ],
)
async def test_a_task_of_wrong_types_is_refused_by_name(
    tmp_path: Path, task: dict[str, Any], refusal: str
) -> None:
    with pytest.raises(errors.InvalidRequest) as refused:
        await delegate([Task(**{"name": "a", "prompt": "b", **task})], cwd=tmp_path, env={})
    assert str(refused.value) == refusal
    with pytest.raises(errors.InvalidRequest):
        await start(Task(**{"name": "a", "prompt": "b", **task}), cwd=tmp_path, env={})


@pytest.mark.parametrize("options", [{"cwd": 5}, {"env": ["HOME"]}])
async def test_a_place_that_is_none_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidRequest) as refused:
        await delegate("a prompt", **options)
    assert refused.value.where in options


async def test_a_wait_for_a_message_has_its_limits(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidRequest, match="wait_seconds: must be 0 to 3600 seconds"):
        await steer("s", "text", wait_seconds=-1, cwd=tmp_path, env={})


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"session_id": 5}, "session_id: must be a string"),
        ({"message": 5}, "message: must be a string"),
        ({"message": " "}, "message: must not be empty"),
        ({"wait_seconds": "1"}, "wait_seconds: must be a number of seconds"),
        ({"cwd": 5}, "cwd: must be a path"),
        ({"env": 5}, "env: must be a mapping of names to texts"),
        ({"stop": 5}, "stop: must be a StopSwitch"),
    ],
)
async def test_a_message_of_wrong_types_is_refused_by_name(
    given: dict[str, Any], refusal: str
) -> None:
    with pytest.raises(errors.InvalidRequest) as refused:
        await steer(**{"session_id": "s", "message": "m", **given})
    assert str(refused.value) == refusal


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that is a project too, and a pi that nobody will get to start."""
    (tmp_path / "project").mkdir()
    invalidate_profiles_cache()
    return tmp_path


def profile(directory: Path, name: str, *fields: str) -> None:
    place = directory / "agent-profiles"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}.md").write_text("\n".join(["---", f"name: {name}", *fields, "---", ""]))


def environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PI_SUBAGENTS_PI": sys.executable}


async def test_the_tool_lists_the_profiles_of_both_directories(home: Path) -> None:
    project = home / "project"
    listed = await call_tool("list_subagent_profiles", {}, cwd=project, env=environment(home))
    assert listed["details"] == {"count": 0}
    profile(
        home / ".pi/agent", "fast", "provider: acme", "model: small", "appendSystemPrompt: Hurry."
    )
    profile(home / ".pi/agent", "reviewer", "model: big")
    profile(project / ".pi", "reviewer", "tools: read,grep", "modle: x")
    invalidate_profiles_cache()
    listed = await call_tool("list_subagent_profiles", {}, cwd=project, env=environment(home))
    lines = {
        "fast": 'profile: fast, provider=acme, model=small, appended-system-prompt="Hurry."',
        "reviewer": "profile: reviewer, tools=[read,grep]",
    }
    path = f"{project}/.pi/agent-profiles/reviewer.md"
    mistyped = f'{path}:4: unknown field "modle"; ignored (did you mean "model"?)'
    assert listed == {
        "content": [{"type": "text", "text": "\n".join(lines.values())}],
        "details": {
            "count": 2,
            "profiles": lines,
            "scopes": {"fast": "global", "reviewer": "project"},
            "problems": [mistyped, note_replaces("profile", "reviewer", path)],
        },
        "isError": False,
    }


async def test_skills_are_looked_for_once_in_a_call_and_only_if_a_profile_wants_some(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, field in (
        ("a", "suggestedSkills: x"),
        ("b", "loadSkills: y"),
        ("c", "loadSkills: z"),
    ):
        profile(home / ".pi/agent", name, field)
    profile(home / ".pi/agent", "none", "tools: nothing", "noExtensions: true")
    searches = []
    discover = skill_files.discover_skills

    def counted(cwd: Path, env: Mapping[str, str], *, trusted: bool) -> skill_files.Skills:
        searches.append(cwd)
        return discover(cwd, env, trusted=trusted)

    monkeypatch.setattr(skill_files, "discover_skills", counted)
    project, env = home / "project", environment(home)
    tasks = [Task("t", "p", profile=name) for name in "abca"]
    done = await delegate(tasks, cwd=project, env=env)
    assert [result.error_message for result in done.results] == [
        f'Unknown skills: "{name}". Available skills: (none)' for name in "xyzx"
    ]
    once_more_for_what_trust_would_add = [project] * 2
    assert searches == once_more_for_what_trust_would_add
    await delegate([Task("t", "p", profile="none")], cwd=project, env=env)
    assert searches == once_more_for_what_trust_would_add
    searches.clear()
    await delegate(tasks, cwd=project, env=env, trust_project=True)
    assert searches == [project]


async def test_a_skill_in_a_project_that_is_not_trusted_is_not_called_unknown(home: Path) -> None:
    profile(home / ".pi/agent", "sailor", "loadSkills: sailing")
    skill = home / "project/.pi/skills/sailing/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: sailing\ndescription: d\n---\nMind the wind.\n")
    task = Task("t", "p", profile="sailor")
    done = await delegate([task], cwd=home / "project", env=environment(home))
    assert done.results[0].error_message == (
        'The skill "sailing" is the project\'s own, and the project is not trusted. '
        "Trust it in pi (/trust), or with --trust-project, if you have read the skill."
    )
