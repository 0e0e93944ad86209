"""Background runs are processes, wherever the user likes to see foreground runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakes.preset_place import MODEL, PresetPlace

from pi_subagents.errors import TmuxNotFound

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace


async def test_a_background_run_needs_no_tmux_though_foreground_runs_are_set_to_it(
    place: Workplace,
) -> None:
    here = PresetPlace(place)
    here.preset("scout", f"model: {MODEL}")
    here.settings('{"subagents": {"runner": "tmux"}}')
    place.secrets["PATH"] = str(place.home)  # where no tmux is
    refusal = await here.refusal("subagent", preset="scout", task="in sight")
    assert refusal == str(TmuxNotFound())

    run_id, child = await here.started("out of sight")
    await child.answer_and_exit("done")
    await here.ended(run_id)
    (run,) = (await here.status(runId=run_id))["runs"]
    assert (run["status"], run["output"]) == ("completed", "done")
