"""
End a storm: `python sweeper.py FLAG PROGRAM...` begins it, and ends it when it is in full swing.

The file FLAG is set when that begins.  Prints whether the tree was ended, and how many of it were
dead by then.  Whoever is left of it holds our output open.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from mmap import mmap
from pathlib import Path

from pi_subagents.system import process_tree

FULL_SWING = 1000


def main() -> None:
    os.setsid()
    process_tree.become_subreaper()
    with Path(sys.argv[1]).open("r+b") as file, mmap(file.fileno(), 1) as flag:
        child = subprocess.Popen(sys.argv[2:], start_new_session=True)
        dead = 0
        while dead < FULL_SWING:
            dead += len(process_tree.reap()[0])
        flag[0] = 1
        reaped: list[int] = []
        ended = process_tree.kill_tree(child.pid, reaped.extend)
    child.returncode = 0  # it was reaped: there is nothing to wait for
    print(json.dumps({"ended": ended, "dead": len(reaped)}))


if __name__ == "__main__":
    main()
