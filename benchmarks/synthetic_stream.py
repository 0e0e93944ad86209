"""
A large stream as pi prints it, made of recorded lines (tests/golden).

97 of 100 lines are `message_update`, as measured on long runs of pi, and texts are as long as so
many updates would make them, so that seven tenths of the bytes are updates too.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pi_subagents.engines.pi.versions import PINNED_PI_VERSION

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
RECORDING = GOLDEN / f"pi-{PINNED_PI_VERSION}-tools.jsonl"
SHARE_OF_UPDATES = 0.97
TEXT_LENGTH = 5000
_FILLER = ("The quick brown fox jumps over the lazy dog. " * (TEXT_LENGTH // 40))[:TEXT_LENGTH]
_UPDATE = b'{"type":"message_update"'
_ONCE_BEFORE = ("session", "agent_start")
_ONCE_AFTER = ("agent_end", "agent_settled")


@dataclass(frozen=True, slots=True)
class Stream:
    """What comes once, what is repeated, and what comes last."""

    head: bytes
    body: bytes
    tail: bytes

    def of_size(self, size: int) -> bytes:
        return b"".join((self.head, self.body * self.repeats(size), self.tail))

    def repeats(self, size: int) -> int:
        return max(1, round((size - len(self.head) - len(self.tail)) / len(self.body)))

    def files(self, place: Path, size: int) -> list[Path]:
        """Return files that make up a stream of that size when printed one after the other."""
        block = min(64, self.repeats(size))
        parts = {"head": self.head, "block": self.body * block, "tail": self.tail}
        for name, data in parts.items():
            (place / f"stream-{name}").write_bytes(data)
        blocks = max(1, self.repeats(size) // block)
        names = ("head", *("block",) * blocks, "tail")
        return [place / f"stream-{name}" for name in names]


def recorded_stream() -> Stream:
    head, body, tail = [], [], []
    updates = []
    for line in RECORDING.read_bytes().splitlines(keepends=True):
        if line.startswith(_UPDATE):
            updates.append(line)
            continue
        record = json.loads(line)
        system = record.get("message", {}).get("role") == "system"
        if system or record["type"] in _ONCE_BEFORE:
            head.append(line)
        elif record["type"] in _ONCE_AFTER:
            tail.append(line)
        else:
            body.append(_as_pi_prints(_longer(record)))
    wanted = round(len(body) * SHARE_OF_UPDATES / (1 - SHARE_OF_UPDATES))
    each, rest = divmod(wanted, len(body))
    mixed: list[bytes] = []
    for number, line in enumerate(body):
        count = each + (number < rest)
        mixed += [updates[(len(mixed) + i) % len(updates)] for i in range(count)]
        mixed.append(line)
    return Stream(b"".join(head), b"".join(mixed), b"".join(tail))


def long_line_files(place: Path, size: int) -> list[Path]:
    """Return files that make up a run with one answer of `size` bytes on one line."""
    stream = recorded_stream()
    mark = "LONG-TEXT"
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": mark}],
        "stopReason": "stop",
    }
    before, after = _as_pi_prints({"type": "message_end", "message": message}).split(mark.encode())
    path = place / "long-line"
    path.write_bytes(stream.head + before + b"x" * size + after + stream.tail)
    return [path]


def shell_child(files: list[Path]) -> tuple[str, ...]:
    """Return a child that prints files and ignores pi's options, but for the question who it is."""
    printing = f"exec cat {shlex.join(map(str, files))}"
    asked = f'[ "$*" = --version ] && exec echo {PINNED_PI_VERSION}'
    return ("/bin/sh", "-c", f"{asked}; {printing}", "child")


def _longer(value: Any) -> Any:
    if isinstance(value, list):
        return [_longer(each) for each in value]
    if not isinstance(value, dict):
        return value
    longer = {key: _longer(each) for key, each in value.items()}
    return {**longer, "text": _FILLER} if value.get("type") == "text" else longer


def _as_pi_prints(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
