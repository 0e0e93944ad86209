"""
A pi that knows one RPC question: which models it has.

`ModelsPlace` holds it with a home, a project and a cache.  What it does is told by the file
`behaviour` beside it: answers (default), fails, refuses, strange, floods, dies; waits and hangs
(without an answer), lingers (after it), leaves (a child behind), abandons (one that holds its
errors open, and fails).  With the last four it has a child; whoever does not end by itself holds the pipe `alive` open, on which it says "started".
Each start is noted in `starts`.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.fake_node import write_script

from pi_subagents.engines.pi.models.config import ChildSetup

if TYPE_CHECKING:
    from pathlib import Path

PI = """\
#!{python} -IS
import json, os, signal, subprocess, sys
from pathlib import Path

here = Path(__file__).parent
behaviour = (here / "behaviour").read_text()
with (here / "starts").open("a") as stream:
    print(json.dumps({{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd()}}), file=stream)


def say(record):
    print(json.dumps(record), flush=True)


def tell_of_life(with_child):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    alive = os.open(here / "alive", os.O_WRONLY)
    code = "import signal; signal.pause()"
    if with_child:
        subprocess.Popen([sys.executable, "-IS", "-c", code], pass_fds=[alive], stdin=-3, stdout=-3)
    os.write(alive, b"started")


def stay():
    print("still thinking", file=sys.stderr, flush=True)
    while True:
        signal.pause()


answer = {{"type": "response", "command": "get_available_models", "success": True}}
answer["data"] = {{"models": json.loads((here / "models.json").read_text())}}
if behaviour == "fails":
    print("Error: \\x1b[31mextension\\x1b[0m is broken\\n\\nHint: fix it", file=sys.stderr)
    sys.exit(3)
if behaviour == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
if behaviour in ("waits", "hangs", "lingers", "leaves", "abandons"):
    tell_of_life(with_child=behaviour != "waits")
if behaviour == "abandons":
    sys.exit("no models here")
if behaviour in ("waits", "hangs"):
    stay()
if behaviour == "floods":
    while True:
        sys.stdout.write("x" * 4096)
request = json.loads(sys.stdin.readline())
assert request == {{"type": "get_available_models"}}, request
if behaviour == "refuses":
    answer = {{**answer, "success": False, "error": "not\\nnow", "data": None}}
if behaviour == "strange":
    answer["data"] = {{"models": 7}}
print("not JSON", flush=True)
say(["response"])
say({{"type": "extension_ui_request", "method": "notify"}})
say({{"type": "response", "command": "prompt", "success": True, "data": {{"models": []}}}})
say(answer)
if behaviour == "lingers":
    stay()
sys.stdin.read()
"""


@dataclass
class ModelsPlace:
    """A fake pi, and somebody who wants to know its models."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def agent_dir(self) -> Path:
        return self.root / "home/.pi/agent"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def data_dir(self) -> Path:
        return self.root / "data"

    @property
    def program(self) -> Path:
        return self.root / "pi/pi"

    def setup(self, *arguments: str, trusted: bool = False, **env: str) -> ChildSetup:
        return ChildSetup(
            (str(self.program),), self.project, {**self.env, **env}, trusted, arguments
        )

    def behave(self, behaviour: str) -> None:
        (self.root / "pi/behaviour").write_text(behaviour)

    def has(self, *models: tuple[str, str, str]) -> None:
        """Let the pi have these models: provider, id, name."""
        heard = [
            {"provider": provider, "id": each, "name": name} for provider, each, name in models
        ]
        (self.root / "pi/models.json").write_text(json.dumps(heard))

    def starts(self) -> list[dict[str, Any]]:
        """Return how the pi was started each time."""
        path = self.root / "pi/starts"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def open_alive(self) -> int:
        """Return the end of the pipe that tells of processes that do not end by themselves."""
        os.mkfifo(self.root / "pi/alive")
        return os.open(self.root / "pi/alive", os.O_RDONLY | os.O_NONBLOCK)


def make_models_place(root: Path) -> ModelsPlace:
    """Make one whose pi has two models."""
    place = ModelsPlace(root, {"HOME": str(root / "home"), "PATH": os.defpath})
    place.agent_dir.mkdir(parents=True)
    place.project.mkdir()
    write_script(place.program, PI.format(python=sys.executable))
    # It is part of a package, so that nobody has to ask for its version.
    package = {"name": "@fakes/pi-coding-agent", "version": "0.87.1"}
    (place.program.parent / "package.json").write_text(json.dumps(package))
    place.behave("answers")
    place.has(("acme", "big", "Big One"), ("acme", "small", ""))
    return place
