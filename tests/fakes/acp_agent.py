"""
An agent that speaks the Agent Client Protocol, as well or as badly as its prompt says.

The prompt is a JSON list of steps, each a list: a word and its arguments.  What goes wrong before a
prompt is in FAKE_ACP.  Its sessions are files at home, so that another process can open them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FAULT = os.environ.get("FAKE_ACP", "")
HOME = Path(os.environ.get("HOME", "/")) / ".fake-acp"
USED = {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12}
KINDS = ("allow_once", "allow_always", "reject_once")
ids = iter(range(10**9))  # from 0, as real agents count: they collide with the client's
session = ""


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(of: str, /, **fields: Any) -> None:
    params = {"sessionId": session, "update": {"sessionUpdate": of, **fields}}
    send(method="session/update", params=params)


def say(text: str, **more: Any) -> None:
    update("agent_message_chunk", content={"type": "text", "text": text}, **more)


def read() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    found: dict[str, Any] = json.loads(line)
    return found


def ask(method: str, **params: Any) -> Any:
    """Return the answer to a request of ours, whatever else comes before."""
    own = next(ids)
    send(id=own, method=method, params={"sessionId": session, **params})
    while True:
        heard = read()
        if heard.get("id") == own and "method" not in heard:
            return heard.get("result", heard.get("error"))
        kept.append(heard)


kept: list[dict[str, Any]] = []  # that came while we waited for an answer


def next_message() -> dict[str, Any]:
    return kept.pop(0) if kept else read()


def wait_for(method: str) -> dict[str, Any]:
    while (heard := next_message()).get("method") != method:
        pass
    return heard


def answer(to: Any, **result: Any) -> None:
    send(id=to, result=result)


def do(prompt_id: Any, steps: list[list[Any]]) -> None:
    for word, *given in steps:
        match word, given:
            case "say", [text, *more]:
                say(text, **(more[0] if more else {}))
            case "update", [kind, fields]:
                update(kind, **fields)
            case "call", [call_id, fields, status]:
                update("tool_call", toolCallId=call_id, title=call_id, status="pending", **fields)
                update("tool_call_update", toolCallId=call_id, status=status)
            case "allowed", [call_id, kind]:
                options = [
                    {"optionId": f"id-{n}", "name": k, "kind": k} for n, k in enumerate(KINDS)
                ]
                call = {"toolCallId": call_id, "title": call_id, "kind": kind}
                outcome = ask("session/request_permission", toolCall=call, options=options)
                say(f"[{outcome['outcome'].get('optionId', 'cancelled')}]")
            case "client", [method, params]:
                say(json.dumps(ask(method, **params)))
            case "tools", []:
                say(json.dumps(servers))
            case "shell", [script]:
                # In a session of its own, as agents start their shells.
                subprocess.Popen(["sh", "-c", script], start_new_session=True)
            case "raw", [text]:
                sys.stdout.buffer.write(text.encode("latin-1"))
                sys.stdout.flush()
            case "flood", [count, width]:
                for _ in range(count):
                    say("x" * width)
            case "until cancelled", []:
                wait_for("session/cancel")
                answer(prompt_id, stopReason="cancelled")
                return
            case "hang", []:
                while True:
                    time.sleep(60)
            case "read on", []:  # and answer nothing
                while True:
                    read()
            case "exit", [code]:
                os._exit(code)
            case "close", []:
                os.close(1)
            case "error", [code, message, data]:
                send(id=prompt_id, error={"code": code, "message": message, "data": data})
                return
            case "end", [reason, *more]:
                answer(prompt_id, stopReason=reason, **(more[0] if more else {"usage": USED}))
                return
            case _:
                raise SystemExit(f"no such step: {word}")
    answer(prompt_id, stopReason="end_turn", usage=USED)


servers: list[Any] = []


def opened(method: str, params: dict[str, Any]) -> dict[str, Any]:
    global session, servers  # noqa: PLW0603 - one session in a process
    servers = params["mcpServers"]
    HOME.mkdir(parents=True, exist_ok=True)
    session = params.get("sessionId") or f"s-{os.getpid()}"
    history = HOME / session
    if method == "session/load":
        for line in history.read_text().splitlines():
            say(line)
    history.touch()
    models = [{"value": f"fake/{name}", "name": name} for name in ("small", "large")]
    model = {"id": "m", "name": "Model", "category": "model", "type": "select"}
    modes = [{"id": each, "name": each} for each in ("default", "yolo")]
    return {
        "sessionId": session,
        "configOptions": [{**model, "currentValue": "fake/small", "options": models}],
        "modes": {"currentModeId": "yolo", "availableModes": modes},
    }


def serve(heard: dict[str, Any]) -> None:
    method, params, own = heard.get("method"), heard.get("params", {}), heard.get("id")
    match method:
        case "initialize":
            capabilities = {"loadSession": True, "sessionCapabilities": {"close": {}}}
            ways = [
                {"id": "key", "name": "A key", "type": "env_var", "vars": [{"name": "FAKE_KEY"}]}
            ]
            answer(
                own,
                protocolVersion=2 if FAULT == "protocol" else 1,
                agentCapabilities=capabilities,
                authMethods=ways,
            )
        case "authenticate":
            Path(HOME).mkdir(parents=True, exist_ok=True)
            (HOME / "logged-in").touch()
            answer(own)
        case "session/new" | "session/load":
            if FAULT == "login" and not (HOME / "logged-in").exists():
                send(id=own, error={"code": -32000, "message": "Authentication required"})
            else:
                answer(own, **opened(method, params))
        case "session/set_config_option":
            answer(own, configOptions=[])
        case "session/set_mode":
            answer(own)
        case "session/prompt":
            text = params["prompt"][0]["text"]
            with (HOME / session).open("a") as history:
                history.write("asked before\n")
            do(own, json.loads(text.split("\n", maxsplit=1)[0]))
        case None:
            pass
        case _ if own is not None:
            send(id=own, error={"code": -32601, "message": f"no {method}"})


def make_database() -> None:
    """Make it as codex does at a first start: two of them would get in each other's way."""
    database = Path(os.environ["HOME"]) / ".codex" / "state_1.sqlite"
    if database.exists():
        return
    try:
        (HOME.parent / "made-by").touch(exist_ok=False)
    except FileExistsError:
        print("failed to initialize state runtime", file=sys.stderr)
        sys.exit(1)
    # Only an end that was asked for finds it whole: no other start was made meanwhile.
    serve(next_message())
    read_to_the_end()
    database.parent.mkdir(parents=True, exist_ok=True)
    database.touch()
    sys.exit(0)


def read_to_the_end() -> None:
    while sys.stdin.readline():
        pass


def main() -> None:
    if FAULT == "database":
        make_database()
    if FAULT == "silent":
        while True:
            read()
    if FAULT == "noise":
        print("Welcome!\n{}\n[]\n\x00", flush=True)
    if FAULT == "die":
        print("cannot begin: no such thing", file=sys.stderr)
        sys.exit(3)
    while True:
        serve(next_message())


if __name__ == "__main__":
    main()
