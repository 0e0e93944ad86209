"""How a run's record says that the run stands."""

from typing import get_args

import pytest

from pi_subagents.core.run.outcome import Status
from pi_subagents.core.run.record import RunProgress, RunRecord


@pytest.mark.parametrize("end", get_args(Status))
def test_an_end_that_only_the_journal_tells_is_not_called_an_end_yet(end: str) -> None:
    run = RunRecord("r", progress=RunProgress(end))
    assert (run.status, run.active) == ("stopping", True)


def test_a_run_under_way_stands_as_its_journal_tells_and_a_lost_one_is_interrupted() -> None:
    heard = RunProgress("running")
    assert RunRecord("r", progress=heard).status == "running"
    assert RunRecord("r", progress=heard, lost=True).status == "interrupted"
