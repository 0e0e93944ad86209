"""`subagents bridge` as a real process, with real supervisors and fake children."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import shutil
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.bridge_host import SOURCES, BridgeHost, open_bridge
from tests.fakes.driver import PATIENCE_S
from tests.fakes.preset_place import MODEL, PresetPlace, counts, text_of, texts_of
from tests.fakes.processes import peak_memory
from tests.fakes.records import record

from pi_subagents import errors
from pi_subagents.core import messages as core_messages
from pi_subagents.core.session.history import entry_of
from pi_subagents.faces.bridge import messages as bridge_messages
from pi_subagents.faces.bridge.params import PROTOCOL
from pi_subagents.faces.cli import messages as cli_messages
from pi_subagents.service import messages as service_messages
from pi_subagents.view.window import MAX_HISTORY
from pi_subagents.view.window_picture import place_of_lines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.fakes.workplace import Workplace

DELEGATE = "delegate_to_subagents"
# A core that looks after background runs without a pause.
RESTLESS = (
    "from pi_subagents.faces.bridge import open_session\n"
    "open_session.POLL_S = 0\n"
    "from pi_subagents.faces.cli.main import main; main(['bridge'])"
)


@pytest.fixture
async def host(place: Workplace) -> AsyncIterator[BridgeHost]:
    async with open_bridge(place.project, place.env) as made:
        yield made


@pytest.fixture
def here(place: Workplace) -> PresetPlace:
    """A user with a preset."""
    made = PresetPlace(place)
    made.preset("scout", f"model: {MODEL}")
    return made


def tasks(*names: str) -> dict[str, Any]:
    return {"tasks": [{"name": name, "prompt": name} for name in names]}


def usage(tokens: int) -> dict[str, Any]:
    """Return what pi is told of that many fake messages."""
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.0}
    return {
        "input": tokens, "output": tokens, "cacheRead": 0, "cacheWrite": 0,
        "totalTokens": 2 * tokens, "cost": cost,
    }  # fmt: skip


# A delegation


async def test_a_delegation_is_answered_with_windows_entries_and_usage(
    place: Workplace, host: BridgeHost
) -> None:
    await host.open()
    number = host.begin("c1", DELEGATE, tasks("one", "two"))
    one, two = await place.child("one"), await place.child("two")
    await one.tool("ls", {"path": "src"}, result="a.py\nb.py")
    await one.answer_and_exit("first")
    entry = await host.heard("entry")
    await two.say("half", stop_reason="toolUse")
    await two.exit(3)
    answer = await host.answer(number)
    result = answer["result"]
    failure = "Sub-agent exited with code 3 before it finished"
    ids = result["details"]["sessionIds"]
    assert text_of(result) == (
        f"✓ one: completed (session: {ids[0]})\n✗ two: error — {failure} (session: {ids[1]})"
    )
    answers = texts_of(result)[1].split("\n")
    assert ("first" in answers, answers[-1]) == (True, "half")
    assert (result["isError"], result["usage"]) == (False, usage(3))
    details = result["details"]
    assert (details["status"], details["maxLines"]) == ("done", 15)
    shown = [(w["name"], w["status"], w["errorMessage"]) for w in details["windows"]]
    assert shown == [("one", "completed", None), ("two", "error", failure)]
    ls = [["→ ", "muted"], ["ls → src → ", "muted"], ["2", "toolDiffAdded"], [" files", "muted"]]
    lines = details["picture"][place_of_lines(0)]
    assert (lines["latest"], lines["rows"]) == (15, [ls, ["first"]])
    assert (entry["customType"], entry["data"]["sessionId"]) == ("pi-subagents", ids[0])
    assert (entry["data"]["status"], entry["data"]["output"]) == ("completed", "first")
    kept = [(e["data"]["taskName"], e["data"]["status"]) for e in host.all_told("entry")]
    assert kept == [("one", "completed"), ("two", "failed")]
    assert await host.bye() == 0


async def test_a_task_that_never_began_leaves_an_entry_like_any_other(
    place: Workplace, host: BridgeHost
) -> None:
    await host.open()
    asked = {"tasks": [{"name": "lost", "prompt": "p", "profile": "nope"}]}
    result = (await host.answer(host.begin("c1", DELEGATE, asked)))["result"]
    (entry,) = host.all_told("entry")
    assert entry["customType"] == "pi-subagents"
    assert (entry["data"]["sessionId"], entry["data"]["taskName"], entry["data"]["status"]) == (
        result["details"]["sessionIds"][0], "lost", "failed",
    )  # fmt: skip
    assert entry["data"]["errorMessage"].startswith('Unknown profile: "nope".')
    assert await host.bye() == 0


async def test_deltas_put_together_are_what_the_windows_show_at_the_end(
    place: Workplace, host: BridgeHost
) -> None:
    await host.open()
    number = host.begin("c1", DELEGATE, tasks("talker"))
    child = await place.child("talker")
    await host.heard("picture", lambda p: "1 running" in str(p["parts"]))
    for turn in range(40):
        await child.tool("ls", {"path": f"d{turn}"}, result="a\nb")
        await child.say(f"saw {turn}\nand more", stop_reason="toolUse")
    await child.answer_and_exit("done")
    details = (await host.answer(number))["result"]["details"]
    heard = host.all_told("picture")
    parts: dict[int, dict[str, Any]] = {}
    for delta in (delta for params in heard for delta in params["parts"]):
        part = parts.setdefault(delta.pop("at"), {"rows": []})
        rows, dropped = part["rows"], delta.pop("drop", 0)
        rows[len(rows) - dropped :] = delta.pop("add")
        part |= delta
    assert list(parts.values()) == details["picture"]
    assert len(parts[place_of_lines(0)]["rows"]) == 40 * 3 + 1
    (window,) = details["windows"]
    assert (window["model"], window["sessionId"]) == ("fake-1", details["sessionIds"][0])
    assert {params["callId"] for params in heard} == {"c1"}
    assert await host.bye() == 0


async def test_queued_tasks_know_their_place_and_updates_are_small(
    place: Workplace, host: BridgeHost
) -> None:
    await host.open()
    names = [f"t{n}" for n in range(8)]
    number = host.begin("c1", DELEGATE, tasks(*names))
    first = str(await host.heard("picture"))
    assert re.findall(r"queued, place (\d)", first) == list("12345678")
    await host.heard(
        "picture", lambda p: re.findall(r"queued, place (\d)", str(p))[-4:] == list("1234")
    )
    for index in range(8):
        child = await place.driver.next_child(index)
        await child.answer_and_exit("x" * 100_000)
    result = (await host.answer(number))["result"]
    updates = host.all_told("update")
    assert text_of(updates[-1]).startswith("Sub-agents: 8 done\n\n✓ t0 • ")
    assert all(len(json.dumps(update)) < 16_000 for update in updates)
    heard = [update["details"]["sessionIds"] for update in updates]
    assert heard == [result["details"]["sessionIds"]] * len(updates)
    assert await host.bye() == 0


async def test_what_a_child_floods_is_told_within_bounds(
    place: Workplace, host: BridgeHost
) -> None:
    await host.open()
    number = host.begin("c1", DELEGATE, tasks("flood"))
    child = await place.child("flood")
    for _ in range(4):
        await child.say("\n".join(f"{n} " + "ü" * 500 for n in range(2000)), stop_reason="toolUse")
    await child.answer_and_exit("y" * 1_000_000)
    result = (await host.answer(number))["result"]
    rows = result["details"]["picture"][place_of_lines(0)]["rows"]
    assert 0 < len(rows) <= MAX_HISTORY
    assert len(json.dumps(rows, ensure_ascii=False).encode()) <= 64 * 1024
    assert len(json.dumps(result, ensure_ascii=False).encode()) < 200_000
    (heard,) = result["details"]["results"]
    assert (len(heard["output"]), heard["outputTruncated"]) == (4000, True)
    for params in host.all_told("picture"):
        assert len(json.dumps(params, ensure_ascii=False).encode()) < 100_000
    assert await host.bye() == 0


@pytest.mark.parametrize("kind", ["junk", "updates"])
async def test_what_children_print_never_fills_the_core(
    place: Workplace, host: BridgeHost, kind: str
) -> None:
    await host.open()
    number = host.begin("c1", DELEGATE, tasks("flood"))
    child = await place.child("flood")
    before = peak_memory(host.process.pid)
    await child.do("flood", size=16 * 1024 * 1024, kind=kind)
    await child.answer_and_exit("done")
    assert "result" in await host.answer(number)
    assert peak_memory(host.process.pid) - before < 12 * 1024 * 1024
    assert await host.bye() == 0


async def test_calls_run_side_by_side_and_a_cancel_reaches_every_child_of_one(
    place: Workplace, host: BridgeHost
) -> None:
    await host.open()
    stopped = host.begin("c1", DELEGATE, tasks("a", "b"))
    other = host.begin("c2", DELEGATE, tasks("c"))
    a, b, c = [await place.child(name) for name in "abc"]
    host.tell("cancel", callId="c1")
    answer = (await host.answer(stopped))["result"]
    statuses = [(r["status"], r["errorMessage"]) for r in answer["details"]["results"]]
    assert statuses == [("error", core_messages.STOPPED_ON_REQUEST)] * 2
    assert not answer["isError"]
    await a.gone()
    await b.gone()
    await c.answer_and_exit("unharmed")
    assert text_of((await host.answer(other))["result"]).startswith("✓ c: completed")
    assert await host.bye() == 0


async def test_a_cancel_right_behind_its_call_is_not_lost(
    place: Workplace, host: BridgeHost
) -> None:
    await host.open()
    number = host.begin("c1", DELEGATE, tasks("never"))
    host.tell("cancel", callId="c1")
    host.tell("cancel", callId="unknown")
    answer = (await host.answer(number))["result"]
    assert answer["details"]["results"][0]["errorMessage"] == core_messages.STOPPED_ON_REQUEST
    assert place.driver.children == []
    assert await host.bye() == 0


async def test_a_second_cancel_waits_for_no_grace(place: Workplace, host: BridgeHost) -> None:
    await host.open()
    number = host.begin("c1", DELEGATE, tasks("stubborn"))
    child = await place.child("stubborn")
    await child.do("ignore", command="abort")
    host.tell("cancel", callId="c1")
    host.tell("cancel", callId="c1")
    (result,) = (await host.answer(number))["result"]["details"]["results"]
    killed = ("error", 137)  # a polite stop would have ended it by SIGTERM, with 143
    assert (result["status"], result["exitCode"]) == killed
    await child.gone()
    assert await host.bye() == 0


async def test_a_refused_call_says_so_in_both_places(host: BridgeHost) -> None:
    await host.open()
    answer = await host.call(DELEGATE, {"tasks": []})
    assert answer == {
        "content": [{"type": "text", "text": "tasks: must hold 1 to 16 tasks, not 0"}],
        "details": {"isError": True},
        "isError": True,
    }
    unknown = await host.call("hammer", {})
    assert unknown["isError"]
    assert text_of(unknown).startswith('Unknown tool: "hammer".')


async def test_a_core_inside_a_sub_agent_greets_and_refuses_every_call(place: Workplace) -> None:
    env = {**place.env, "PI_SUBAGENTS_CHILD": "1"}
    async with open_bridge(place.project, env) as host:
        await host.open()
        for tool, arguments in (
            (DELEGATE, tasks("t")),
            ("get_subagent_output", {"sessionId": "x"}),
            ("background_agent_status", {}),
        ):
            answer = await host.call(tool, arguments)
            assert (answer["isError"], text_of(answer)) == (True, str(errors.NestedDelegation()))


async def test_the_hosts_tools_and_trust_are_the_childrens(
    place: Workplace, host: BridgeHost
) -> None:
    profiles = place.project / ".pi/agent-profiles"
    profiles.mkdir()
    text = "---\nname: few\nexcludeTools: bash\nextensions: /x.ts\n---\n"
    (profiles / "few.md").write_text(text)
    await host.open()
    for number, trusted in enumerate((True, False)):
        name = f"as told {trusted}"
        asked = host.begin(
            f"c{number}", DELEGATE, {**tasks(name), "profile": "few"},
            parentTools=["read", "bash", DELEGATE, "mine"], trusted=trusted,
        )  # fmt: skip
        child = await place.child(name)
        options = " ".join(child.arguments)
        assert "--tools read,mine,edit,write,grep,find,ls" in options
        assert (" --approve" in options, "--extension /x.ts" in options) == (trusted, trusted)
        await child.answer_and_exit("done")
        assert not (await host.answer(asked))["result"]["isError"]
    assert await host.bye() == 0


async def said(host: BridgeHost, text: str) -> Any:
    """Return the first update that has a text in it."""
    return await host.heard("update", lambda update: text in text_of(update))


async def test_a_host_that_is_read_by_a_client_has_every_line_in_its_updates(
    place: Workplace, host: BridgeHost
) -> None:
    await host.open()
    number = host.begin("c1", DELEGATE, tasks("one", "two"))
    one, two = await place.child("one"), await place.child("two")
    for turn in range(5):
        await one.tool("ls", {"path": f"d{turn}"}, result="a\nb")
        await said(host, f"→ ls → d{turn} → 2 files")
    await one.say("I have seen it.", stop_reason="toolUse")
    update = await said(host, "I have seen it.")
    first, second = update["details"]["windows"]
    assert update["callId"] == "c1"
    assert [line["text"] for line in first["lines"]] == [
        *(f"ls → d{turn} → 2 files" for turn in range(5)),
        "I have seen it.",
    ]
    assert (first["status"], first["callCount"], second["lines"]) == ("running", 5, [])
    heard = text_of(update).splitlines()
    assert heard[0] == "Sub-agents: 2 running"
    assert re.fullmatch(r"⏳ one • \d+s/600s • \d+ tokens", heard[2])
    assert heard[7:9] == ["  → ls → d4 → 2 files", "  I have seen it."]
    await one.answer_and_exit("done")
    await host.heard("update", lambda p: text_of(p).startswith("Sub-agents: 1 running, 1 done"))
    await two.answer_and_exit("done")
    await host.answer(number)
    assert await host.bye() == 0


# `subagent`


async def test_what_a_preset_does_is_told_in_the_words_of_the_transcript(
    here: PresetPlace, host: BridgeHost
) -> None:
    await host.open()
    number = host.begin("c1", "subagent", {"preset": "scout", "task": "look"}, models=[MODEL])
    child = await here.work.child("look")
    await child.say("I look at it.", stop_reason="toolUse")
    await child.tool("read", {"path": "a.py"}, result="1")
    await child.tool("grep", {"pattern": "x"}, result="2")
    await child.answer_and_exit("seen")
    await host.answer(number)
    heard = [text_of(update) for update in host.all_told("update")]
    assert heard == [
        "I look at it.", "Reading a.py", "Finished reading a.py", "Searching code for x",
        "Search finished", "seen",
    ]  # fmt: skip
    log = next(here.work.store.runs_dir.glob("*/transcript.log")).read_text()
    assert [text for text in heard if text not in log] == []
    assert await host.bye() == 0


async def test_a_preset_takes_its_model_from_the_host_and_pi_is_not_asked(
    here: PresetPlace, host: BridgeHost
) -> None:
    await host.open()
    models = ["acme/big", MODEL]
    number = host.begin("c1", "subagent", {"preset": "scout", "task": "look"}, models=models)
    child = await here.work.child("look")
    assert f"--model {MODEL}" in " ".join(child.arguments)
    await child.answer_and_exit("seen")
    result = (await host.answer(number))["result"]
    assert text_of(result).startswith("scout: completed (session: ")
    assert texts_of(result)[1].endswith("\nseen")
    assert result["usage"] == usage(1)
    assert [window["name"] for window in result["details"]["windows"]] == ["scout"]
    assert result["details"]["mode"] == "single"
    assert not (here.work.home / ".local/share/pi-subagents/models").exists()
    absent = await host.call("subagent", {"preset": "scout", "task": "t"}, models=["acme/big"])
    assert text_of(absent).startswith(f'Model "{MODEL}" is not available')
    assert await host.bye() == 0


# Sessions


async def test_a_session_whose_directory_is_gone_is_told_from_the_log(
    place: Workplace, host: BridgeHost
) -> None:
    await host.open()
    number = host.begin("c1", DELEGATE, tasks("kept"))
    await (await place.child("kept")).answer_and_exit("in the log")
    (session_id,) = (await host.answer(number))["result"]["details"]["sessionIds"]
    log = json.loads(json.dumps(host.all_told("entry")))
    assert await host.bye() == 0
    shutil.rmtree(place.store.runs_dir)
    async with open_bridge(place.project, place.env) as back:
        await back.open({"customType": "pi-subagents", "data": "damaged"}, *log, reason="resume")
        asked = {"sessionId": session_id}
        output = await back.call("get_subagent_output", {**asked, "waitSeconds": 5})
        assert (text_of(output), output["isError"]) == ("in the log", False)
        assert output["details"]["status"] == "completed"
        whole = await back.call("get_subagent_session", asked)
        assert whole["details"]["taskName"] == "kept"
        assert text_of(whole) == "in the log"
        await back.open(*log, reason="new", session="s2")
        gone = await back.call("get_subagent_output", asked)
        assert text_of(gone) == str(errors.SessionNotFound(session_id))


async def test_a_session_that_only_the_log_tells_of_is_resumed_and_told_with_what_follows(
    place: Workplace, host: BridgeHost
) -> None:
    said = [
        {"role": "user", "content": "Count."},
        {"role": "assistant", "content": [{"type": "text", "text": "Seven."}]},
    ]
    known = {"sessionId": "b3f7b9c2d1e8f4a1", "taskName": "count", "status": "completed"}
    entry = {**known, "startedAt": 1_700_000_000_000, "messages": said}
    await host.open({"customType": "pi-subagents", "data": entry}, reason="resume")
    again = {"name": "again", "prompt": "again", "resume": "b3f7b9c2d1e8f4a1"}
    number = host.begin("c1", DELEGATE, {"tasks": [again]})
    child = await place.child("Previously:")
    assert (await child.prompt()).decode() == (
        "Previously:\n\n--- Run 1 (completed, 2 messages) ---\nUser: Count.\nAssistant: Seven."
        "\n\nInstructions:\n\nagain"
    )
    await child.answer_and_exit("Still seven.")
    assert (await host.answer(number))["result"]["details"]["sessionIds"] == [known["sessionId"]]
    whole = await host.call("get_subagent_session", {"sessionId": known["sessionId"]})
    assert text_of(whole) == (
        "=== Run 1/2 (completed) ===\nCount.\n---\nSeven.\n---\n"
        "=== Run 2/2 (completed) ===\nagain\n---\nStill seven."
    )
    assert await host.bye() == 0


async def test_a_session_that_is_in_no_log_is_found_on_disk(
    place: Workplace, host: BridgeHost
) -> None:
    await host.open()
    number = host.begin("c1", DELEGATE, tasks("earlier"))
    await (await place.child("earlier")).answer_and_exit("before the fork")
    (session_id,) = (await host.answer(number))["result"]["details"]["sessionIds"]
    await host.open(reason="fork", session="s2")
    output = await host.call("get_subagent_output", {"sessionId": session_id})
    assert text_of(output) == "before the fork"
    assert await host.bye() == 0


async def test_what_a_failed_session_said_and_why_it_failed_is_one_text(
    place: Workplace, host: BridgeHost
) -> None:
    await host.open()
    working = host.begin("c1", DELEGATE, tasks("bad"))
    child = await place.child("bad")
    await child.say("half", stop_reason="toolUse")
    await child.exit(7)
    (session,) = (await host.answer(working))["result"]["details"]["sessionIds"]
    output = await host.call("get_subagent_output", {"sessionId": session})
    why = "(It ended with an error: Sub-agent exited with code 7 before it finished)"
    goes_on = core_messages.session_can_go_on(output["details"]["nextCall"])
    assert output["content"] == [{"type": "text", "text": f"half\n\n{why}\n\n{goes_on}"}]
    assert output["details"]["status"] == "error"
    assert await host.bye() == 0


async def test_a_call_that_only_waits_answers_when_it_is_cancelled(
    place: Workplace, host: BridgeHost
) -> None:
    await host.open()
    working = host.begin("c1", DELEGATE, tasks("slow"))
    child = await place.child("slow")
    meta = json.loads((place.store.runs_dir / child.run_id / "meta.json").read_text())
    asked = {"sessionId": meta["sessionId"], "waitSeconds": 3000}
    waiting = host.begin("c2", "get_subagent_output", asked)
    host.tell("cancel", callId="c2")
    answer = (await host.answer(waiting))["result"]
    assert answer["details"]["status"] == "running"
    whole = host.begin("c3", "get_subagent_session", {"sessionId": meta["sessionId"]})
    host.tell("cancel", callId="c3")
    assert not (await host.answer(whole))["result"]["isError"]
    await child.answer_and_exit("late")
    await host.answer(working)
    assert await host.bye() == 0


# Background runs


async def begun(here: PresetPlace, host: BridgeHost, task: str) -> Any:
    """Start a background run; return its row and its child."""
    asked = {"preset": "scout", "task": task}
    answer = await host.call("background_agent", asked, models=[MODEL])
    assert not answer["isError"], answer
    return answer["details"], await here.work.child(task)


async def test_a_background_run_is_logged_shown_and_told_once_when_it_ends(
    here: PresetPlace, host: BridgeHost
) -> None:
    assert await host.open() == {"background": {"running": 0, "total": 0, "text": None}}
    row, child = await begun(here, host, "dig")
    assert row["counts"] == counts(running=1)
    logged = await host.heard("entry")
    assert (logged["customType"], logged["data"]["runId"]) == ("pi-subagents:bg-run", row["runId"])
    mine = {"sessionId": "s1"}
    assert await host.heard("status") == {**mine, "text": "bg: 1 running / 1 total · scout: dig"}
    await child.answer_and_exit("gold")
    told = await host.heard("message")
    ended = f"Background agent scout completed (run {row['runId'][:8]})"
    assert told["customType"] == "pi-subagents:bg-end"
    assert told["content"] == f"{ended}\nTask: dig\nfake/fake-1 · 2 tokens\n\ngold"
    assert (told["details"]["runId"], told["details"]["status"]) == (row["runId"], "completed")
    assert told["notice"] == {"message": ended, "level": "info"}
    assert await host.heard("status", skip=1) == {**mine, "text": None}
    update = await host.heard("entry", lambda e: e["customType"] == "pi-subagents:bg-update")
    assert (update["data"]["status"], update["data"]["output"]) == ("completed", "gold")
    assert await host.bye() == 0
    assert (len(host.all_told("notify")), len(host.all_told("message"))) == (0, 1)


async def test_the_usage_of_a_background_run_is_told_once_also_after_a_restart(
    here: PresetPlace, host: BridgeHost
) -> None:
    await host.open()
    row, child = await begun(here, host, "spend")
    status = "background_agent_status"
    assert "usage" not in await host.call(status, {})
    await child.answer_and_exit("spent")
    await here.ended(row["runId"])
    first = await host.call(status, {"includeCompleted": True})
    assert (first["usage"], first["details"]["counts"]) == (usage(1), counts(completed=1))
    assert "usage" not in await host.call(status, {"runId": row["runId"]})
    log = json.loads(json.dumps(host.all_told("entry")))
    assert [e["data"]["usageTold"] for e in log if "usageTold" in e["data"]] == [True]
    assert await host.bye() == 0
    async with open_bridge(here.work.project, here.work.env) as back:
        opened = await back.open(*log)
        assert opened == {"background": {"running": 0, "total": 1, "text": None}}
        again = await back.call(status, {"includeCompleted": True})
        assert [run["runId"] for run in again["details"]["runs"]] == [row["runId"]]
        assert "usage" not in again


async def test_a_host_that_comes_back_is_told_of_what_ended_meanwhile(
    here: PresetPlace, host: BridgeHost
) -> None:
    await host.open()
    ended_row, ends = await begun(here, host, "ends")
    going_row, goes_on = await begun(here, host, "goes on")
    log = json.loads(json.dumps(host.all_told("entry")))
    assert await host.vanish() == 0
    await ends.echo()
    await ends.answer_and_exit("meanwhile")
    await here.ended(ended_row["runId"])
    async with open_bridge(here.work.project, here.work.env) as back:
        await back.open(*log, reason="resume")
        told = await back.heard("message")
        assert told["details"]["runId"] == ended_row["runId"]
        text = "bg: 1 running / 2 total · scout: goes on"
        assert await back.heard("status", lambda p: p["text"] == text)
        again = await back.open(*log, reason="resume")
        assert again["background"]["running"] == 1, "said twice, it is the same session"
        footer = {"sessionId": "s1", "text": text}
        assert [told for told in back.all_told("status") if told == footer] == [footer] * 2
        await back.request("close")
        await back.open(*log, reason="resume")
        await goes_on.answer_and_exit("at last")
        heard = await back.heard("message", skip=1)
        assert heard["details"]["runId"] == going_row["runId"]
        assert await back.bye() == 0
        assert [bool(told["notice"]) for told in back.all_told("message")] == [True, True]


async def test_an_answer_that_the_hosts_log_lacks_is_shown_again_without_a_second_notification(
    here: PresetPlace, host: BridgeHost
) -> None:
    await host.open(endsShown=[])
    lost_row, lost = await begun(here, host, "lost")
    kept_row, kept = await begun(here, host, "kept")
    await lost.answer_and_exit("gold" * 3000)
    first = await host.heard("message")
    await kept.answer_and_exit("silver")
    await host.heard("status", lambda p: p["text"] is None)
    log = json.loads(json.dumps(host.all_told("entry")))
    log += json.loads(json.dumps(log).replace(lost_row["runId"], "0" * 32))  # removed long ago
    assert await host.bye() == 0
    assert {m["details"]["runId"] for m in host.all_told("message")} == {
        lost_row["runId"], kept_row["runId"],
    }  # fmt: skip
    async with open_bridge(here.work.project, here.work.env, RESTLESS) as back:
        await back.open(*log)  # a host that does not say what it has
        await back.request("complete", prefix="")
        await back.open(*log, reason="new", session="s2", endsShown=[])
        await back.request("complete", prefix="")
        assert back.all_told("message") == []
        for _ in range(2):  # said twice, it is the same session
            await back.open(*log, reason="resume", endsShown=[kept_row["runId"]])
            assert await back.heard("message") == {k: v for k, v in first.items() if k != "notice"}
        assert await back.bye() == 0
        assert (len(back.all_told("message")), back.all_told("notify")) == (1, [])


async def test_an_end_that_was_logged_but_not_told_is_told_once(
    here: PresetPlace, host: BridgeHost
) -> None:
    await host.open(endsShown=[])
    row, child = await begun(here, host, "dig")
    assert await host.request("close") == {}
    await child.answer_and_exit("gold")
    await here.ended(row["runId"])
    await host.call("background_agent_status", {"includeCompleted": True})
    log = json.loads(json.dumps(host.all_told("entry")))
    assert log[-1]["data"]["status"] == "completed"
    assert await host.bye() == 0
    async with open_bridge(here.work.project, here.work.env, RESTLESS) as back:
        await back.open(*log, endsShown=[])
        assert (await back.heard("message"))["notice"]["level"] == "info"
        assert await back.bye() == 0
        assert len(back.all_told("message")) == 1


async def test_an_end_between_two_sessions_is_told_when_its_own_is_open_again(
    here: PresetPlace,
) -> None:
    async with open_bridge(here.work.project, here.work.env, RESTLESS) as host:
        await host.open()
        row, child = await begun(here, host, "meanwhile")
        log = json.loads(json.dumps(host.all_told("entry")))
        assert await host.request("close") == {}
        await child.answer_and_exit("gold")
        await here.ended(row["runId"])
        late = await host.call("background_agent_status", {"includeCompleted": True})
        assert late["details"]["counts"] == counts(completed=1)
        await host.open(session="s2", reason="resume")
        await host.request("complete", prefix="")
        assert host.all_told("notify") == host.all_told("message") == []
        await host.open(*log, reason="resume")
        heard = await host.heard("message")
        assert (heard["sessionId"], heard["details"]["runId"]) == ("s1", row["runId"])
        assert await host.bye() == 0
        assert len(host.all_told("message")) == 1


async def test_the_list_is_the_sessions_own_and_any_run_is_found_by_its_id(
    here: PresetPlace, host: BridgeHost
) -> None:
    foreign = await here.answered("another's")
    foreign_run, foreign_child = await here.started("another's, still at it")
    await host.open()
    row, child = await begun(here, host, "mine")
    status = "background_agent_status"
    mine = await host.call(status, {"includeCompleted": True})
    assert [run["runId"] for run in mine["details"]["runs"]] == [row["runId"]]
    found = await host.call(status, {"runId": foreign[:12]})
    assert [run["runId"] for run in found["details"]["runs"]] == [foreign]
    assert text_of(found).endswith("answer to another's")
    assert found["details"]["counts"] == mine["details"]["counts"] == counts(running=1)
    stopped = await host.call("background_agent_stop", {})
    assert [run["runId"] for run in stopped["details"]["runs"]] == [row["runId"]]
    assert stopped["details"]["counts"] == counts(aborted=1)
    await child.gone()
    await foreign_child.echo()
    one = await host.call("background_agent_stop", {"runId": foreign_run})
    assert [run["status"] for run in one["details"]["runs"]] == ["aborted"]


async def test_a_background_run_whose_directory_is_gone_is_told_from_the_log(
    here: PresetPlace, host: BridgeHost
) -> None:
    await host.open()
    row, child = await begun(here, host, "lost")
    await child.answer_and_exit("nobody will know")
    await here.ended(row["runId"])
    log = [e for e in host.all_told("entry") if e["customType"] == "pi-subagents:bg-run"]
    assert await host.bye() == 0
    shutil.rmtree(here.run_dir(row["runId"]).path)
    async with open_bridge(here.work.project, here.work.env) as back:
        await back.open(*log)
        status = "background_agent_status"
        heard = await back.call(status, {"runId": row["runId"][:10]})
        (run,) = heard["details"]["runs"]
        assert (run["status"], run["errorMessage"]) == (
            "failed",
            service_messages.RUN_DIRECTORY_GONE,
        )
        refused = await back.call(status, {"runId": "f" * 32})
        assert text_of(refused) == str(errors.BackgroundRunNotFound("f" * 32))


async def test_waiting_for_a_background_run_ends_with_it_or_with_a_cancel(
    here: PresetPlace, host: BridgeHost
) -> None:
    await host.open()
    row, child = await begun(here, host, "slow")
    status, asked = "background_agent_status", {"runId": row["runId"], "waitSeconds": 3000}
    first, second = host.begin("c1", status, asked), host.begin("c2", status, asked)
    host.tell("cancel", callId="c1")
    answer = (await host.answer(first))["result"]
    assert answer["details"]["counts"] == counts(running=1)
    await child.answer_and_exit("done")
    answer = (await host.answer(second))["result"]
    assert answer["details"]["counts"] == counts(completed=1)


async def test_a_watcher_that_fails_is_complained_of_once_and_the_core_goes_on(
    here: PresetPlace,
) -> None:
    broken = (
        "from pi_subagents.service.host_log import Registry\n"
        "def look(*_): raise RuntimeError('no watching today')\n"
        f"Registry.look = look\n{RESTLESS}"
    )
    async with open_bridge(here.work.project, here.work.env, broken) as host:
        await host.open()
        row, child = await begun(here, host, "unwatched")
        await child.answer_and_exit("done")
        await here.ended(row["runId"])
        answer = await host.call("background_agent_status", {"includeCompleted": True})
        assert answer["details"]["counts"] == counts(completed=1)
        assert await host.bye() == 0
        assert (await host.stderr()).count("no watching today") == 1


# How it ends


async def test_a_goodbye_stops_calls_in_order_and_lets_background_runs_go_on(
    here: PresetPlace, host: BridgeHost
) -> None:
    await host.open()
    row, background = await begun(here, host, "stays")
    number = host.begin("c1", DELEGATE, tasks("goes"))
    child = await here.work.child("goes")
    assert await host.bye() == 0
    (result,) = (await host.answer(number))["result"]["details"]["results"]
    assert result["errorMessage"] == core_messages.STOPPED_ON_REQUEST
    await child.gone()
    await background.echo()
    await background.answer_and_exit("done")
    await here.ended(row["runId"])


async def test_a_signal_to_end_is_a_goodbye_and_one_of_the_terminal_is_the_hosts(
    place: Workplace, host: BridgeHost
) -> None:
    await host.open()
    number = host.begin("c1", DELEGATE, tasks("goes"))
    child = await place.child("goes")
    host.process.send_signal(signal.SIGINT)
    await host.request("complete", prefix="")
    await child.echo()
    host.process.send_signal(signal.SIGTERM)
    assert "result" in await host.answer(number)
    assert await host.exit_code() == 0
    await child.gone()


@pytest.mark.parametrize("how", ["end of input", "kill -9"])
async def test_a_host_or_core_that_vanishes_leaves_no_child_and_a_truthful_record(
    place: Workplace, host: BridgeHost, how: str
) -> None:
    await host.open()
    number = host.begin("c1", DELEGATE, tasks("done", "cut", "stubborn"))
    await (await place.child("done")).answer_and_exit("safe")
    await host.heard("entry")
    cut, stubborn = await place.child("cut"), await place.child("stubborn")
    await stubborn.do("ignore_term")
    await stubborn.fork_setsid()
    left = await place.driver.grandchild()
    if how == "kill -9":
        host.process.kill()
        await host.exit_code()
    else:
        assert await host.vanish() == 0
    async with asyncio.timeout(PATIENCE_S):
        for process in (cut, stubborn, left):
            await process.gone()
        for run in place.run_dirs():
            await asyncio.to_thread(run.desk.wait_for_end, PATIENCE_S)
    results = {run.read_result().name: run.read_result() for run in place.run_dirs()}  # type: ignore[union-attr]  # each ended
    heard = {name: (r.status, r.error_message) for name, r in results.items() if r is not None}
    interrupted = ("interrupted", core_messages.INTERRUPTED)
    assert heard == {"done": ("completed", ""), "cut": interrupted, "stubborn": interrupted}
    assert all(line.get("id") != number for line in host.lines)
    async with open_bridge(place.project, place.env) as back:
        await back.open(*host.all_told("entry"), reason="resume")
        safe = results["done"]
        assert safe is not None
        output = await back.call("get_subagent_output", {"sessionId": safe.session_id})
        assert text_of(output) == "safe"


# The wire


async def test_whatever_prints_prints_to_standard_error(place: Workplace) -> None:
    noisy = (
        "import os, sys, ctypes\n"
        "from pi_subagents.faces.bridge import profile_command\n"
        "def complete(prefix):\n"
        "    print('by print')\n"
        "    sys.stdout.flush()\n"
        "    os.write(1, b'by os.write\\n')\n"
        "    ctypes.CDLL(None).write(1, b'by libc\\n', 8)\n"
        "    os.spawnvp(os.P_WAIT, 'sh', ['sh', '-c', 'echo by a child; cat'])\n"
        "    return []\n"
        "profile_command.completions = complete\n"
        "from pi_subagents.faces.cli.main import main; main(['bridge'])"
    )
    async with open_bridge(place.project, place.env, noisy) as host:
        await host.open()
        first, second = host.ask("complete", prefix=""), host.ask("complete", prefix="")
        for number in (first, second):
            assert (await host.answer(number))["result"] == {"items": None}
        assert await host.bye() == 0
        said = ["by print", "by os.write", "by libc", "by a child"]
        assert sorted((await host.stderr()).splitlines()) == sorted(said * 2)


async def test_broken_lines_are_answered_and_the_connection_goes_on(host: BridgeHost) -> None:
    host.write(b"{nonsense\n\n[]\n\xff\xfe\n")
    host.write(b'{"jsonrpc":"2.0","id":7,"method":"fly","params":{}}\n')
    host.write(b'{"jsonrpc":"2.0","method":"unknown"}\n{"jsonrpc":"2.0","id":"d9","result":1}\n')
    host.write(b'"' + b"x" * (64 * 1024 * 1024) + b'"\n')
    await host.open()
    codes = [(line["id"], line["error"]["code"]) for line in host.lines if "error" in line]
    # The unknown method has its turn when the lines of the same chunk are taken.
    assert sorted(codes, key=str) == [
        (7, -32601), (None, -32600), (None, -32600), (None, -32700), (None, -32700),
    ]  # fmt: skip
    too_long = [line for line in host.lines if "error" in line][-1]["error"]["message"]
    assert too_long == bridge_messages.rpc_line_too_long(64 * 1024 * 1024 + 2, 64 * 1024 * 1024)


@pytest.mark.parametrize(
    ("spoken", "cure"), [(1, "subagents install pi"), (3, "Update pi-subagents")]
)
async def test_another_protocol_is_refused_with_what_to_update(
    host: BridgeHost, spoken: int, cure: str
) -> None:
    hello = host.ask("hello", protocol=spoken, cwd="/", host="pi")
    behind = host.ask("complete", prefix="")
    failure = (await host.answer(hello))["error"]
    assert failure["code"] == -32000
    assert cure in failure["message"]
    assert (await host.answer(behind))["error"] == failure
    assert await host.bye() == 0


async def test_what_comes_right_behind_a_greeting_waits_for_it(
    place: Workplace, host: BridgeHost
) -> None:
    kept = entry_of(record("r", "0123456789abcdef", "n", "completed", output="kept"))
    session: dict[str, Any] = {"sessionId": "s1", "reason": "resume"}
    session["entries"] = [{"customType": "pi-subagents", "data": kept}]
    host.ask("hello", protocol=PROTOCOL, cwd=str(place.project), **session)
    looking = host.begin("c1", "get_subagent_output", {"sessionId": "0123456789abcdef"})
    working = host.begin("c2", DELEGATE, tasks("t"))
    host.tell("cancel", callId="c2")
    assert text_of((await host.answer(looking))["result"]) == "kept"
    (window,) = (await host.answer(working))["result"]["details"]["windows"]
    assert window["status"] == "error"
    assert await host.bye() == 0


async def test_an_entry_that_the_host_could_not_keep_is_told_to_its_user(host: BridgeHost) -> None:
    await host.open()
    for method in ("notify", "entry"):
        heard = {"method": method, "message": "disk\nfull"}
        host.send({"method": "failed", "params": heard})
    message = bridge_messages.entry_not_kept("disk full")
    warning = {"sessionId": "s1", "message": message, "level": "warning"}
    assert await host.heard("notify") == warning
    assert await host.bye() == 0
    assert len(host.all_told("notify")) == 1


@pytest.mark.parametrize(
    ("method", "params", "problem"),
    [
        ("call", {}, "callId: is required and must be a string"),
        ("call", {"callId": "c", "tool": "t", "cwd": "/", "models": "m"},
         "models: must be a list of strings, or null"),
        ("hello", {"protocol": PROTOCOL, "sessionId": "s", "reason": "startup", "cwd": "/", "entries": {}},
         "entries: must be a list"),
        ("profile", {"line": "list"}, "hasUI: must be true or false"),
        ("complete", {}, "prefix: is required and must be a string"),
    ],
)  # fmt: skip
async def test_wrong_parameters_are_said_to_be_wrong(
    host: BridgeHost, method: str, params: dict[str, Any], problem: str
) -> None:
    assert await host.failure(method, **params) == {"code": -32602, "message": problem}


async def test_a_call_id_is_used_once_at_a_time(place: Workplace, host: BridgeHost) -> None:
    await host.open()
    number = host.begin("c1", DELEGATE, tasks("t"))
    child = await place.child("t")
    again = await host.answer(host.begin("c1", DELEGATE, tasks("u")))
    assert again["error"]["code"] == -32602
    await child.answer_and_exit("done")
    assert "result" in await host.answer(number)
    assert await host.bye() == 0


async def test_opening_pi_somewhere_leaves_nothing_behind(
    place: Workplace, host: BridgeHost
) -> None:
    before = sorted(place.project.rglob("*")), sorted(place.home.rglob("*"))
    await host.open()
    await host.request("complete", prefix="")
    assert await host.bye() == 0
    assert (sorted(place.project.rglob("*")), sorted(place.home.rglob("*"))) == before


async def test_what_is_said_of_settings_is_said_once(place: Workplace, host: BridgeHost) -> None:
    (place.project / ".pi/settings.json").write_text('{"subagents": {"pi_command": "x"}}')
    await host.open()
    for name in ("one", "two"):
        number = host.begin("c1", DELEGATE, tasks(name))
        await (await place.child(name)).answer_and_exit("done")
        await host.answer(number)
    (heard,) = host.all_told("notify")
    assert heard["level"] == "warning"
    assert core_messages.SETTING_GLOBAL_ONLY in heard["message"]
    assert await host.bye() == 0


# /profile


async def test_a_profile_is_created_through_the_hosts_dialogs_where_the_host_is(
    place: Workplace, host: BridgeHost
) -> None:
    project = place.home / "another"
    (project / ".pi/agent-profiles").mkdir(parents=True)
    (project / ".pi/agent-profiles/bad.md").write_text("---\nname: bad\n")

    def answer(dialog: dict[str, Any]) -> object:
        kind, (title, *more) = dialog["kind"], dialog["arguments"]
        if kind == "select":
            return more[0][1]
        if kind == "input" and title.startswith("Model"):
            return "big"
        return title.startswith("Save profile")

    host.dialog = answer
    await host.open()
    host.cwd = project
    await host.open(reason="resume", session="s2")
    said = await host.request("profile", line="create demo", hasUI=True, models=["acme/big"])
    assert said["text"].startswith('Profile "demo" saved to project agent-profiles.')
    text = (project / ".pi/agent-profiles/demo.md").read_text()
    assert text == "---\nname: demo\nmodel: big\n---\n"
    listed = await host.request("profile", line="", hasUI=True)
    assert listed == {"text": bridge_messages.PROFILE_USAGE, "level": "warning"}
    assert host.all_told("notify") == []
    assert (await host.request("profile", line="list", hasUI=True))["level"] == "info"
    (warned,) = host.all_told("notify")
    assert (warned["sessionId"], warned["level"]) == ("s2", "warning")
    assert core_messages.FENCE_NOT_CLOSED in warned["message"]
    items = (await host.request("complete", prefix="show "))["items"]
    assert "show demo" in [item["value"] for item in items]
    nobody = await host.request("profile", line="list", hasUI=False)
    assert nobody == {"text": bridge_messages.PROFILE_NEEDS_TERMINAL, "level": "error"}


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_profile_is_shown_with_the_hosts_trust(
    place: Workplace, host: BridgeHost, *, trusted: bool
) -> None:
    profiles = place.project / ".pi/agent-profiles"
    profiles.mkdir(parents=True)
    (profiles / "own.md").write_text("---\nname: own\napiKey: sk-secret-key-12345\n---\n")
    await host.open()
    await host.request("profile", line="show own", hasUI=True, trusted=trusted)
    warned = [heard["message"] for heard in host.all_told("notify")]
    assert any("the project is not trusted" in text for text in warned) is not trusted


async def test_an_open_dialog_keeps_nobody_waiting_and_ends_with_the_host(
    place: Workplace, host: BridgeHost
) -> None:
    host.answers_dialogs = False
    await host.open()
    host.ask("profile", line="create demo", hasUI=True)
    await host.line(lambda each: each.get("method") == "dialog")
    assert (await host.request("complete", prefix="li"))["items"]
    assert await host.bye() == 0


# How it starts


async def test_a_person_who_starts_it_by_hand_is_told_whom_it_is_for(place: Workplace) -> None:
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pi_subagents", "bridge"),
        cwd=place.project,
        env={**place.env, "PYTHONPATH": str(SOURCES)},
        stdin=theirs, stdout=theirs, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    os.close(theirs)
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE_S):
        assert cli_messages.BRIDGE_IS_FOR_PI in (await process.stderr.readline()).decode()
        os.close(ours)
        await process.wait()
