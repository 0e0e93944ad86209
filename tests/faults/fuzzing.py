"""
Mutate recorded streams of the real pi and read them with everything that reads a child's output.

A mutated line may give anything but an exception, and the good line after it always counts.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_subagents.core.framing import Line, LineFramer
from pi_subagents.core.limits.loop import LoopLimit
from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import JournalEntry, bounded, decode_entry, encode_entry
from pi_subagents.core.run.outcome import Ending, RunFold
from pi_subagents.core.run.progress import ProgressFormatter
from pi_subagents.core.run.result import RunResult, result_from_json, result_to_json
from pi_subagents.engines.pi.records import decode_pi_line

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parents[1] / "golden"
BATCH = 50  # mutated lines a run
WEIRD = (
    *(b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-0", b"1" * 400, b"9" * 5000, b"0.1e-999"),
    *(b"null", b"true", b"[]", b"{}", b'""', b'"\\ud800"', b'"\\u0000"', b'"\xff"', b"-1"),
    *(b"[" * 2000 + b"]" * 2000, b'{"a":' * 1500 + b"1" + b"}" * 1500, b'"' + b"x" * 9000 + b'"'),
    *(b'"\x1b]0;t\x07"', b'"\xe2\x80\xa8"', b"\x00", b"\r", b'{"type":"message_end"}'),
)
_VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null|\[\]|\{\}')
_DANGEROUS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")

Mutation = "Callable[[bytes, random.Random], bytes]"


def recorded_lines() -> list[bytes]:
    """Return every line of every recorded stream."""
    streams = sorted(GOLDEN.glob("*.jsonl"))
    assert streams, "there are recorded streams"
    return [line for stream in streams for line in stream.read_bytes().splitlines() if line]


def _spot(line: bytes, chance: random.Random) -> int:
    return chance.randrange(len(line) + 1)


def flip(line: bytes, chance: random.Random) -> bytes:
    changed = bytearray(line)
    for _ in range(chance.randint(1, 8)):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut(line: bytes, chance: random.Random) -> bytes:
    a, b = sorted((_spot(line, chance), _spot(line, chance)))
    return chance.choice([line[:a], line[a:], line[:a] + line[b:], line[a:b]])


def double(line: bytes, chance: random.Random) -> bytes:
    a, b = sorted((_spot(line, chance), _spot(line, chance)))
    return line[:b] + line[a:b] * chance.randint(1, 3) + line[b:]


def insert(line: bytes, chance: random.Random) -> bytes:
    place = _spot(line, chance)
    noise = chance.choice([chance.randbytes(chance.randint(1, 30)), chance.choice(WEIRD)])
    return line[:place] + noise + line[place:]


def retype(line: bytes, chance: random.Random) -> bytes:
    """Put a value of another kind in the place of one or more."""
    places = list(_VALUE.finditer(line))
    for place in sorted(
        chance.sample(places, min(len(places), chance.randint(1, 4))),
        key=lambda found: -found.start(),
    ):
        line = line[: place.start()] + chance.choice(WEIRD) + line[place.end() :]
    return line


def rename(line: bytes, chance: random.Random) -> bytes:
    """Give one key or type another's name: known words in unknown places."""
    names = [b'"type"', b'"message"', b'"role"', b'"content"', b'"arguments"', b'"usage"',
             b'"message_end"', b'"tool_execution_start"', b'"tool_execution_end"', b'"assistant"',
             b'"agent_settled"', b'"auto_retry_start"', b'"toolCall"', b'"text"']  # fmt: skip
    return line.replace(chance.choice(names), chance.choice(names))


def argue(line: bytes, chance: random.Random) -> bytes:
    """Give a call arguments of a kind nobody expects."""
    weird = chance.choice(WEIRD)
    for key in (b'"arguments":{', b'"args":{'):
        line = line.replace(key, key + b'"x":' + weird + b",")
    return line


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    flip, cut, double, insert, retype, rename, argue,
)  # fmt: skip


def mutated(lines: list[bytes], chance: random.Random) -> bytes:
    line = chance.choice(lines)
    for _ in range(chance.choice([1, 1, 2, 4])):
        line = chance.choice(MUTATIONS)(line, chance) or b" "
    return line


def good_line(number: int) -> tuple[bytes, ev.AssistantMessage]:
    """Return a line as pi writes it, and what it means."""
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": f"good {number} ü"}],
        "stopReason": "stop",
        "usage": {"input": 1},
    }
    line = json.dumps({"type": "message_end", "message": message}, ensure_ascii=False).encode()
    event = decode_pi_line(line)
    assert isinstance(event, ev.AssistantMessage)
    assert event.text == f"good {number} ü"
    return line, event


class Reader:
    """Everything of ours that a child's bytes go through, from the pipe to the result."""

    def __init__(self) -> None:
        self._framer = LineFramer()
        self._fold = RunFold()
        self._formatter = ProgressFormatter()
        self._loops = LoopLimit(3)
        self._sequence = 0
        self.last: ev.Event | None = None

    def feed(self, data: bytes) -> None:
        for frame in self._framer.feed(data):
            assert isinstance(frame, Line)
            if frame.data:
                self._take(decode_pi_line(frame.data))

    def _take(self, event: ev.Event) -> None:
        self.last = event
        self._fold.apply(event)
        self._loops.saw(event, 0.0)
        kept = bounded(event)
        self._sequence += 1
        line = encode_entry(JournalEntry(self._sequence, 1, kept))
        assert line.count(b"\n") == 1
        assert decode_entry(line[:-1]) == JournalEntry(self._sequence, 1, kept)
        json.loads(line, parse_constant=_refuse)
        text = self._formatter.text(event)
        for shown in (printable(text or ""), one_line(text or "", 80)):
            assert not _DANGEROUS.search(shown)
            shown.encode("utf-8")

    def end(self) -> None:
        for frame in self._framer.end():
            assert isinstance(frame, Line)
        outcome = self._fold.decide(Ending(exit_code=0))
        result = RunResult(
            "r", "s", "n", outcome.status, outcome.output, outcome.error_message, outcome.notes,
            usage=self._fold.usage, message_count=self._fold.messages,
        )  # fmt: skip
        again = json.loads(json.dumps(result_to_json(result), ensure_ascii=True, allow_nan=False))
        assert result_from_json(again) == result


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def fuzz_streams(seed: int, lines: int) -> int:
    """Read that many mutated lines; return how many were, exceptions name their seed."""
    sources: list[bytes] = recorded_lines()
    done = 0
    for batch in range(-(-lines // BATCH)):
        chance = random.Random(f"{seed} {batch}")
        try:
            done += _fuzz_once(sources, chance)
        except Exception as error:
            error.add_note(f"fuzz_streams seed {seed}, batch {batch}")
            raise
    return done


def _fuzz_once(sources: list[bytes], chance: random.Random) -> int:
    reader = Reader()
    for number in range(BATCH):
        good, meant = good_line(number)
        stream = mutated(sources, chance) + b"\n" + good + b"\n"
        while stream:
            size = chance.choice([1, 7, 64, 4096, len(stream)])
            reader.feed(stream[:size])
            stream = stream[size:]
        assert reader.last == meant, "the next good line counts"
    reader.feed(mutated(sources, chance))
    reader.end()
    return BATCH


def fuzz_terminal(seed: int, texts: int) -> None:
    """Make texts of everything that drives terminals, and check that none of it is left."""
    chance = random.Random(seed)
    parts: list[Any] = ["\x1b", "\x1b[", "\x1b]0;", "\x1b]52;c;", "\x1b]8;;http://x\x07", "\x07",
        "\x1b\\", "\x9b", "\x9d", "\x90", "\x9c", "\x98", "\x1bP", "\x1b_", "31m", "2J", "\r",
        "\n", "\t", "\b", "\x7f", "\0", "\u202e", "\u2066", "\u200f", "\u2028", "\U000e0041",
        "\ud800", "\udcff", "text", "ü", "🎈", "0;1;", "?25h", "!p", " ", "\x18", "\x1a", "\x85",
    ]  # fmt: skip
    for _ in range(texts):
        text = "".join(chance.choice(parts) for _ in range(chance.randint(1, 40)))
        safe = printable(text)
        assert not _DANGEROUS.search(safe), repr(text)
        assert not set(safe) & set("\u2028\u2029\u200e\u200f\u061c\U000e0041"), repr(text)
        assert "\n" not in one_line(text, 80)
        assert printable(safe) == safe
