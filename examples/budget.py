"""
Give a task a budget, and go on in its session with a new one where that was used up.

    python examples/budget.py

Works in the current directory, with the offline model.
"""

import sys

from pi_subagents import SubagentsError, Task, delegate_sync


def main() -> int:
    """Return 0 if the task was completed at last, 1 if not, 2 if nothing could be started."""
    task = Task("count", "Count the Python files in .", budget="1 turns")
    try:
        (result,) = delegate_sync([task], offline=True).results
        if not result.completed:
            print(result.error_message)
            again = Task("go on", task.prompt, resume=result.session_id, budget="200k tokens")
            (result,) = delegate_sync([again], budget={"turns": 20}, offline=True).results
    except SubagentsError as refusal:
        print(refusal, file=sys.stderr)
        return 2
    print(result.output or result.error_message)
    return 0 if result.completed else 1


if __name__ == "__main__":
    sys.exit(main())
