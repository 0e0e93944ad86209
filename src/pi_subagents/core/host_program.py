"""The program that a host runs in, as it says of itself: its children can run on the same."""

from __future__ import annotations

from pi_subagents.core.value import value


@value
class HostProgram:
    """The program, the script that it runs (if any), and the version of what it is."""

    program: str
    script: str = ""
    version: str = ""
