"""
Read recorded streams of agents that speak ACP with our own parts, turn by turn.

`python -m tests.golden.acp_reading` writes anew what they come to: look at the difference.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.golden.reading import Plain, Sending, plain

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Ending, RunFold
from pi_subagents.engines.acp.conversation import open_conversation
from pi_subagents.engines.conversation import Beginning

STREAMS = Path(__file__).parent / "acp"
AGENTS = {"pi": "pi-acp"}  # that are called otherwise here
Message = dict[str, Any]


@dataclass
class Recorded:
    """One prompt of a recording, how its session was opened, and what the agent said then."""

    prompt: Message
    session: Message
    said: list[Message]


def recorded_turns(path: Path) -> list[Recorded]:
    """Return the turns of a recording; a second prompt during a turn is a part of it."""
    turns: list[Recorded] = []
    session: Message = {}
    for line in path.read_text("utf-8").splitlines():
        record = json.loads(line)
        message = record["msg"]
        if record["dir"] == "client->agent" and message.get("method") == "session/prompt":
            open_turn = turns and not _answer(turns[-1])
            if not open_turn:
                turns.append(Recorded(message, session, []))
        elif record["dir"] == "agent->client":
            result = message.get("result")
            if isinstance(result, dict) and "sessionId" in result:
                session = result
            if turns:
                turns[-1].said.append(message)
    return turns


def _answer(turn: Recorded) -> Message:
    own = turn.prompt["id"]
    return next((m for m in turn.said if m.get("id") == own and "method" not in m), {})


def read_turn(agent: str, turn: Recorded) -> Plain:
    """Return events (activity left out) and outcome of one turn, as a run of its own has them."""
    talk = open_conversation(agent, "golden", Sending(lambda _: None))
    talk.begin(Beginning("-"))
    session_id = turn.prompt["params"]["sessionId"]
    opened = {**turn.session, "sessionId": session_id}
    said = [_reply(1, {"protocolVersion": 1}), _reply(2, opened)]
    for message in turn.said:
        if "method" in message:
            said.append(message)
        elif message.get("id") == turn.prompt["id"]:
            said.append({**message, "id": 3})
    heard: list[ev.Event] = []
    for message in said:
        if not talk.over:
            heard += talk.hears(json.dumps(message).encode(), 0.0)
            heard += talk.take_news()
    heard += talk.unfinished()
    fold = RunFold()
    for event in heard:
        fold.apply(event)
    shown = [e for e in heard if not isinstance(e, ev.Activity)]
    return {
        "prompt": turn.prompt["params"]["prompt"][0]["text"][:200],
        "events": [{"event": type(e).__name__, **plain(e)} for e in shown],
        "outcome": plain(fold.decide(Ending(exit_code=0))),
        "usage": plain(fold.usage),
    }


def _reply(own: int, result: Message) -> Message:
    return {"jsonrpc": "2.0", "id": own, "result": result}


def read_recording(path: Path) -> list[Plain]:
    agent = path.stem.partition("-")[0]
    turns = [read_turn(AGENTS.get(agent, agent), turn) for turn in recorded_turns(path)]
    return list(json.loads(json.dumps(turns)))


if __name__ == "__main__":
    for stream in sorted(STREAMS.glob("*.jsonl")):
        text = json.dumps(read_recording(stream), indent=1, ensure_ascii=True)
        stream.with_suffix(".json").write_text(text + "\n", "utf-8")
