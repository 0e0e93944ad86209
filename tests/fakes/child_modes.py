"""
In which modes children are run by a test that has a workplace.

Without a word it is one mode, the default of every setting.  `pytest.mark.child_modes(...)` on a
module or a test names others: what is about children is shown in JSON mode and in RPC mode, with a
new child for every run, so that its end can be told too.  What takes long is shown in both by
`make faults`, which sets EVERY_CHILD_MODE, and else in the mode that is the default.
"""

from __future__ import annotations

import os
from itertools import cycle, product
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DEFAULT, JSON, RPC = "", "json", "rpc"
SETTINGS: Mapping[str, Mapping[str, object]] = {
    DEFAULT: {},
    JSON: {"child_mode": "json"},
    RPC: {"child_mode": "rpc", "reuse_children": False},
}
in_both_modes = pytest.mark.child_modes(JSON, RPC)
in_rpc_mode = pytest.mark.child_modes(RPC)
EVERY_CHILD_MODE = bool(os.environ.get("EVERY_CHILD_MODE"))
takes_long = in_both_modes if EVERY_CHILD_MODE else in_rpc_mode
# The same with the real pi, where a fixture sets the mode; `make e2e-versions` shows both.
takes_long_with_pi = pytest.mark.parametrize(
    "child_mode", [JSON, RPC] if EVERY_CHILD_MODE else [RPC], indirect=True
)
in_json_mode = pytest.mark.child_modes(JSON)


def cases(each: Iterable[str], ways: Sequence[str]) -> list[tuple[str, str]]:
    """Return everything in every way for `make faults`, and else in one way each, in turn."""
    return list(product(each, ways) if EVERY_CHILD_MODE else zip(each, cycle(ways), strict=False))


def parametrise(metafunc: pytest.Metafunc) -> None:
    """Let a test that uses `child_mode`, itself or in a fixture, run once in every mode named."""
    marker = metafunc.definition.get_closest_marker("child_modes")
    if marker and "child_mode" in metafunc.fixturenames:
        metafunc.parametrize("child_mode", marker.args)
