"""Budgets hold on the real pi; the model follows a script."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pi_subagents import Task

if TYPE_CHECKING:
    from tests.e2e.conftest import Project

    from pi_subagents.core.value import JsonObject

pytestmark = pytest.mark.pi
TURN: JsonObject = {
    "text": "Reading on.",
    "toolCalls": [{"name": "ls", "arguments": {"path": "."}}],
    "usage": {"input": 3000, "output": 500},
}
ANSWER: JsonObject = {"text": "All read.", "usage": {"input": 3000, "output": 500}}


def turns(count: int) -> JsonObject:
    """Return a script whose turns each look somewhere else, then answer, none of them at once."""
    looks = [
        {
            **TURN,
            "toolCalls": [{"name": "ls", "arguments": {"path": ".", "limit": n}}],
            "delayMs": 300,
        }
        for n in range(1, count + 1)
    ]
    return {"default": [*looks, ANSWER]}


@pytest.mark.usefixtures("child_mode")
async def test_a_token_budget_stops_a_child_at_the_end_of_the_message_that_uses_it_up(
    project: Project,
) -> None:
    task = Task("spender", "Read on.", budget="10k tokens")
    done = await project.delegate(task, script=turns(9))
    (result,) = done.results
    assert result.status == "failed"
    assert result.error_message == (
        "The budget of the task is used up: 10,500 of 10,000 tokens. To go on, resume with a new "
        "budget."
    )
    assert (result.usage.input, result.usage.output) == (9000, 1500)
    assert result.output == "Reading on."


async def test_a_run_that_was_stopped_goes_on_with_a_new_budget(project: Project) -> None:
    task = Task("spender", "Read on.", budget="7k tokens")
    first = (await project.delegate(task, script=turns(9))).results[0]
    assert first.status == "failed"
    again = replace(task, resume=first.session_id, budget={"tokens": 50_000})
    second = (await project.delegate(again, script={"default": [ANSWER]})).results[0]
    assert (second.status, second.output) == ("completed", "All read.")


async def test_a_cost_budget_for_a_model_without_a_price_ends_the_run_by_name(
    project: Project,
) -> None:
    task = Task("spender", "Read on.", budget="$5")
    (result,) = (await project.delegate(task, script=turns(3))).results
    assert result.status == "failed"
    assert "no price is known for subagents-offline/" in result.error_message


async def test_a_price_that_is_set_counts(project: Project) -> None:
    prices = {"subagents-offline/offline": {"input": 10, "output": 10}}
    project.configure(prices=prices)
    task = Task("spender", "Read on.", budget="$0.06")
    (result,) = (await project.delegate(task, script=turns(3))).results
    assert "$0.0700 of $0.0600" in result.error_message
