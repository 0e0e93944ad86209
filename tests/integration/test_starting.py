"""What a child is started with: exactly what was meant, and nothing in the open."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest
from tests.fakes import canary
from tests.fakes.child_modes import takes_long
from tests.fakes.driver import FAKE_PI
from tests.fakes.processes import command_lines
from tests.fakes.workplace import answered, comparable, expected

from pi_subagents.core.run import events as ev
from pi_subagents.core.task.request import Task
from pi_subagents.core.value import replace
from pi_subagents.engines.pi.invocation import REPORTING
from pi_subagents.engines.pi.rpc import compose_prompt

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

pytestmark = takes_long
FILES_OF_A_RUNNING_RUN = {
    *(".result.reserved", "events.jsonl", "meta.json", "prompt.md"),
    *("stderr.log", "stdout.log", "transcript.log"),
}
ARGUMENTS = {
    "json": ["--mode", "json", "-p", "--no-approve", "--no-mcp", *REPORTING],
    "rpc": ["--mode", "rpc", "--no-approve", "--no-mcp", *REPORTING],
}
SPAWN_FAILED = "Failed to spawn sub-agent process"
CANARY = "canary-6b1f"
PROMPTS = [
    "-h",
    "--",
    "--approve",
    "--mode rpc --approve",
    "@notes.txt",
    "@/etc/passwd",
    "!rm -rf .",
    "$(touch owned) `touch owned` $HOME",
    "a\0b",
    "\0",
    "one\r\ntwo\r\n",
    "one\rtwo",
    "\n\n  indented\n\n",
    "\ttabs\t",
    "trailing spaces   ",
    "Unicode: ü € 😀 \u2028 \u2029 \x85 \ufeff",
    "\"quotes' and \\backslashes\\",
    "#(touch owned)",
    "\x1b]0;title\x07",
    "--no-session",
    "{}",
    "null",
    "%s %d {0}",
    f"{CANARY} " + "x" * 5_000_000,
    f"{CANARY} " + "many words " * 20_000,
]


async def test_the_environment_is_the_callers_and_two_words_more(place: Workplace) -> None:
    env = {**place.env, "SOME_KEY": "s3cr\u00e9t \udcff", "EMPTY": "", "PYTHONPATH": "/nowhere"}
    work = place.delegate_by_api("look around", env=env, profile=None)
    child = await place.child("look around")
    assert child.environment == {
        **env,
        "PI_SUBAGENTS_CHILD": "1",
        "PI_SUBAGENTS_RUN": place.run_dir(child).run_id,
    }
    await child.answer_and_exit("seen")
    assert (await work.result()).run_id == child.run_id


async def test_a_profiles_key_is_in_the_childs_environment_and_nowhere_else(
    place: Workplace,
) -> None:
    """Every test here runs with the profile; the auditor looks for its key in every file."""
    work = place.delegate_by_api("look around")
    child = await place.child("look around")
    added = {n: v for n, v in child.environment.items() if n not in place.env}
    assert added == {
        "PI_SUBAGENTS_CHILD": "1",
        "PI_SUBAGENTS_RUN": place.run_dir(child).run_id,
        "PI_API_KEY": canary.IN_PROFILE,
        "ANTHROPIC_API_KEY": canary.IN_PROFILE,
        "ANTHROPIC_AUTH_TOKEN": "",
        "ANTHROPIC_OAUTH_TOKEN": "",
    }
    lines = command_lines().values()
    assert [line for line in lines if any(c.encode() in line for c in canary.CANARIES)] == []
    await child.answer_and_exit("seen")
    await work.result()


@pytest.mark.parametrize("locale", [{"LC_CTYPE": "C"}, {"LANG": "C.UTF-8"}, {"LC_ALL": "POSIX"}])
async def test_the_callers_locale_is_passed_on_as_it_is(
    place: Workplace, locale: dict[str, str]
) -> None:
    work = place.delegate_by_api("speak", env={**place.env, **locale})
    child = await place.child("speak")
    given = {n: v for n, v in child.environment.items() if n.startswith(("LC_", "LANG"))}
    assert given == locale
    await child.answer_and_exit("hm")
    await work.result()


def arguments_of(place: Workplace, child: FakeProcess) -> list[str]:
    """Return what a child of a run is to be called with."""
    session = place.run_dir(child).desk.child_session
    return [*ARGUMENTS[place.child_mode], "--session", str(session)]


async def test_the_child_is_called_in_its_directory_with_pis_options(
    place: Workplace, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    work = place.delegate_by_api(
        Task("here", "here"), Task("there", "there", cwd=str(elsewhere)), profile=None
    )
    here, there = await place.child("here"), await place.child("there")
    assert (here.arguments, here.cwd) == (arguments_of(place, here), str(place.project))
    assert (there.arguments, there.cwd) == (arguments_of(place, there), str(elsewhere))
    await here.answer_and_exit("1")
    await there.answer_and_exit("2")
    assert [result.output for result in await work.results()] == ["1", "2"]
    assert len(place.run_dirs()) == 2, "both are kept in the caller's project"


async def test_prompts_arrive_byte_by_byte_and_in_no_command_line(place: Workplace) -> None:
    for some in (PROMPTS[:13], PROMPTS[13:]):
        before = len(place.driver.children)
        tasks = [Task(f"prompt {number}", text) for number, text in enumerate(some)]
        work = place.delegate_by_api(*tasks, concurrency=16, profile=None)
        for number in range(before, before + len(some)):
            await place.driver.next_child(number)
        assert not [line for line in command_lines().values() if CANARY.encode() in line]
        for child in place.driver.children[before:]:
            name = place.run_dir(child).read_meta()["name"]
            (asked,) = [task.prompt for task in tasks if task.name == name]
            is_equal = await child.prompt() == asked.encode()
            assert is_equal, name
            assert child.arguments == arguments_of(place, child)
            await child.answer_and_exit(asked[:50])
        assert [r.output for r in await work.results()] == [text[:50] for text in some]
    assert not (place.project / "owned").exists()


@pytest.mark.parametrize("prompt", ["/reload", "/skill:x", "/", "//x"])
async def test_a_slash_at_the_beginning_gets_one_character_before_it(
    place: Workplace, prompt: str
) -> None:
    work = place.delegate_by_api(prompt)
    child = await place.driver.next_child(0)
    received = (await child.prompt()).decode()
    assert received == compose_prompt(prompt)
    assert received[1:] == prompt
    await child.answer_and_exit("done")
    await work.result()


async def test_a_lone_surrogate_in_a_prompt_is_replaced(place: Workplace) -> None:
    work = place.delegate_by_api(Task("broken", "half \ud83d of it"))
    child = await place.driver.next_child(0)
    assert await child.prompt() == b"half ? of it"
    await child.answer_and_exit("done")
    assert (await work.result()).output == "done"


async def test_a_pi_that_cannot_be_started_fails_its_task_only(
    place: Workplace, tmp_path: Path
) -> None:
    plain = tmp_path / "plain-file"
    plain.write_text("not a program")
    programs = {
        "absent": (str(tmp_path / "absent"),),
        "not executable": (str(plain),),
        "a directory": (str(tmp_path),),
        "null": ("pi\0",),
        "healthy": FAKE_PI,
    }
    options = ARGUMENTS[place.child_mode]
    work = place.delegate(*programs, pi=lambda task: (*programs[task.name], *options))
    await (await place.child("healthy")).answer_and_exit("unharmed")
    results = dict(zip(programs, map(comparable, await work.results()), strict=True))
    assert results.pop("healthy") == answered("healthy", "unharmed")
    assert {name: replace(result, notes=()) for name, result in results.items()} == {
        name: expected(name, "failed", error_message=SPAWN_FAILED) for name in results
    }
    reasons = ["No such file", "Permission denied", "Permission denied", "null byte"]
    for result, reason in zip(results.values(), reasons, strict=True):
        assert reason in result.notes[0]


async def test_a_missing_directory_fails_its_task_only(place: Workplace) -> None:
    missing, file = place.project / "missing", place.project / "file"
    file.write_text("x")
    work = place.delegate_by_api(
        Task("missing", "x", cwd=str(missing)), Task("file", "x", cwd=str(file)), "healthy"
    )
    await (await place.child("healthy")).answer_and_exit("unharmed")
    unusable = "cwd does not exist or is not a directory: "
    assert [comparable(result) for result in await work.results()] == [
        expected("missing", "failed", error_message=f"{unusable}{missing}"),
        expected("file", "failed", error_message=f"{unusable}{file}"),
        answered("healthy", "unharmed"),
    ]
    assert len(place.driver.children) == 1


async def test_a_directory_that_vanishes_before_the_start_fails_its_task_only(
    place: Workplace,
) -> None:
    doomed = place.project / "doomed"
    doomed.mkdir()
    work = place.delegate(Task("unlucky", "x", cwd=str(doomed)), "healthy")
    doomed.rmdir()  # planned, not started: the work has not had its first turn yet
    await (await place.child("healthy")).answer_and_exit("unharmed")
    unlucky, healthy = await work.results()
    assert (unlucky.status, unlucky.error_message) == ("failed", SPAWN_FAILED)
    assert comparable(healthy) == answered("healthy", "unharmed")


async def test_the_prompt_and_the_environment_are_kept_private(place: Workplace) -> None:
    """The auditor checks modes; here the umask would allow everyone everything."""
    before = os.umask(0)
    try:
        work = place.delegate_by_api("private")
        child = await place.child("private")
        await work.sees(ev.StateChanged("running"))
        files = place.run_dir(child).path.iterdir()
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in files}
        assert modes == dict.fromkeys(FILES_OF_A_RUNNING_RUN, 0o600)
        await child.answer_and_exit("done")
        await work.result()
    finally:
        os.umask(before)
    names = {path.name for path in place.run_dir(child).path.iterdir()}
    assert names == FILES_OF_A_RUNNING_RUN - {".result.reserved"} | {
        *("result.json", "child-session.jsonl")
    }
