"""
A look from elsewhere: `python recoverer.py DIRECTORY` recovers as soon as its stdin ends.

Prints `ready` when it waits for that, then the runs it concluded.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pi_subagents.service.runs import Runs

if __name__ == "__main__":
    runs = Runs(Path(sys.argv[1]))
    print("ready", flush=True)
    sys.stdin.read()
    print(json.dumps(sorted(run.run_id for run in runs.recover())))
