"""docs/run-directory.md is a contract: it names every field that meta.json has, and no other."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakes.preset_place import MODEL, PresetPlace

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

OF_WORKERS = {"cluster", "worker"}  # only runs that a worker of a cluster does have these
PAGE = Path(__file__).parents[2] / "docs" / "run-directory.md"


def documented() -> set[str]:
    """Return the names in the first column of the table about meta.json."""
    section = PAGE.read_text().split("\n## meta.json")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*`) \|", section, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


async def test_meta_json_has_exactly_the_documented_fields(place: Workplace) -> None:
    here = PresetPlace(place)
    here.preset("scout", f"model: {MODEL}")
    call = asyncio.create_task(here.call("subagent", preset="scout", task="look"))
    child = await place.child("look")
    run = place.run_dir(child)
    await child.answer_and_exit("seen")
    await call
    assert set(run.read_meta()) == documented() - OF_WORKERS
