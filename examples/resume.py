"""
Delegate a task, then go on in the same session: the second run is told what the first one did.

    python examples/resume.py

Works in the current directory, with the built-in offline model.
"""

import sys

from pi_subagents import RunResult, Task, delegate_sync


def run(task: Task) -> RunResult:
    """Return how one task ended, after saying so."""
    (result,) = delegate_sync([task], offline=True).results
    print(f"{result.name}: {result.output or result.error_message}")
    return result


def main() -> int:
    """Return 0 if both runs were completed."""
    first = run(Task("look", "Count the Python files in ."))
    # The id is all that is needed, also in another process, or days later.
    second = run(Task("look closer", "Count the lines in README.md", resume=first.session_id))
    print("one session:", second.session_id == first.session_id)
    return 0 if first.completed and second.completed else 1


if __name__ == "__main__":
    sys.exit(main())
