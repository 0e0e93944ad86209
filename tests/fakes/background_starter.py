"""
Somebody who starts background runs, to be killed: `python background_starter.py PROJECT TASK...`.

Prints the id of each run, and then stays.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from pi_subagents.core.preset.request import PresetTask
from pi_subagents.service.background import start

if __name__ == "__main__":
    for task in sys.argv[2:]:
        run = start(PresetTask("scout", task), {"cwd": Path(sys.argv[1]), "env": os.environ})
        print(run.run_id, flush=True)
    signal.pause()
