"""The fake speaks as the real pi was recorded to speak."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.child_modes import in_both_modes
from tests.fakes.many_tasks import QUICK_CHILD

from pi_subagents.core.run.outcome import Ending, Outcome, RunFold
from pi_subagents.core.usage import Usage
from pi_subagents.engines.conversation import Beginning
from pi_subagents.engines.pi.versions import TESTED_VERSIONS
from pi_subagents.engines.table import open_conversation
from pi_subagents.store.orders import send

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

pytestmark = in_both_modes
GOLDEN = Path(__file__).parents[1] / "golden"
# What they hold differs from call to call, or is of no concern to anyone who reads a stream.
OPAQUE = {"messages", "args", "arguments", "parameters", "constrainedSampling", "sections", "cost"}


def shapes(value: Any, place: str = "") -> set[str]:
    """Return the place and the keys of every object in a value, and the types of the rest."""
    if isinstance(value, list):
        return set().union(*(shapes(inner, f"{place}[]") for inner in value))
    if not isinstance(value, dict):
        return {f"{place}: {'number' if isinstance(value, int | float) else type(value).__name__}"}
    kind = value.get("type", value.get("role", ""))
    here = f"{place}({kind})"
    inner = (shapes(v, f"{here}.{k}") for k, v in value.items() if k not in OPAQUE)
    return {f"{here} has {', '.join(sorted(value))}"}.union(*inner)


def shapes_of_stream(stream: bytes) -> set[str]:
    records = [json.loads(line) for line in stream.split(b"\n") if line]
    return set().union(*map(shapes, records))


@pytest.mark.parametrize("version", TESTED_VERSIONS)
async def test_every_record_of_the_fake_has_the_shape_of_a_recorded_one(
    place: Workplace, version: str
) -> None:
    recordings = [*GOLDEN.glob(f"pi-{version}-*.jsonl"), *GOLDEN.glob(f"rpc-{version}-*.jsonl")]
    assert recordings
    known = set().union(*(shapes_of_stream(path.read_bytes()) for path in recordings))
    place.speaks = version
    work = place.delegate("speak", session_option="--session")
    child = await place.child("speak")
    await child.tool("bash", {"command": "ls"})
    await child.do("fail", message="429", will_retry=True)
    if place.takes_commands:
        run = place.run_dir(child)
        assert send(run.desk, f"steer {run.desk.write_steer('faster')}")
        assert await child.take_steer() == "faster"
    await child.answer_and_exit("done")
    await work.result()
    spoken = shapes_of_stream(place.run_dir(child).stdout.read_bytes())
    assert sorted(spoken - known) == []


async def test_the_fake_ends_at_sigterm_as_pi_does(place: Workplace) -> None:
    work = place.delegate_by_api("polite")
    await place.child("polite")
    work.stop()
    result = await work.result()
    assert (result.exit_code, result.signal_name) == (143, "")


class Wire:
    """The way to a child's standard input, as a conversation writes to it."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child

    def send(self, line: bytes) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(line)
        self._child.stdin.flush()


def test_the_quick_child_can_be_talked_to_like_pi() -> None:
    """Asked, answered, settled, accounted for: what the contract of conversations asks of a run."""
    argv = [sys.executable, "-I", "-S", str(QUICK_CHILD)]
    fold = RunFold()
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        talk = open_conversation("pi", "rpc", "run", Wire(child))
        talk.begin(Beginning("Look around."))
        while not talk.over:
            for event in talk.hears(child.stdout.readline(), 0.0):
                fold.apply(event)
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait() == 0
    assert fold.decide(Ending(exit_code=0)) == Outcome("completed", "You said: Look around.")
    assert talk.usage == Usage(input=1, output=1, total_tokens=2)
