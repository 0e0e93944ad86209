"""No amount of output stalls or exhausts us, and what is too much is said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.fakes.auditor import read_journal
from tests.fakes.child_modes import takes_long
from tests.fakes.processes import peak_memory
from tests.fakes.workplace import answered, comparable, tokens

from pi_subagents.core.run import events as ev
from pi_subagents.store.run_log import MAX_TEXT_LINES

if TYPE_CHECKING:
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

pytestmark = takes_long
MB = 1_000_000
MIB = 1024 * 1024
MEMORY_LIMIT = 120 * MIB
STDOUT_CAP = JOURNAL_CAP = 64 * MIB
TRANSCRIPT_CAP = 16 * MIB
STDERR_CAP = 4 * MIB
STDOUT_CUT = f"stdout.log reached its limit of {STDOUT_CAP} bytes; what followed was not kept."
STDERR_CUT = f"stderr.log reached its limit of {STDERR_CAP} bytes; what followed was not kept."


def supervisor_memory(place: Workplace, child: FakeProcess) -> int:
    """Return the most memory the supervisor of a child ever had."""
    supervisor = place.run_dir(child).read_meta()["supervisor"]
    assert isinstance(supervisor, dict)
    return peak_memory(supervisor["pid"])


async def test_a_line_of_20_mb_is_read_and_its_text_is_whole(place: Workplace) -> None:
    work = place.delegate_by_api("long")
    child = await place.child("long")
    await child.do("long_line", size=20 * MB)
    await child.settle()
    await work.sees(ev.Settled())
    memory = supervisor_memory(place, child)
    await child.exit(0)
    result = await work.result()
    is_whole = result.output == "0123456789abcdef" * (20 * MB // 16)
    assert is_whole
    assert comparable(result) == answered("long", result.output)
    assert memory < MEMORY_LIMIT


async def test_a_line_of_40_mb_is_skipped_and_the_next_one_counts(place: Workplace) -> None:
    work = place.delegate_by_api("too long")
    child = await place.child("too long")
    await child.do("long_line", size=40 * MB)
    await child.say("short and good")
    await child.settle()
    await work.sees(ev.Settled())
    memory = supervisor_memory(place, child)
    await child.exit(0)
    result = await work.result()
    (skipped,) = [event for event in work.events() if isinstance(event, ev.Note)]
    size = int(skipped.text.split()[3])
    assert 40 * MB < size < 40 * MB + 1000
    assert skipped.text == f"A line of {size} bytes was skipped: the limit is 33554432 bytes."
    # What the skipped line has cost only the child itself can tell, where it can be asked.
    used = tokens(2 if place.takes_commands else 1)
    assert comparable(result) == answered(
        "too long", "short and good", notes=(skipped.text,), usage=used
    )
    assert memory < MEMORY_LIMIT


@takes_long
async def test_200_mb_of_output_drain_in_bounded_memory_and_files(place: Workplace) -> None:
    work = place.delegate_by_api("flood")
    child = await place.child("flood")
    await child.do("begin")
    for kind in ("updates", "junk"):
        await child.do("flood", size=100 * MB, kind=kind)
    await child.say("dry again")
    await child.settle()
    await work.sees(ev.Settled())
    memory = supervisor_memory(place, child)
    await child.exit(0)
    result = await work.result()
    assert comparable(result) == answered(
        "flood", "dry again", notes=(STDOUT_CUT,), artifacts_truncated=True
    )
    assert memory < MEMORY_LIMIT
    run = place.run_dir(child)
    assert run.stdout.stat().st_size == STDOUT_CAP
    assert run.events.stat().st_size < 2 * MIB
    assert run.transcript.stat().st_size < 2 * MIB
    lines = [entry for entry in read_journal(run) if isinstance(entry.event, ev.OutputText)]
    assert len(lines) == MAX_TEXT_LINES


async def test_a_tool_that_repeats_itself_fills_neither_memory_nor_log(place: Workplace) -> None:
    work = place.delegate_by_api("chatty")
    child = await place.child("chatty")
    await child.do("begin")
    await child.do("flood", size=100 * MB, kind="tool_updates")
    shell = {"toolCallId": "c", "toolName": "bash", "durationMs": 5}
    noise = {"output": "\x01" * MIB}  # six bytes each, once they are written
    result = {"content": [{"type": "text", "text": "short"}], "structuredContent": noise}
    await child.line(json.dumps({"type": "tool_execution_end", **shell, "result": result}).encode())
    await child.say("done")
    await child.settle()
    await work.sees(ev.Settled())
    memory = supervisor_memory(place, child)
    await child.exit(0)
    assert comparable(await work.result()) == answered("chatty", "done", message_count=3)
    assert memory < MEMORY_LIMIT
    run = place.run_dir(child)
    assert run.stdout.stat().st_size < 8 * MIB
    assert run.events.stat().st_size < MIB
    assert [e.event.text for e in read_journal(run) if isinstance(e.event, ev.ToolFinished)] == [
        "short"
    ]


@takes_long
async def test_many_tiny_lines_and_a_stderr_flood_drain(place: Workplace) -> None:
    work = place.delegate_by_api("tiny")
    child = await place.child("tiny")
    await child.do("flood", size=MIB // 8, kind="tiny")
    for _ in range(8):
        await child.stderr("complaints " * 65536 + "\n")
    await child.answer_and_exit("still here")
    result = await work.result()
    assert comparable(result) == answered(
        "tiny", "still here", notes=(STDERR_CUT,), artifacts_truncated=True
    )
    assert place.run_dir(child).stderr.stat().st_size == STDERR_CAP


@takes_long
async def test_output_without_any_end_of_line_is_not_held(place: Workplace) -> None:
    work = place.delegate_by_api("breathless")
    child = await place.child("breathless")
    await child.do("begin")
    await child.do("endless_line", size=150 * MB)
    await work.sees(ev.StateChanged("running"))
    memory = supervisor_memory(place, child)
    await child.line(b"")
    await child.answer_and_exit("breathing")
    assert (await work.result()).output == "breathing"
    assert memory < MEMORY_LIMIT


async def test_large_answers_and_arguments_are_cut_in_the_journal_only(place: Workplace) -> None:
    work = place.delegate_by_api("wordy")
    child = await place.child("wordy")
    text = "word " * 100_000
    for number in range(10):
        await child.tool("write", {"path": f"{number}.txt", "content": text}, result=text)
    await child.answer_and_exit(text)
    result = await work.result()
    assert result.output == text
    assert result.tool_call_count == 10
    run = place.run_dir(child)
    assert run.events.stat().st_size < JOURNAL_CAP
    assert run.transcript.stat().st_size < TRANSCRIPT_CAP
    last = [e.event for e in read_journal(run) if isinstance(e.event, ev.AssistantMessage)][-1]
    assert last.text == text[: 256 * 1024] + "\n[cut: 237856 more characters]"
    assert result.usage == tokens(11)
