"""
Hand one task to a sub-agent and print its answer.

    python examples/one_task.py

Works in the current directory.  `offline=True` lets the built-in offline model stand in; leave it
out to use the model your pi is configured with.
"""

import sys

from pi_subagents import SubagentsError, Task, delegate_sync


def main() -> int:
    """Return 0 if the task was completed, 1 if it failed, 2 if nothing could be started."""
    try:
        delegation = delegate_sync([Task("count", "Count the Python files in .")], offline=True)
    except SubagentsError as refusal:
        print(refusal, file=sys.stderr)
        return 2
    (result,) = delegation.results
    if not result.completed:
        print(f"{result.status}: {result.error_message}", file=sys.stderr)
        return 1
    print(result.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
