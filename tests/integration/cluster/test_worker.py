"""A worker does the runs of other machines as its own, and gives each of them one truthful end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import TYPE_CHECKING

import pytest
from tests.fakes.cluster_worker import WorkerProcess, an_order, result_of
from tests.fakes.git_place import MEGABYTE, dirty, git_place

from pi_subagents.cluster.link import Link
from pi_subagents.cluster.packs import Pack, put_pack
from pi_subagents.core import messages as core_messages
from pi_subagents.core.cluster.order import (
    BUNDLE,
    SHARED_PATH,
    TravelFile,
    TravelSkill,
    TravelWorkspace,
)
from pi_subagents.core.cluster.order_json import order_to_bytes
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.spec import CheckOrder
from pi_subagents.service.cluster import messages
from pi_subagents.workspaces.bundle import pack_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.cluster.conftest import ClusterPlace


async def test_what_a_run_writes_comes_back_to_the_byte_while_it_is_at_work(
    place: ClusterPlace,
) -> None:
    worker = await place.worker()
    order = an_order("Say hello")
    place.caller.submit(order)
    child = await place.driver.child("Say hello")
    await child.say("Hello")
    await child.stderr("odd\n")
    await child.settle()
    await child.exit(0)
    result = await place.result(order.run_id)
    assert (result.status, result.output) == ("completed", "Hello")
    here = {
        path.name: path.read_bytes()
        for path in (worker.runs_dir / order.run_id).iterdir()
        if path.name in ("events.jsonl", "stdout.log", "stderr.log", "transcript.log")
    }
    there = place.caller.files(order.run_id)
    assert {name: there.get(name, b"") for name in here} == here
    assert here["stderr.log"] == b"odd\n"
    assert result.run_id == order.run_id
    assert result.session_id == order.session_id


async def test_events_come_back_before_the_run_has_ended(place: ClusterPlace) -> None:
    await place.worker()
    order = an_order("Say hello")
    place.caller.submit(order)
    child = await place.driver.child("Say hello")
    await place.state(order.run_id, "begun")
    await child.say("Hello")
    while not any(
        isinstance(event, ev.AssistantMessage) for event in place.caller.events(order.run_id)
    ):
        await child.echo()
    assert (await place.state(order.run_id, "begun")).worker == "one"
    await child.settle()
    await child.exit(0)
    await place.result(order.run_id)


async def test_the_child_gets_what_travelled_and_nothing_that_leads_to_the_database(
    place: ClusterPlace,
) -> None:
    worker = await place.worker(variables={"PGPASSWORD": "canary", "PGHOST": "nowhere"})
    skill = TravelSkill("shout", (TravelFile("SKILL.md", "Shout."), TravelFile("a/b.txt", "b")))
    order = an_order(
        "Say hello",
        profile=Profile("p", system_prompt="Be loud.", tools=("read",)),
        skills=(skill,),
        check=CheckOrder("sh -c 'test -z $PI_SUBAGENTS_CLUSTER$PGPASSWORD$PGHOST'"),
    )
    place.caller.submit(order)
    child = await place.driver.child("Say hello")
    arguments = child.arguments
    skill_file = arguments[arguments.index("--skill") + 1]
    assert skill_file.endswith("shout/SKILL.md")
    with open(skill_file) as file:
        assert file.read() == "Shout."
    assert not any("CLUSTER" in name or name.startswith("PG") for name in child.environment)
    assert child.cwd == str(worker.place / "empty" / order.run_id)
    await child.say("HELLO")
    await child.settle()
    await child.exit(0)
    result = await place.result(order.run_id)
    assert (result.status, result.checked and result.checked.passed) == ("completed", True)
    assert not os.path.exists(skill_file)
    assert not os.path.exists(child.cwd)


async def test_changes_in_a_worktree_of_what_the_caller_sees_come_back_as_a_patch(
    place: ClusterPlace, tmp_path: Path
) -> None:
    await place.worker()
    git = git_place(tmp_path / "caller")
    dirty(git)
    sent = tmp_path / "sent"
    sent.mkdir()
    snapshot = git.snapshot(git.top / "untracked")
    chain = pack_snapshot(snapshot, (), sent, git.env)
    link = await Link.open(place.cluster.address("caller"), "test")
    for bundle in chain:
        await put_pack(link, Pack(sent / bundle.digest, bundle.digest, bundle.size))
    await link.close()
    where = TravelWorkspace(
        kind=BUNDLE, packs=chain, prefix="untracked", max_bytes=MEGABYTE, setup="touch ready.log"
    )
    orders = [an_order(f"Task {number}", workspace=where) for number in (1, 2)]
    place.caller.submit(*orders)
    for number, order in enumerate(orders, start=1):
        child = await place.driver.child(f"Task {number}")
        assert child.cwd.endswith(f"/trees/{order.run_id}/untracked")
        assert sorted(os.listdir(child.cwd)) == ["new.txt", "ready.log"]
        await child.tool("write", {"path": "made.txt"})
        with open(os.path.join(child.cwd, "made.txt"), "w") as file:
            file.write(f"made {number}\n")
        await child.say("Done")
        await child.settle()
        await child.exit(0)
        result = await place.result(order.run_id)
        assert (result.status, result.changes) == ("completed", "1 file changed, +1 \u22120")
        files = place.caller.files(order.run_id)
        assert [each["path"] for each in json.loads(files["changes.json"])["files"]] == [
            "untracked/made.txt"
        ]
        git.git("apply", "--check", given=files["changes.patch"])


async def test_a_run_is_stopped_steered_and_answered_from_elsewhere(place: ClusterPlace) -> None:
    await place.worker()
    order = an_order("Work")
    place.caller.submit(order)
    child = await place.driver.child("Work")
    await place.state(order.run_id, "begun")
    number = "0123456789abcdef"
    steered = place.caller.command(order.run_id, "steer", number=number, text="Faster")
    assert await child.take_steer() == "Faster"
    wrong = place.caller.command(order.run_id, "steer", number="../x", text="Faster")
    nonsense = place.caller.command(order.run_id, "answer", text="what")
    place.caller.command(order.run_id, "stop")
    result = await place.result(order.run_id)
    assert (result.status, result.error_message) == ("aborted", core_messages.STOPPED_ON_REQUEST)
    await child.gone()
    assert ev.Steer(number, ev.DELIVERED, "Faster", "") in place.caller.events(order.run_id)
    assert place.caller.command_status(steered) == "taken"
    assert place.caller.command_status(wrong) == "steer refused: not the number of a message"
    assert place.caller.command_status(nonsense) == (
        "answer refused: number: must be a text of at most 16 bytes"
    )


async def test_a_run_is_killed_from_elsewhere(place: ClusterPlace) -> None:
    await place.worker()
    order = an_order("Work")
    place.caller.submit(order)
    child = await place.driver.child("Work")
    await place.state(order.run_id, "begun")
    place.caller.command(order.run_id, "kill")
    assert (await place.result(order.run_id)).status == "aborted"
    await child.gone()


async def test_orders_that_are_none_are_refused_and_recorded(place: ClusterPlace) -> None:
    await place.worker("--trust", "caller")
    order = an_order("Work")
    content = json.loads(order_to_bytes(order))
    shared = TravelWorkspace(kind=SHARED_PATH, path="/etc")
    stranger = type(place.caller)(place.cluster, "other_caller")
    odd = [
        place.caller.submit_raw(b'{"v": 1, "hello": 1}'),
        place.caller.submit_raw(json.dumps({**content, "argv": ["sh"]}).encode()),
        place.caller.submit_raw(order_to_bytes(order)),
        *place.caller.submit(an_order("Work", workspace=shared)),
    ]
    reasons = [result.error_message for result in await place.results(odd)]
    assert reasons == [
        "order has an unknown field, 'hello'",
        "order has an unknown field, 'argv'",
        f"order {messages.OTHER_RUN}",
        f"workspace.path {messages.NOT_SHARED}",
    ]
    (of_stranger,) = stranger.submit(an_order("Work"))
    found = stranger.wait([of_stranger])[of_stranger]
    reasons.append(f"order {messages.not_trusted('other_caller')}")
    assert result_of(found).error_message == reasons[-1]
    assert {result_of(found).status} == {"failed"}
    stranger.close()
    recorded = place.cluster.do("SELECT reason FROM subagents.refused_order ORDER BY 1")
    assert recorded == [(reason,) for reason in sorted(reasons)]
    assert place.driver.processes == []


async def test_a_directory_that_all_machines_share_is_worked_in(
    place: ClusterPlace, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    (shared / "project").mkdir(parents=True)
    await place.worker("--shared-path", str(shared))
    where = TravelWorkspace(kind=SHARED_PATH, path=str(shared / "project"))
    order = an_order("Work", workspace=where)
    place.caller.submit(order)
    child = await place.driver.child("Work")
    assert child.cwd == str(shared / "project")
    await child.say("Done")
    await child.settle()
    await child.exit(0)
    assert (await place.result(order.run_id)).status == "completed"


async def test_a_worker_that_was_killed_leaves_no_child_and_its_run_is_lost_once(
    place: ClusterPlace,
) -> None:
    worker = await place.worker()
    order = an_order("Work")
    place.caller.submit(order)
    child = await place.driver.child("Work")
    await place.state(order.run_id, "begun")
    await child.say("Half of it")
    worker.signal(signal.SIGKILL)
    worker.ended()
    await child.gone()
    place.let_time_pass()
    again = await place.worker(name="two")
    found = await place.state(order.run_id)
    assert (found.state, found.attempt, found.result) == ("lost", 1, None)
    assert place.driver.children == [child]
    kept = await place.worker(name="one")  # it concludes what the one before it left
    result = json.loads((kept.runs_dir / order.run_id / "result.json").read_bytes())
    assert result["status"] == "interrupted"
    assert again.process.poll() is None


async def test_a_run_that_may_be_tried_again_is_begun_by_another_worker(
    place: ClusterPlace,
) -> None:
    worker = await place.worker()
    order = an_order("Work")
    place.caller.submit(order, attempts=2)
    first = await place.driver.child("Work")
    await place.state(order.run_id, "begun")
    worker.signal(signal.SIGKILL)
    await first.gone()
    place.let_time_pass()
    await place.worker(name="two")
    second = await place.driver.next_child(1)
    await second.say("All of it")
    await second.settle()
    await second.exit(0)
    found = await place.state(order.run_id)
    assert (found.attempt, found.worker, result_of(found).output) == (2, "two", "All of it")


async def test_a_worker_that_lost_a_run_ends_its_child_and_says_nothing_more_of_it(
    place: ClusterPlace,
) -> None:
    worker = await place.worker()
    order = an_order("Work")
    place.caller.submit(order)
    child = await place.driver.child("Work")
    await place.state(order.run_id, "begun")
    place.cluster.do("UPDATE subagents.run SET attempt = attempt + 1, state = 'claimed'")
    child.tell("say", text="Too late")
    await child.gone()
    await place.heard(worker, messages.run_lost(order.run_id))
    found = place.caller.states([order.run_id])[order.run_id]
    assert (found.state, found.attempt, found.result) == ("claimed", 2, None)
    assert (worker.runs_dir / order.run_id / "result.json").exists()


async def test_a_run_whose_caller_is_gone_ends_unless_it_is_in_the_background(
    place: ClusterPlace,
) -> None:
    await place.worker()
    attached, background = an_order("With its caller"), an_order("By itself")
    place.caller.submit(attached, attached=True)
    child = await place.driver.child("With its caller")
    await place.state(attached.run_id, "begun")
    place.cluster.do("UPDATE subagents.call SET seen_at = seen_at - interval '1 hour'")
    other = type(place.caller)(place.cluster)
    other.submit(background)
    place.cluster.do("UPDATE subagents.call SET seen_at = seen_at - interval '1 hour'")
    by_itself = await place.driver.child("By itself")
    assert (await place.result(attached.run_id)).status == "aborted"
    await child.gone()
    await by_itself.say("Done")
    await by_itself.settle()
    await by_itself.exit(0)
    (result,) = await asyncio.to_thread(other.results, [background.run_id])
    assert (result.status, result.output) == ("completed", "Done")
    other.close()


async def test_a_worker_that_is_to_end_ends_its_runs_first_and_takes_no_more(
    place: ClusterPlace,
) -> None:
    worker = await place.worker()
    first, second = an_order("First"), an_order("Second")
    place.caller.submit(first)
    child = await place.driver.child("First")
    worker.signal(signal.SIGTERM)
    await place.heard(worker, messages.draining(1))
    place.caller.submit(second)
    await child.say("Done")
    await child.settle()
    await child.exit(0)
    assert worker.ended() == 0
    assert (await place.result(first.run_id)).status == "completed"
    assert place.caller.states([second.run_id])[second.run_id].state == "queued"
    assert place.cluster.do("SELECT name FROM subagents.worker") == []


async def test_a_worker_that_is_to_end_at_once_says_that_it_ended_its_runs(
    place: ClusterPlace,
) -> None:
    worker = await place.worker()
    order = an_order("Work")
    place.caller.submit(order)
    child = await place.driver.child("Work")
    await place.state(order.run_id, "begun")
    worker.signal(signal.SIGINT)
    await place.heard(worker, messages.draining(1))
    worker.signal(signal.SIGINT)
    await child.gone()
    assert worker.ended() == 0
    result = await place.result(order.run_id)
    assert (result.status, result.error_message) == ("interrupted", messages.WORKER_ENDED)


async def test_a_worker_that_is_drained_by_the_cluster_ends(place: ClusterPlace) -> None:
    worker = await place.worker()
    place.cluster.do("SELECT * FROM subagents.drain('one', true)")
    assert worker.ended() == 0


async def test_connections_that_are_cut_lose_nothing(place: ClusterPlace) -> None:
    await place.worker()
    order = an_order("Work")
    place.caller.submit(order)
    child = await place.driver.child("Work")
    await place.state(order.run_id, "begun")
    for number in range(3):
        await child.say(f"Part {number}")
        place.cluster.do(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker'"
        )
    await child.settle()
    await child.exit(0)
    result = await place.result(order.run_id)
    assert (result.status, result.output) == ("completed", "Part 2")
    said = [
        each.text
        for each in place.caller.events(order.run_id)
        if isinstance(each, ev.AssistantMessage)
    ]
    assert said == ["Part 0", "Part 1", "Part 2"]
    second = an_order("More")
    place.caller.submit(second)
    child = await place.driver.child("More")
    await child.say("Done")
    await child.settle()
    await child.exit(0)
    assert (await place.result(second.run_id)).status == "completed"


@pytest.mark.parametrize(
    ("arguments", "variables", "said"),
    [
        (["--name", "a b"], {}, 'A worker cannot be called "a b"'),
        (["--name", "one"], {}, 'A worker called "one" is at work on this machine already.'),
        (["--shared-path", "/nowhere"], {}, "/nowhere cannot be shared with callers"),
        ([], {"PI_SUBAGENTS_CHILD": "1"}, "sub-agents may not"),
        ([], {"PI_SUBAGENTS_CLUSTER": ""}, "No cluster is known here."),
        (["--name", "two"], {"PI_SUBAGENTS_PI": "/nowhere/pi"}, "/nowhere/pi"),
        (["-n", "0"], {}, "-n"),
    ],
)
async def test_what_no_worker_can_be_is_refused_in_plain_words(
    place: ClusterPlace, arguments: list[str], variables: dict[str, str], said: str
) -> None:
    first = await place.worker()
    text = place.cluster.text("worker")
    other = WorkerProcess(first.home.parent, text, "one", *arguments, variables=variables)
    place.workers.append(other)
    assert other.ended() == 2
    assert said in "\n".join(other.said)
    assert "Traceback" not in "\n".join(other.said)
    assert "canary" not in "\n".join(other.said)
