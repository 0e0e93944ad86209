"""
A scripted model in a process of its own, so that its work is in nobody's figures.

In: a script.  Out: the address of a conversation by its name, for as long as the model is wanted.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SERVE = """
import json, signal, sys
from pi_subagents.core.offline.script import parse_script
from pi_subagents.engines.offline.server import OfflineModel
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
with OfflineModel(parse_script(json.load(sys.stdin)), keep_requests=0) as model:
    print(model.url_for("@"), flush=True)
    signal.sigwait({signal.SIGTERM})
"""
NAME = "name-of-a-conversation"


@contextmanager
def scripted_model(script: object, env: Mapping[str, str]) -> Iterator[Callable[[str], str]]:
    """Serve the script; yield what tells the address of a conversation."""
    server = subprocess.Popen(
        (sys.executable, "-c", SERVE.replace("@", NAME)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(env),
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        server.stdin.write(json.dumps(script).encode("ascii"))
        server.stdin.close()
        address = server.stdout.readline().decode("ascii").strip()
        if NAME not in address:
            raise RuntimeError("the scripted model did not start")
        yield lambda name: address.replace(NAME, name)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
        server.stdout.close()
