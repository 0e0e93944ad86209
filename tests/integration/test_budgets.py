"""Budgets hold for real processes: one message at most is paid for that nobody wanted."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import in_rpc_mode, takes_long
from tests.fakes.workplace import answered, comparable, tokens

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.spending.budget import Budget, Spending
from pi_subagents.core.task.request import Task
from pi_subagents.core.usage import Usage
from pi_subagents.errors import InvalidRequest, LedgerDamaged, LedgerUnreachable
from pi_subagents.service.runs import Runs
from pi_subagents.service.spending.spent import Spent, spending_by
from pi_subagents.store.ledger import Total
from pi_subagents.store.purses import SharedPurse
from pi_subagents.store.run_dir import META_VERSION
from pi_subagents.store.run_store import new_run_id, new_session_id
from pi_subagents.supervisor.intake import now_ms
from pi_subagents.system.identity import identity_from_json

if TYPE_CHECKING:
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Delegating, Workplace

pytestmark = takes_long
OF_TASK = "of the task"


def used_up(whose: str, amounts: str) -> str:
    return f"The budget {whose} is used up: {amounts}. To go on, resume with a new budget."


async def turn(work: Delegating, child: FakeProcess, number: int) -> None:
    """Let a child take a turn with a call, which costs two tokens, and be seen to do so."""
    await child.tool("read", {"path": f"{number}.md"}, call_id=f"call-{number}")
    await work.sees(ev.ToolStarted(ev.ToolCall(f"call-{number}", "read", None)))


async def test_a_child_is_stopped_at_the_end_of_the_message_that_uses_up_its_budget(
    place: Workplace,
) -> None:
    work = place.delegate("spender", budgets={OF_TASK: {"tokens": 6}})
    child = await place.child("spender")
    for number in range(2):
        await turn(work, child, number)
    await child.do_last("tool", name="read", arguments={"path": "2.md"})
    result = await work.result()
    assert (result.status, result.error_message) == ("failed", used_up(OF_TASK, "6 of 6 tokens"))
    assert result.usage == tokens(3)
    await child.gone()


async def test_a_budget_that_is_not_used_up_changes_nothing(place: Workplace) -> None:
    work = place.delegate_by_api(Task("thrifty", "thrifty", budget={"turns": 9}))
    child = await place.child("thrifty")
    await child.answer_and_exit("done")
    assert comparable(await work.result()) == answered("thrifty", "done")


async def test_tasks_of_a_call_spend_from_one_budget(place: Workplace) -> None:
    work = place.delegate_by_api("one", "two", budget="4 turns", concurrency=2)
    one, two = await place.child("one"), await place.child("two")
    for number in range(3):
        await turn(work, one, number)
    await two.do_last("tool", name="read", arguments={"path": "3.md"})
    result = await work.result_of("two")
    assert (result.status, result.error_message) == (
        "failed", used_up("of the call", "4 of 4 turns"),
    )  # fmt: skip
    assert result.usage == tokens(1)
    await one.do_last("tool", name="read", arguments={"path": "4.md"})
    assert (await work.result_of("one")).usage == tokens(4)


async def test_a_task_whose_siblings_have_used_up_the_budget_never_starts_a_child(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("one", "two", budget={"turns": 1}, concurrency=1)
    await (await place.child("one")).answer_and_exit("the answer counts")
    first, second = await work.results()
    assert (first.status, first.output) == ("completed", "the answer counts")
    assert (second.status, second.error_message, second.usage) == (
        "failed", used_up("of the call", "1 of 1 turns"), tokens(0),
    )  # fmt: skip


async def test_a_task_that_would_begin_with_more_than_its_budget_is_not_started(
    place: Workplace,
) -> None:
    work = place.delegate_by_api(Task("large", "word " * 8000, budget="10k tokens"))
    result = await work.result()
    assert result.status == "failed"
    assert result.error_message == (
        "Not started: it would begin with about 11,600 tokens (prompt, files, skills, tools), and "
        "the budget of the task is 10,000 tokens."
    )


async def test_a_budget_that_is_none_refuses_the_call(place: Workplace) -> None:
    work = place.delegate_by_api("wrong", budget={"tokens": "much"})
    with pytest.raises(InvalidRequest, match=r"^budget: `tokens` must be an amount above 0"):
        await work.results()


@in_rpc_mode
async def test_the_word_to_finish_reaches_a_child_at_four_fifths(place: Workplace) -> None:
    work = place.delegate("careful", budgets={OF_TASK: {"tokens": 9}})
    child = await place.child("careful")
    for number in range(4):
        await turn(work, child, number)
    text = await child.take_steer()
    assert text.startswith("The budget of the task is almost used up (8 of 9 tokens).")
    await work.sees(ev.Steer(ev.BUDGET, ev.DELIVERED, text))
    await child.answer_and_exit("as far as I came")
    result = await work.result()
    assert (result.status, result.output) == ("completed", "as far as I came")


# Budgets of a day, in the settings

LARGE = Usage(input=40_000, output=10_000, total_tokens=50_000)


def used_before(place: Workplace, started_ms: int) -> None:
    """Let a run of this project have used 50,000 tokens."""
    store, run_id = place.store, new_run_id()
    store.prepare()
    run = store.run_dir(run_id)
    session = new_session_id()
    meta = {"schemaVersion": META_VERSION, "runId": run_id, "sessionId": session, "createdAt": 1}
    os.close(run.begin(meta, b"read"))
    run.write_result(
        RunResult(run_id, session, "x", "completed", usage=LARGE, started_at_ms=started_ms)
    )
    Runs(place.project, place.env).index.adopt([run])


@pytest.mark.parametrize(
    ("settings", "whose"),
    [
        ({"day_budget": "50k"}, "of this machine for today"),
        ({"project_day_budget": {"tokens": 50_000}}, "of this project for today"),
    ],
)
async def test_what_was_used_today_counts_for_the_budget_of_the_day(
    place: Workplace, settings: dict[str, object], whose: str
) -> None:
    place.settings(**settings)
    used_before(place, now_ms())
    result = await place.delegate_by_api("late").result()
    assert (result.status, result.error_message) == (
        "failed", used_up(whose, "50,000 of 50,000 tokens"),
    )  # fmt: skip


async def test_what_was_used_yesterday_does_not_count(place: Workplace) -> None:
    place.settings(day_budget="50k")
    used_before(place, now_ms() - 86_400_000)
    work = place.delegate_by_api("early")
    await (await place.child("early")).answer_and_exit("done")
    assert (await work.result()).completed


async def test_runs_that_end_are_in_the_ledger_and_in_the_budget_of_the_day(
    place: Workplace,
) -> None:
    place.settings(day_budget="50k")
    for name in ("one", "two"):
        work = place.delegate_by_api(name)
        await (await place.child(name)).answer_and_exit("done")
        assert (await work.result()).completed
    spent = spending_by("project", place.project, place.env, rebuild=False)
    assert spent == Spent([Total(str(place.project), 2, 4, 0.0, 4)], "")
    (purse,) = (place.store.data_dir / "spending").iterdir()
    shared = SharedPurse("", Budget(), str(purse))
    assert shared.add(Spending()) == Spending(4, 0.0, 2)
    shared.close()


async def test_a_run_whose_supervisor_was_killed_is_counted_once(place: Workplace) -> None:
    work = place.delegate_by_api("victim")
    child = await place.child("victim")
    await turn(work, child, 1)
    (run,) = place.run_dirs()
    supervisor = identity_from_json(run.desk.read_supervisor())
    assert supervisor is not None
    os.kill(supervisor.pid, signal.SIGKILL)
    assert (await work.result()).status == "interrupted"
    for _ in range(2):
        spent = spending_by("model", place.project, place.env, rebuild=False)
        assert [(each.runs, each.tokens) for each in spent.totals] == [(1, 2)]


async def test_while_the_ledger_is_damaged_a_budget_of_the_day_refuses(place: Workplace) -> None:
    place.settings(day_budget="50k")
    used_before(place, now_ms())
    spending_by("day", place.project, place.env, rebuild=False)
    (place.store.data_dir / "ledger.sqlite3").write_bytes(b"nothing that can be read" * 500)
    with pytest.raises(LedgerDamaged):
        await place.delegate_by_api("refused").results()
    spent = spending_by("day", place.project, place.env, rebuild=True)
    assert [each.tokens for each in spent.totals] == [50_000]
    assert spent.incomplete_since != ""
    result = await place.delegate_by_api("late").result()
    assert result.error_message == used_up("of this machine for today", "50,000 of 50,000 tokens")


async def test_a_ledger_that_cannot_be_reached_refuses_in_plain_words_and_is_left_alone(
    place: Workplace,
) -> None:
    place.settings(day_budget="50k")
    ledger = place.store.data_dir / "ledger.sqlite3"
    ledger.mkdir(parents=True)
    for look in (
        place.delegate_by_api("refused").results,
        lambda: asyncio.to_thread(spending_by, "day", place.project, place.env, rebuild=False),
    ):
        with pytest.raises(LedgerUnreachable, match="unable to open database file"):
            await look()
    assert ledger.is_dir()
