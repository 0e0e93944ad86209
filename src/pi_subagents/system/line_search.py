"""
Find the lines that match a pattern, in a process that may not take long.

In: a pattern of Python's `re`, and lines.  Out: the places of those that match; PatternRefused
where the pattern is none, or takes more time or memory than a search may have.  No pattern can
make its caller slow: the kernel ends the process that searches.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from pi_subagents.errors import PatternRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

CPU_S = 1
WALL_S = 20.0  # on a machine that has no time for us
MAX_BYTES = 1024**3
NOT_A_PATTERN = 3


def search_lines(pattern: str, lines: Sequence[str]) -> list[int]:
    """Return the places of the lines in which the pattern matches."""
    asked = json.dumps({"pattern": pattern, "lines": list(lines)})
    # -P: the working directory may hold anything under the names of our modules.
    command = [sys.executable, "-P", "-m", __name__]
    try:
        done = subprocess.run(
            command, input=asked.encode(), capture_output=True, timeout=WALL_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise PatternRefused(pattern) from None
    if done.returncode == NOT_A_PATTERN:
        raise PatternRefused(pattern, done.stdout.decode())
    if done.returncode != 0:
        raise PatternRefused(pattern)
    found: list[int] = json.loads(done.stdout)
    return found


def _main() -> int:
    import re
    import resource
    from contextlib import suppress

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    with suppress(OSError, ValueError):  # macOS knows no such limit
        resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    asked = json.load(sys.stdin)
    try:
        pattern = re.compile(asked["pattern"])
    except (re.error, OverflowError) as error:
        sys.stdout.write(str(error))
        return NOT_A_PATTERN
    found = [place for place, line in enumerate(asked["lines"]) if pattern.search(line)]
    json.dump(found, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(_main())
