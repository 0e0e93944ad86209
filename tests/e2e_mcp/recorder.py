"""
Stand between an MCP host and a server on pipes, and keep what both say: `recorder.py LOG COMMAND...`.

A line of the log is `> ` and what the host said, or `< ` and what the server said.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import IO


def pass_on(heard: IO[bytes], said: IO[bytes], sign: bytes, log: IO[bytes]) -> None:
    for line in heard:
        log.write(sign + line)
        said.write(line)
        said.flush()
    said.close()


def main() -> int:
    argv = sys.argv[2:]
    with (
        Path(sys.argv[1]).open("ab", buffering=0) as log,
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        asking = (sys.stdin.buffer, server.stdin, b"> ", log)
        threading.Thread(target=pass_on, args=asking, daemon=True).start()
        pass_on(server.stdout, sys.stdout.buffer, b"< ", log)
    return server.returncode


if __name__ == "__main__":
    sys.exit(main())
