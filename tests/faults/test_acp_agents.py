"""
Agents that speak ACP, at their worst: damaged streams, floods, deaths, and processes left behind.

Whatever happens, the run has a result that is true, and nothing of it goes on.
"""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.driver import PATIENCE_S
from tests.fakes.processes import has_ended
from tests.golden.acp_reading import AGENTS, STREAMS
from tests.golden.reading import Sending
from tests.integration.test_acp_agents import delegate, steps

from pi_subagents import Task
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import JournalEntry, decode_entry, encode_entry
from pi_subagents.core.run.outcome import Ending, RunFold
from pi_subagents.engines.acp.conversation import open_conversation
from pi_subagents.engines.conversation import Beginning
from pi_subagents.system.identity import identity_from_json, kill_proven

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.workplace import Workplace

PREFIX = b'{"jsonrpc":"2.0","method":"session/update","params":'


def damaged(line: bytes, chance: random.Random) -> bytes:
    """Return a line with bytes changed, cut out, doubled, or values of other types in it."""
    match chance.randrange(5):
        case 0:
            at = chance.randrange(len(line))
            return line[:at] + bytes([chance.randrange(256)]) + line[at + 1 :]
        case 1:
            start = chance.randrange(len(line))
            return line[:start] + line[start + chance.randrange(200) :]
        case 2:
            start = chance.randrange(len(line))
            return line[:start] + line[start : start + 100] * 2 + line[start + 100 :]
        case 3:
            odd = chance.choice([b"null", b"[]", b"-1", b'"x"', b"1e999", b"{}", b"[" * 5000])
            return line.replace(chance.choice([b'"text"', b"{}", b"null", b'"kind"']), odd, 2)
    return line


@pytest.mark.parametrize("stream", sorted(STREAMS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_recorded_streams_may_be_damaged_in_any_way(stream: Path) -> None:
    agent = stream.stem.partition("-")[0]
    said = [
        json.dumps(record["msg"]).encode()
        for record in map(json.loads, stream.read_text("utf-8").splitlines())
        if record["dir"] == "agent->client"
    ]
    for seed in range(12):
        chance = random.Random(seed)
        talk = open_conversation(AGENTS.get(agent, agent), "r", Sending(lambda _: None))
        talk.begin(Beginning("-", answer_within_s=chance.choice([0, 60])))
        fold = RunFold()
        for number, line in enumerate(said):
            heard = damaged(line, chance) if chance.random() < 0.3 else line
            for event in (*talk.hears(heard.replace(b"\n", b""), number), *talk.take_news()):
                fold.apply(event)
                entry = JournalEntry(number, 0, event)
                assert decode_entry(encode_entry(entry)) == entry
        for event in talk.unfinished():
            fold.apply(event)
        assert fold.decide(Ending(exit_code=0)).status in ("completed", "failed")


ENDS: dict[str, tuple[list[Any], ...]] = {
    "it dies in the middle of a line": (["raw", PREFIX.decode()], ["exit", 9]),
    "it closes its output and lives on": (["say", "x"], ["close"], ["hang"]),
    "it answers with no line end": (["raw", '{"jsonrpc":"2.0","id":3,"result":'], ["exit", 0]),
    "it says a line that is too long": (["raw", "x" * 100], ["raw", "\n"], ["exit", 1]),
    "it dies at a question": (["call", "c", {}, "in_progress"], ["exit", 0]),
    "it answers what nobody asked": (["raw", '{"jsonrpc":"2.0","id":99,"result":{}}\n'], ["exit", 0]),
}  # fmt: skip


@pytest.mark.parametrize("how", ENDS)
async def test_an_agent_that_goes_away_unanswered_has_failed(place: Workplace, how: str) -> None:
    task = Task("t", steps(*ENDS[how]), timeout_s=3 if how.endswith("lives on") else None)
    result = await delegate(place, task).result()
    assert (result.status, bool(result.error_message)) == ("failed", True)


async def test_a_flood_is_kept_within_its_limits(place: Workplace) -> None:
    """200 MB in lines of 1 MB: the answer is whole, and what is kept of the stream is not."""
    task = steps(["update", "plan", {"entries": []}], ["flood", 200, 1_000_000], ["call", "c", {"kind": "read"}, "completed"], ["say", "42"])  # fmt: skip
    result = await delegate(place, task).result()
    assert (result.status, result.output) == ("completed", "42")
    (run_dir,) = place.run_dirs()
    kept = sum(path.stat().st_size for path in run_dir.path.iterdir())
    assert kept < 150_000_000


async def test_a_grandchild_in_a_session_of_its_own_is_ended_too(place: Workplace) -> None:
    marker = place.project / "pid"
    script = f"trap '' TERM HUP; echo $$ > {marker}.new; mv {marker}.new {marker}; sleep 3600"
    task = steps(["shell", f'setsid sh -c "{script}"'], ["call", "c", {}, "in_progress"], ["read on"])  # fmt: skip
    run = delegate(place, task)
    await run.sees(ev.ToolStarted)
    async with asyncio.timeout(PATIENCE_S):
        while not marker.exists():
            await asyncio.sleep(0)
    run.stop()
    assert (await run.result()).status == "aborted"
    assert has_ended(int(marker.read_text()))


async def test_after_its_supervisor_was_killed_a_session_goes_on_natively(place: Workplace) -> None:
    run = delegate(place, Task("t", steps(["update", "plan", {"entries": []}], ["read on"])))
    await run.sees(ev.ToolStarted)
    (run_dir,) = place.run_dirs()
    supervisor = identity_from_json(run_dir.read_meta()["supervisor"])
    assert supervisor is not None
    kill_proven(supervisor)
    first = await run.result()
    assert first.status in ("failed", "interrupted")
    again = Task("again", steps(["say", "two"]), resume=first.session_id)
    second = await delegate(place, again).result()
    assert (second.status, second.output, second.resumed) == ("completed", "two", "native")
    (session,) = (place.home / ".fake-acp").glob("s-*")
    assert session.read_text() == "asked before\n" * 2
