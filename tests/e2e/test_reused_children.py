"""The real pi serves several runs in one process, and no run can tell that there were others."""

import asyncio
import json
import os
import signal
import stat
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.conftest import Project

from pi_subagents import Delegation, Pool, RunResult, Task, delegate
from pi_subagents.core.offline.script import parse_script
from pi_subagents.engines.offline.conversations import EACH_PROMPT
from pi_subagents.engines.offline.provider import URL_VARIABLE
from pi_subagents.engines.offline.server import OfflineModel
from pi_subagents.engines.pi.command import resolve_pi_command
from pi_subagents.engines.pi.offline import pi_arguments
from pi_subagents.store.run_dir import RunDir
from pi_subagents.store.run_store import open_store

pytestmark = pytest.mark.pi

ECHO = [{"echo": True, "repeat": True}]


class Place:
    """A project whose pi talks to a model that knows conversations by their first prompt."""

    def __init__(self, project: Project, model: OfflineModel) -> None:
        self.project = project
        self.model = model
        pi = resolve_pi_command(project.env, project.path, None).argv
        self.env = {
            **project.env,
            "PI_OFFLINE": "1",
            "PI_SKIP_VERSION_CHECK": "1",
            URL_VARIABLE: model.url_for(EACH_PROMPT),
            "PI_SUBAGENTS_PI": " ".join((*pi, *pi_arguments())),
        }

    async def delegate(
        self,
        *tasks: Task,
        pool: Pool | None = None,
        concurrency: int = 1,
        profile: str | None = None,
    ) -> Delegation:
        kept: Any = {} if pool is None else {"pool": pool}
        return await delegate(
            tasks,
            cwd=self.project.path,
            env=self.env,
            concurrency=concurrency,
            profile=profile,
            **kept,
        )

    def dir_of(self, result: RunResult) -> RunDir:
        return open_store(self.project.path, self.env).run_dir(result.run_id)

    def child_of(self, result: RunResult) -> int:
        return self.child_of_dir(self.dir_of(result))

    def child_of_dir(self, run_dir: RunDir) -> int:
        child = run_dir.read_meta()["child"]
        assert isinstance(child, dict)
        return int(child["pid"])

    def requests(self, prompt: str) -> str:
        """Return everything the model was sent for a prompt, as one text."""
        return json.dumps(self.model.requests(f"{EACH_PROMPT} {prompt}"))

    def profile(self, name: str, **fields: str) -> None:
        folder = self.project.agent_dir / "agent-profiles"
        folder.mkdir(exist_ok=True)
        lines = "".join(f"{key}: {value}\n" for key, value in {"name": name, **fields}.items())
        (folder / f"{name}.md").write_text(f"---\n{lines}---\n")


@pytest.fixture
def echo(project: Project) -> Iterator[Place]:
    with OfflineModel(parse_script(ECHO)) as model:
        yield Place(project, model)


def tasks(*prompts: str) -> list[Task]:
    return [Task(prompt, prompt) for prompt in prompts]


def outputs(delegation: Delegation) -> list[str]:
    return [result.output for result in delegation.results]


async def test_tasks_of_one_kind_share_a_process_and_each_has_its_own_session(echo: Place) -> None:
    done = await echo.delegate(*tasks("one", "two", "three"))
    assert outputs(done) == ["one", "two", "three"]
    assert [result.exit_code for result in done.results] == [0, 0, 0]
    (child,) = {echo.child_of(result) for result in done.results}
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    files = [echo.dir_of(result).child_session for result in done.results]
    sessions = [json.loads(file.read_text().split("\n")[0]) for file in files]
    assert len({session["id"] for session in sessions}) == 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert [session["cwd"] for session in sessions] == [str(echo.project.path)] * 3


async def test_what_one_run_left_is_never_seen_by_the_next(project: Project) -> None:
    """Text, file names, environment, working directory, session ids, processes: all are canaries."""
    plant = (
        "export BIRD_VARIABLE=nightingale-environment; touch nightingale-file; cd /; "
        "setsid sleep 600 > /dev/null 2>&1 & echo nightingale-tool-output"
    )
    look = (
        "env | grep -v TOKEN; pwd; ls -la; ls -la /proc/self/fd; jobs; "
        "tr '\\0' '\\n' < /proc/$PPID/environ | grep -v TOKEN"
    )
    script = {
        "conversations": [
            {
                "match": "plant",
                "turns": [
                    {"toolCalls": [{"name": "bash", "arguments": {"command": plant}}]},
                    {"text": "nightingale-answer"},
                ],
            },
            {
                "match": "look",
                "turns": [
                    {"toolCalls": [{"name": "bash", "arguments": {"command": look}}]},
                    {"text": "seen"},
                ],
            },
        ]
    }
    with OfflineModel(parse_script(script)) as model:
        place = Place(project, model)
        planted, looked = (
            await place.delegate(*tasks("plant nightingale-prompt", "look around"))
        ).results
        assert (planted.output, looked.output) == ("nightingale-answer", "seen")
        assert place.child_of(planted) == place.child_of(looked)
        seen = place.requests("look around")
        assert "PI_SUBAGENTS_CHILD=1" in seen  # it did look
    # What it did to the project's files is the project's; everything else was its own.
    for text in (place.dir_of(looked).stdout.read_text(), seen):
        assert "nightingale" not in text.replace("nightingale-file", "")
        assert planted.session_id not in text
        # The marker of the first run is how the processes of this child are known.
        assert text.count(planted.run_id) == text.count(f"PI_SUBAGENTS_RUN={planted.run_id}")


async def test_a_process_that_a_run_left_is_dead_before_the_next_run_begins(
    project: Project,
) -> None:
    leave = "setsid sleep 600 > /dev/null 2>&1 & echo $! > left"
    look = "kill -0 $(cat left) 2> /dev/null && echo alive || echo dead"
    script = {
        "conversations": [
            {
                "match": word,
                "turns": [
                    {"toolCalls": [{"name": "bash", "arguments": {"command": command}}]},
                    {"text": word},
                ],
            }
            for word, command in (("leave", leave), ("look", look))
        ]
    }
    with OfflineModel(parse_script(script)) as model:
        place = Place(project, model)
        left, looked = (await place.delegate(*tasks("leave", "look"))).results
        assert place.child_of(left) == place.child_of(looked)
        assert '"dead' in place.requests("look")


async def test_a_child_is_retired_after_eight_runs(echo: Place) -> None:
    done = await echo.delegate(*tasks(*(f"task {number}" for number in range(9))))
    children = [echo.child_of(result) for result in done.results]
    assert len(set(children[:8])) == 1
    assert children[8] != children[0]


@pytest.mark.parametrize(
    ("fields", "shared"),
    [({}, True), ({"isolation": "reuse"}, True), ({"isolation": "fresh"}, False)],
)
async def test_a_profile_says_whether_its_children_are_shared(
    echo: Place, fields: dict[str, str], shared: bool
) -> None:
    echo.profile("chosen", **fields)
    done = await echo.delegate(*tasks("one", "two"), profile="chosen")
    assert outputs(done) == ["one", "two"]
    assert (len({echo.child_of(result) for result in done.results}) == 1) is shared


async def test_a_setting_gives_every_task_a_new_process(echo: Place) -> None:
    settings = echo.project.agent_dir / "settings.json"
    content = json.loads(settings.read_text())
    settings.write_text(json.dumps({**content, "subagents": {"reuse_children": False}}))
    done = await echo.delegate(*tasks("one", "two"))
    assert outputs(done) == ["one", "two"]
    assert len({echo.child_of(result) for result in done.results}) == 2


@pytest.mark.parametrize(("isolation", "shared"), [("", False), ("reuse", True)])
async def test_a_child_with_a_foreign_extension_is_shared_only_by_request(
    echo: Place, isolation: str, shared: bool
) -> None:
    extensions = echo.project.agent_dir / "extensions"
    extensions.mkdir()
    (extensions / "foreign.js").write_text("export default (pi) => {};")
    echo.profile("chosen", **({"isolation": isolation} if isolation else {}))
    done = await echo.delegate(*tasks("one", "two"), profile="chosen")
    assert outputs(done) == ["one", "two"]
    assert (len({echo.child_of(result) for result in done.results}) == 1) is shared


async def test_a_host_keeps_a_child_and_gives_it_to_the_next_call(echo: Place) -> None:
    async with Pool() as pool:
        (one,) = (await echo.delegate(*tasks("one"), pool=pool)).results
        os.kill(echo.child_of(one), 0)
        (two,) = (await echo.delegate(*tasks("two"), pool=pool)).results
        assert (two.output, echo.child_of(two)) == ("two", echo.child_of(one))
    with pytest.raises(ProcessLookupError):
        os.kill(echo.child_of(one), 0)


async def test_a_changed_context_file_gets_a_new_child(echo: Place) -> None:
    async with Pool() as pool:
        (one,) = (await echo.delegate(*tasks("one"), pool=pool)).results
        (echo.project.path / "AGENTS.md").write_text("Be brief: canary-context.\n")
        (two,) = (await echo.delegate(*tasks("two"), pool=pool)).results
        assert echo.child_of(two) != echo.child_of(one)
        assert "canary-context" in echo.requests("two")


async def test_a_follow_up_goes_on_in_the_child_that_still_has_the_session(echo: Place) -> None:
    async with Pool() as pool:
        (first,) = (await echo.delegate(*tasks("remember this"), pool=pool)).results
        follow = Task("again", "and now?", resume=first.session_id)
        (second,) = (await echo.delegate(follow, pool=pool)).results
        assert (second.session_id, second.output) == (first.session_id, "and now?")
        assert second.resumed == "native"
        assert echo.child_of(second) == echo.child_of(first)
        # In the child's own conversation, not told as a story.
        *_, last = echo.model.requests(f"{EACH_PROMPT} remember this")
        roles = [message["role"] for message in last["messages"]]
        assert roles[-3:] == ["user", "assistant", "user"]
        assert second.usage.total_tokens < 2 * first.usage.total_tokens


async def test_a_follow_up_after_another_run_of_the_child_goes_on_in_a_copy(echo: Place) -> None:
    async with Pool() as pool:
        (first,) = (await echo.delegate(*tasks("remember this"), pool=pool)).results
        (other,) = (await echo.delegate(*tasks("something else"), pool=pool)).results
        follow = Task("again", "and now?", resume=first.session_id)
        (second,) = (await echo.delegate(follow, pool=pool)).results
        assert echo.child_of(second) == echo.child_of(other) == echo.child_of(first)
        assert (second.output, second.resumed) == ("and now?", "native")
        *_, last = echo.model.requests(f"{EACH_PROMPT} remember this")
        assert "something else" not in json.dumps(last)


@pytest.mark.parametrize("victim", ["supervisor", "child"])
async def test_a_child_that_dies_while_it_waits_costs_nothing(echo: Place, victim: str) -> None:
    async with Pool() as pool:
        (one,) = (await echo.delegate(*tasks("one"), pool=pool)).results
        killed: Any = echo.dir_of(one).read_meta()[victim]
        os.kill(killed["pid"], signal.SIGKILL)
        (two,) = (await echo.delegate(*tasks("two"), pool=pool)).results
        assert (two.status, two.output) == ("completed", "two")
        assert echo.child_of(two) != echo.child_of(one)


async def test_a_child_that_failed_is_not_used_again(project: Project) -> None:
    script = {
        "conversations": [{"match": "bad", "turns": [{"error": {"status": 400, "message": "no"}}]}],
        "default": ECHO,
    }
    with OfflineModel(parse_script(script)) as model:
        place = Place(project, model)
        bad, good = (await place.delegate(*tasks("bad", "good"))).results
        assert (bad.status, good.status, good.output) == ("failed", "completed", "good")
        assert place.child_of(bad) != place.child_of(good)


async def test_no_more_children_live_than_work_at_once(echo: Place) -> None:
    await echo.delegate(*tasks(*(f"task {number}" for number in range(6))), concurrency=2)
    runs = open_store(echo.project.path, echo.env).runs()
    assert len({echo.child_of_dir(run) for run in runs}) == 2
    assert asyncio.all_tasks() == {asyncio.current_task()}
