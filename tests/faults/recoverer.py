"""
Two looks from elsewhere: `python recoverer.py DIRECTORY` recovers twice at once when its stdin ends.

Each look is a process of its own.  Prints `ready` when both wait for that, then for each of them
a line with the runs it concluded.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path

from pi_subagents.service.runs import Runs

LOOKS = 2


def look(directory: Path, told: int) -> None:
    """Recover once there is no reason to wait, and tell what was concluded."""
    runs = Runs(directory)
    with open(told, "w") as file:
        print("ready", file=file, flush=True)
        sys.stdin.read()
        print(json.dumps(sorted(run.run_id for run in runs.recover())), file=file)


if __name__ == "__main__":
    with ExitStack() as opened:
        looks = []
        for _ in range(LOOKS):
            heard, told = os.pipe()
            if os.fork() == 0:
                look(Path(sys.argv[1]), told)
                sys.exit()
            os.close(told)
            looks.append(opened.enter_context(open(heard)))
        waiting = {each.readline() for each in looks}
        print(*waiting, end="", flush=True)
        for each in looks:
            print(each.read(), end="")
    sys.exit(any(os.wait()[1] for _ in looks))
