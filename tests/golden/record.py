"""
Record streams of the real pi for the golden tests, with everything of this machine taken out.

    PI_SUBAGENTS_PI="node <pi>/dist/bundle/cli.js" python tests/golden/record.py [json | rpc]

Writes pi-<version>-<name>.jsonl (what pi printed) and .json (what we made of it) beside itself, and
rpc-<version>-... for the same in RPC mode.
Look at the difference before it is kept: the second file is the promise.  Both modes promise the
same; tools that run at once end in any order, so record again where only that differs.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.golden.reading import (  # noqa: E402 - after the path is set
    PROMPT,
    Golden,
    RpcReader,
    read_rpc_stream,
    read_stream,
)

from pi_subagents.core.offline.script import parse_script  # noqa: E402 - after the path is set
from pi_subagents.engines.offline.provider import URL_VARIABLE  # noqa: E402 - after the path is set
from pi_subagents.engines.offline.server import OfflineModel  # noqa: E402 - after the path is set
from pi_subagents.engines.pi.installed_version import find_version  # noqa: E402 - after the path is set
from pi_subagents.engines.pi.offline import pi_arguments  # noqa: E402 - after the path is set
from pi_subagents.engines.pi.versions import traits_of  # noqa: E402 - after the path is set

RATE_LIMIT = {"error": {"status": 429, "message": "Too many requests"}}
CONVERSATIONS: dict[str, list[object]] = {
    "tools": [
        {
            "thinking": "Two looks at once.",
            "text": "I\u2019m looking at the notes now.",
            "toolCalls": [
                {"name": "bash", "arguments": {"command": "sleep 0.5; echo slow"}},
                {"name": "read", "arguments": {"path": "notes.txt"}},
            ],
            "usage": {"input": 100, "output": 20, "cacheRead": 7},
        },
        {
            "toolCalls": [
                {"name": "bash", "arguments": {"command": "echo no; exit 3"}},
                {"name": "read", "arguments": {"path": "missing.txt"}},
                {"name": "edit", "arguments": {"path": "notes.txt"}},
                {"name": "teleport", "arguments": {"to": "moon"}},
            ],
        },
        {
            "thinking": "Done.",
            "text": "First\u2028line, second\u0085line, ünï 🎈.",
            "usage": {"input": 300, "output": 40},
        },
    ],
    "retry": [
        RATE_LIMIT,
        {
            "text": "Now it works.",
            "toolCalls": [{"name": "bash", "arguments": {"command": "echo ok"}}],
        },
        RATE_LIMIT,
        {"text": "All done."},
    ],
    "model-error": [{"error": {"status": 400, "message": "Bad request: no such thing"}}],
    "length": [{"text": "The answer is cut he", "stop": "length"}],
    "empty": [{"text": ""}],
}
# A pi whose scripts can call tools: what they do is told beside what the model does.
SCRIPT = """\
const notes = await tools.read({ path: "notes.txt" });
for (const text of ["one", "one"]) await tools.bash({ command: `echo ${text}` });
await tools.bash({ command: "exit 3" }).catch(() => undefined);
return notes;
"""
SCRIPTING = ("--tools", "read,bash,codemode")
SCRIPTED: dict[str, list[object]] = {
    "script": [
        {
            "text": "All in one.",
            "toolCalls": [{"name": "codemode", "arguments": {"code": SCRIPT}}],
        },
        {"text": "It says one and two."},
    ],
}
RPC_CONVERSATIONS: dict[str, list[object]] = {
    "tools": CONVERSATIONS["tools"],
    "retry": CONVERSATIONS["retry"],
    "model-error": CONVERSATIONS["model-error"],
    "steer": [
        # The tool ends when the message has reached pi, which is told of by its answer.
        {"toolCalls": [{"name": "bash", "arguments": {"command": "cat gate"}}]},
        {"text": "I used the other file."},
    ],
}


def main() -> None:
    pi = shlex.split(os.environ["PI_SUBAGENTS_PI"])
    version = find_version(tuple(pi), os.environ, ROOT)
    assert version is not None, "a pi that tells its version"
    modes = sys.argv[1:] or ["json", "rpc"]
    more = SCRIPTED if traits_of(version).has_mcp else {}
    for name, turns in {**CONVERSATIONS, **more}.items() if "json" in modes else ():
        raw, exit_code = record(pi, turns, in_json_mode)
        keep(f"pi-{version}-{name}", raw, Golden(exit_code, *read_stream(raw, exit_code)))
    for name, turns in {**RPC_CONVERSATIONS, **more}.items() if "rpc" in modes else ():
        steers = name == "steer"
        raw, exit_code = record(pi, turns, partial(in_rpc_mode, steers=steers))
        read, _ = read_rpc_stream(raw, exit_code, steers=steers)
        keep(f"rpc-{version}-{name}", raw, Golden(exit_code, *read))


def keep(name: str, raw: bytes, golden: Golden) -> None:
    (HERE / f"{name}.jsonl").write_bytes(raw)
    (HERE / f"{name}.json").write_text(golden.to_json(), encoding="utf-8")
    print(name, len(raw))


Speak = Callable[[list[str], dict[str, str], Path], tuple[bytes, int]]


def in_json_mode(pi: list[str], env: dict[str, str], project: Path) -> tuple[bytes, int]:
    argv = [*pi, "--mode", "json", "-p", "--no-session", "--no-approve", *pi_arguments()]
    done = subprocess.run(
        argv, input=PROMPT.encode(), env=env, cwd=project, capture_output=True, check=False
    )
    assert not done.stderr, done.stderr.decode()
    return done.stdout, done.returncode


def in_rpc_mode(
    pi: list[str], env: dict[str, str], project: Path, *, steers: bool
) -> tuple[bytes, int]:
    """Let our own side of the conversation speak with pi until it is over."""
    gate = project / "gate"
    os.mkfifo(gate)
    child = subprocess.Popen(
        [*pi, "--mode", "rpc", "--no-session", "--no-approve", *pi_arguments()],
        env=env, cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    raw = b""
    pipe = child.stdin.fileno()

    def tell(line: bytes) -> None:
        os.write(pipe, line)

    with child:
        reader = RpcReader(tell, session=str(project / "session.jsonl"), steers=steers)
        with os.fdopen(os.dup(child.stdout.fileno()), "rb") as lines:
            for line in lines:
                raw += line
                reader.hears(line.removesuffix(b"\n"))
                if b'"command":"steer"' in line:
                    gate.write_text("open")
                if reader.talk.over:
                    child.stdin.close()
    return raw, child.returncode


def record(pi: list[str], turns: list[object], speak: Speak) -> tuple[bytes, int]:
    with tempfile.TemporaryDirectory() as place, OfflineModel(parse_script(turns)) as model:
        home, project = Path(place, "home"), Path(place, "project")
        for directory in (home, project):
            directory.mkdir()
        (project / "notes.txt").write_text("one\ntwo\n", encoding="utf-8")
        settings = {"retry": {"baseDelayMs": 10}}
        (home / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        env = {
            **os.environ,
            "HOME": str(home),
            "PI_CODING_AGENT_DIR": str(home),
            "PI_OFFLINE": "1",
            "PI_SKIP_VERSION_CHECK": "1",
            "PI_TELEMETRY": "0",
            URL_VARIABLE: model.url_for("golden"),
        }
        options = SCRIPTING if turns in SCRIPTED.values() else ()
        raw, exit_code = speak([*pi, *options], env, project)
        secrets = {str(project): "PROJECT", str(home): "HOME", f":{model.port}": ":PORT"}
        secrets |= {str(Path(part).parents[2]): "PI" for part in pi if part.endswith("cli.js")}
        return scrubbed(raw, secrets), exit_code


def scrubbed(raw: bytes, secrets: dict[str, str]) -> bytes:
    """Take out paths, ids, times; every record stays on its line, with the bytes pi writes."""
    text = raw.decode()
    for value, word in secrets.items():
        text = text.replace(value, f"/{word}" if value.startswith("/") else word)
    text = re.sub(r'"timestamp":\d+', '"timestamp":1700000000000', text)
    text = re.sub(r'"durationMs":[0-9.]+', '"durationMs":25', text)
    text = re.sub(r'"wall_time_seconds":[0-9.]+', '"wall_time_seconds":0.5', text)
    text = re.sub(r"Wall time [0-9.]+ seconds", "Wall time 0.5 seconds", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "2023-11-14T22:13:20.000Z", text)
    text = re.sub(r"\d{4}-\d\d-\d\d(?!T)", "2023-11-14", text)
    text = re.sub(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", "00000000-0000", text)
    calls: dict[str, str] = {}
    for found in re.findall(r'"toolCallId":"([^"]+)"', text):
        calls.setdefault(found, f"call-{len(calls) + 1}")
    for found, word in calls.items():
        text = text.replace(found, word)
    return re.sub(r'"responseId":"[^"]+"', '"responseId":"response"', text).encode()


if __name__ == "__main__":
    main()
