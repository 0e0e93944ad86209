"""What `subagents background` prints and returns, with runs of fake children."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.command import ENTRY
from tests.fakes.driver import PATIENCE_S
from tests.fakes.preset_place import MODEL, PresetPlace, counts

import pi_subagents
from pi_subagents.errors import BackgroundRunNotFound
from pi_subagents.faces.cli import messages
from pi_subagents.faces.cli.main import main
from pi_subagents.faces.cli.work import background
from pi_subagents.service import messages as service_messages
from pi_subagents.view import messages as view_messages

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace


SOURCES = Path(pi_subagents.__file__).parents[1]


@dataclass
class Shell:
    """Somebody in the project who calls the command."""

    here: PresetPlace
    capsys: pytest.CaptureFixture[str]

    async def run(self, *arguments: str) -> tuple[int, str, str]:
        """Return exit code, output and errors; ages of runs are written as AGE."""

        def call() -> int:
            with pytest.raises(SystemExit) as end:
                main(["background", *arguments])
            assert isinstance(end.value.code, int)
            return end.value.code

        async with asyncio.timeout(PATIENCE_S):
            code = await asyncio.to_thread(call)
        out, err = self.capsys.readouterr()
        return code, re.sub(r" \d+s +", " AGE  ", out), err

    async def started(self, task: str) -> str:
        """Start a run by the command, and return its id."""
        code, out, _ = await self.run("start", "scout", task, "--json")
        assert code == 0
        run_id: str = json.loads(out)["details"]["runId"]
        return run_id


@pytest.fixture
def shell(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    here = PresetPlace(place)
    here.preset("scout", f"model: {MODEL}")
    monkeypatch.chdir(place.project)
    for name in ("PI_AGENT_DIR", "PI_CODING_AGENT_DIR", "PI_SUBAGENTS_CHILD", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    return Shell(here, capsys)


async def test_a_start_says_how_to_ask_for_the_run(shell: Shell) -> None:
    code, out, _ = await shell.run("start", "scout", "look")
    child = await shell.here.work.child("look")
    assert code == 0
    assert out.splitlines() == [
        f"Started scout in the background as run {child.run_id[:8]}.",
        f"Status and answer: subagents background status {child.run_id[:8]}",
    ]
    await child.answer_and_exit("nothing")
    await shell.here.ended(child.run_id)


async def test_a_start_that_comes_to_nothing_has_an_exit_code_of_its_own(shell: Shell) -> None:
    code, out, _ = await shell.run("start", "scout", "look", "--cwd", "missing")
    (run,) = shell.here.work.run_dirs()
    problem = service_messages.cwd_missing(str(shell.here.work.project / "missing"))
    told = view_messages.background_not_started("scout", run.run_id[:8], problem)
    assert (code, out) == (1, f"{told}\n")
    code, out, err = await shell.run("start", "nobody", "look")
    assert (code, out) == (2, "")
    assert err == 'Error: Unknown preset: "nobody". Available presets: scout\n'
    code, out, err = await shell.run("start", "nobody", "look", "--json")
    assert (code, json.loads(out)["isError"], err) == (2, True, "")


async def test_runs_are_listed_while_they_work_and_afterwards_on_request(shell: Shell) -> None:
    assert await shell.run("status") == (0, f"{messages.NO_BACKGROUND_RUNS}\n", "")
    run_id = await shell.started("count the files")
    child = await shell.here.work.child("count the files")
    code, out, err = await shell.run("status")
    assert (code, err) == (0, "")
    assert out.split("\n")[0].split() == list(background.HEADINGS)
    assert out.endswith(f"{run_id[:8]}  ● running  AGE  scout   count the files\n")
    await child.exit(1)
    await shell.here.ended(run_id)
    assert await shell.run("status") == (
        0,
        "Nothing is running.\n",
        "0 of 1 background runs; --all shows those that ended, too.\n",
    )
    _, out, _ = await shell.run("status", "--all")
    assert (
        f"{run_id[:8]}  ✗ failed  AGE  scout   count the files — Sub-agent exited with code 1"
        in out
    )
    _, out, _ = await shell.run("status", "--all", "--json")
    assert json.loads(out)["details"]["counts"] == counts(failed=1)


async def test_one_run_is_told_with_its_answer(shell: Shell) -> None:
    run_id = await shell.started("count")
    await (await shell.here.work.child("count")).answer_and_exit("12 files\x1b[31m")
    await shell.here.ended(run_id)
    code, out, _ = await shell.run("status", run_id[:6])
    assert code == 0
    assert re.sub(r"after \d+s", "after TIME", out).splitlines() == [
        "✓ count: completed after TIME",
        f"run {run_id[:8]}, session {shell.here.run_dir(run_id).read_meta()['sessionId'][:8]}",  # type: ignore[index]  # a text
        f"in {shell.here.work.project}",
        "",
        "12 files",
    ]
    code, out, err = await shell.run("status", "zz")
    assert (code, out, err) == (2, "", f"Error: {BackgroundRunNotFound('zz')}\n")


async def test_any_task_can_be_run_in_the_background(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as end:
            main(["run", "--background", *arguments])
        return (end.value.code, *capsys.readouterr())

    code, out, err = await asyncio.to_thread(
        run, "one", "two", "--name", "first", "--tools", "read,ls"
    )
    children = [await shell.here.work.child(prompt) for prompt in ("one", "two")]
    assert (code, err) == (0, "")
    assert out == "".join(
        f"Started {name} in the background as run {child.run_id[:8]}.\n"
        f"Status and answer: subagents background status {child.run_id[:8]}\n"
        for name, child in zip(("first", "two"), children, strict=True)
    )
    argv = shell.here.work.run_dir(children[0]).read_meta()["argv"]
    assert isinstance(argv, list)
    assert argv[argv.index("--tools") + 1] == "read,ls"
    for child in children:
        await child.answer_and_exit("done")
        await shell.here.ended(child.run_id)
    code, out, err = await asyncio.to_thread(run, "three", "--cwd", "/no/such/place")
    assert (code, out) == (1, "")
    assert err == "three: cwd does not exist or is not a directory: /no/such/place\n"
    code, out, err = await asyncio.to_thread(run, "four", "--json", "--thinking", "low")
    (row,) = json.loads(out)["runs"]
    child = await shell.here.work.child("four")
    assert (code, row["runId"], row["status"], err) == (0, child.run_id, "running", "")
    await child.answer_and_exit("done")
    await shell.here.ended(child.run_id)


async def test_a_failure_is_told_once_below_its_run_with_what_to_do(shell: Shell) -> None:
    run_id = await shell.started("count")
    await (await shell.here.work.child("count")).exit(1)
    await shell.here.ended(run_id)
    _, out, _ = await shell.run("status", run_id)
    meta = shell.here.run_dir(run_id).read_meta()
    assert out.split("\n", 1)[1] == (
        f"run {run_id[:8]}, session {str(meta['sessionId'])[:8]}\nin {shell.here.work.project}\n"
        "Sub-agent exited with code 1 without an answer\nLook for the cause: subagents doctor.\n"
    )


async def test_a_wait_ends_with_the_last_run_and_says_how_it_went(shell: Shell) -> None:
    assert await shell.run("wait") == (0, "", f"{messages.NOTHING_RUNNING}\n")
    good, bad = await shell.started("good"), await shell.started("bad")
    named = asyncio.create_task(shell.run("wait", good, bad))
    await (await shell.here.work.child("good")).answer_and_exit("done")
    await shell.here.ended(good)
    child = await shell.here.work.child("bad")
    await child.echo()
    assert not named.done()
    await child.exit(1)
    code, out, _ = await named
    assert code == 1
    assert [line.split()[:3] for line in out.splitlines()] == [
        ["RUN", "STATUS", "AGE"],
        [good[:8], "✓", "completed"],
        [bad[:8], "✗", "failed"],
    ]
    assert (await shell.run("wait", good))[0] == 0
    assert (await shell.run("wait", good, bad))[0] == 1
    assert (await shell.run("wait", "zz"))[0] == 2


async def test_a_wait_gives_up_when_its_time_is_up(shell: Shell) -> None:
    run_id = await shell.started("slow")
    child = await shell.here.work.child("slow")
    code, out, _ = await shell.run("wait", "--timeout", "0.05")
    assert (code, out.split()[-6:-1]) == (1, [run_id[:8], "●", "running", "AGE", "scout"])
    await child.answer_and_exit("done")
    await shell.here.ended(run_id)


async def test_runs_are_stopped_one_by_one_or_all(shell: Shell) -> None:
    code, _, err = await shell.run("stop")
    assert (code, "Name a RUN, or add --all to stop every background run." in err) == (2, True)
    one, two, three = [await shell.started(f"task {number}") for number in range(3)]
    assert (await shell.run("stop", one, "--all"))[0] == 2
    code, out, _ = await shell.run("stop", one[:10])
    assert (code, out) == (0, f"task 0 ({one[:8]}): stopped\n")
    code, out, _ = await shell.run("stop", "--all", "--json")
    details = json.loads(out)["details"]
    assert (code, details["counts"]) == (0, counts(aborted=3))
    assert {run["runId"] for run in details["runs"]} == {two, three}


async def test_a_log_is_followed_until_the_run_ends(shell: Shell) -> None:
    run_id = await shell.started("busy")
    child = await shell.here.work.child("busy")
    await child.tool("read", {"path": "a.txt"})
    follower = await asyncio.create_subprocess_exec(
        *(*ENTRY, "background", "logs", "-f", run_id[:8]),
        env={**shell.here.work.env, "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert follower.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        begun = await follower.stdout.readuntil(b"a.txt")
        await child.answer_and_exit("all done\x1b]0;title\x07")
        rest, errors = await follower.communicate()
    transcript = shell.here.run_dir(run_id).transcript.read_bytes()
    assert begun + rest == transcript
    assert transcript.endswith(b"all done\n")
    assert (follower.returncode, errors.decode()) == (0, f"Run {run_id[:8]}: completed\n")


async def test_a_log_is_printed_in_whole_lines_and_harmless(shell: Shell) -> None:
    run_id = await shell.started("busy")
    child = await shell.here.work.child("busy")
    await child.write(b"\n", until_read=True)
    log = shell.here.run_dir(run_id).transcript
    begun = log.read_bytes()
    with log.open("ab") as file:
        file.write(b"a \x1b[31mred\xe2\x82")
        file.flush()
        code, out, err = await shell.run("logs", run_id)
        assert (code, out, err) == (0, begun.decode(), "")
        file.write(b"\xac line\n")
    _, out, _ = await shell.run("logs", run_id)
    assert out == begun.decode() + "a red\u20ac line\n"
    await child.answer_and_exit("done")
    await shell.here.ended(run_id)
