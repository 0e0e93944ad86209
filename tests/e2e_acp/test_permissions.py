"""What an agent may do is said by its profile: allowed, denied or asked, for every agent that asks."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e_acp.test_agents import at_work, calls, write
from tests.e2e_acp.workbench import ended, engine_of, heard

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.pi

ASKING = ("opencode", "codex", "qwen", "claude", "gemini")
# Those whose model hears of a refusal and goes on; the turn of the others ends there.
TOLD = ("claude", "gemini")


def edits(root: Path, agent: str) -> tuple[dict[str, Any], ...]:
    made = calls(write(agent, root / "project" / "written.txt", "by the agent\n"))
    return made, {"text": "As far as I could."}


@pytest.mark.parametrize("agent", ASKING)
def test_a_denied_edit_is_not_made(tmp_path: Path, agent: str) -> None:
    with at_work(tmp_path, agent, *edits(tmp_path, agent)) as bench:
        bench.profile("reader", "permissions: {edit: deny}")
        ran = bench.run(engine_of(agent), "Begin the work.", "--profile", "reader")
    assert not (bench.project / "written.txt").exists()
    assert ran.call_counts == [1]
    expected = ("completed", "As far as I could.") if agent in TOLD else ("error", "")
    assert (ran.result["status"], ran.result["output"]) == expected


@pytest.mark.parametrize("agent", ASKING)
@pytest.mark.parametrize("answer", ["Allow", "Deny"])
def test_an_edit_that_is_asked_about_is_made_if_somebody_allows_it(
    tmp_path: Path, agent: str, answer: str
) -> None:
    with at_work(tmp_path, agent, *edits(tmp_path, agent)) as bench:
        bench.profile("careful", "permissions: {edit: ask}")
        working = bench.started(engine_of(agent), "Begin the work.", "--profile", "careful")
        assert "(edit)?" in heard(working, "Asks: ")
        assert not (bench.project / "written.txt").exists()
        assert bench.command("answer", "last", answer).code == 0
        ran = ended(working)
    assert (bench.project / "written.txt").exists() == (answer == "Allow")
    if answer == "Allow" or agent in TOLD:
        assert (ran.result["status"], ran.result["output"]) == ("completed", "As far as I could.")


@pytest.mark.parametrize("agent", ASKING)
def test_stopped_while_it_asks_it_ends_and_nothing_was_done(tmp_path: Path, agent: str) -> None:
    with at_work(tmp_path, agent, *edits(tmp_path, agent)) as bench:
        bench.profile("careful", "permissions: {edit: ask}")
        working = bench.started(engine_of(agent), "Begin the work.", "--profile", "careful")
        heard(working, "Asks: ")
        working.send_signal(signal.SIGINT)
        ran = ended(working)
    assert (ran.code, ran.result["errorMessage"]) == (130, "Stopped on request")
    assert not (bench.project / "written.txt").exists()


def test_an_agent_that_asks_about_nothing_is_refused_by_name(tmp_path: Path) -> None:
    with at_work(tmp_path, "pi-acp", *edits(tmp_path, "pi-acp")) as bench:
        bench.profile("reader", "permissions: {edit: deny}")
        ran = bench.run("acp:pi-acp", "Begin the work.", "--profile", "reader")
        requests = bench.models.asked()
    assert (ran.code, requests) == (2, [])
    assert "acp:pi-acp" in ran.out
