"""Nothing that children run is removed while one of them runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pi_subagents.errors import RunsAtWork
from pi_subagents.service.machine.removal import refuse_while_at_work

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.workplace import Workplace


async def test_a_removal_is_refused_while_a_run_is_active_wherever_that_is(
    place: Workplace, tmp_path: Path
) -> None:
    work = place.delegate_by_api("busy")
    child = await place.child("busy")
    with pytest.raises(RunsAtWork, match=r"^1 sub-agent is at work"):
        refuse_while_at_work(tmp_path, place.env)
    await child.answer_and_exit("done")
    await work.results()
    refuse_while_at_work(tmp_path, place.env)
