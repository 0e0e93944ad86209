"""
A child that talks: prints the lines of a file over and over, so many a second, for a while.

Started by the benchmarks: `python -I -S talking_child.py <file> <lines per second> <seconds>`,
followed by pi's options, which it ignores.  The last line of the file is said once, at the end.
Wherever a line has `@TIME@`, it gets the time of its printing (nanoseconds since 1970), so that
whoever finds it later knows how old it is.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

EVERY_S = 0.01
TIME = b"@TIME@"


def main() -> None:
    path, rate, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    *lines, last = Path(path).read_bytes().splitlines(keepends=True)
    while os.read(0, 65536):  # the prompt
        pass
    begun, printed = time.monotonic(), 0
    while (age := time.monotonic() - begun) < seconds:
        due = int(age * rate)
        _print(b"".join(lines[number % len(lines)] for number in range(printed, due)))
        printed = due
        time.sleep(EVERY_S)
    _print(last)


def _print(data: bytes) -> None:
    data = data.replace(TIME, b"%d" % time.time_ns())
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
