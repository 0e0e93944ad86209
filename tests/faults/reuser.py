"""
Force the kernel to give out numbers again: `python reuser.py COUNT` (root; one thread, so it forks).

Each round a process is identified and ends, and an innocent one gets its number.  Prints how many
rounds there were, how many innocents were born in the same tick, and how often we were fooled.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from pi_subagents.store.orphans import end_orphans
from pi_subagents.system import identity as ids
from pi_subagents.system.process_tree import descendants

LAST_PID = Path("/proc/sys/kernel/ns_last_pid")
TRIES = 200


class Echo:
    """A process that gives back what it reads."""

    def __init__(self) -> None:
        to_read, self._to = os.pipe()
        self._back, to_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._to)
            os.close(self._back)
            while data := os.read(to_read, 1):
                os.write(to_write, data)
            os._exit(0)
        os.close(to_read)
        os.close(to_write)

    def lives(self) -> bool:
        try:
            os.write(self._to, b"?")
        except BrokenPipeError:
            return False
        return os.read(self._back, 1) == b"?"

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._to)
        os.close(self._back)


def with_number(wanted: int) -> Echo | None:
    """Return a process that has that number, however often it takes."""
    for _ in range(TRIES):
        LAST_PID.write_text(str(wanted - 1))
        process = Echo()
        if process.pid == wanted:
            return process
        process.end()
    return None


def main() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    rounds = same_tick = fooled = harmed = 0
    for _ in range(int(sys.argv[1])):
        victim = Echo()
        known = ids.identify(victim.pid)
        assert known is not None
        assert ids.is_alive(known)
        victim.end()
        innocent = with_number(known.pid)
        if innocent is None:
            continue
        rounds += 1
        found = ids.process_state(innocent.pid)
        same_tick += found is not None and found.started == known.start_ticks
        fooled += ids.is_alive(known)
        end_orphans("f" * 32)  # it carries another mark
        harmed += not innocent.lives()
        innocent.end()
    assert not descendants(os.getpid())
    print(json.dumps({"rounds": rounds, "same": same_tick, "fooled": fooled, "harmed": harmed}))


if __name__ == "__main__":
    main()
