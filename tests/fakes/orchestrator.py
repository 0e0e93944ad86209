"""
A caller in a process of its own, to be killed: `python orchestrator.py PROJECT PROMPT...`.

Delegates to whatever its environment names, as any program would.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pi_subagents.api import delegate_sync
from pi_subagents.core.task.request import Task

if __name__ == "__main__":
    tasks = [Task(prompt, prompt) for prompt in sys.argv[2:]]
    delegation = delegate_sync(tasks, cwd=Path(sys.argv[1]), concurrency=2)
    print(delegation.summary)
