"""Which budgets a run has, and which nothing could keep."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.fakes.call_contexts import call_context
from tests.fakes.pi_calls import pi_call

from pi_subagents.core.engine_values import Model, ModelList
from pi_subagents.core.preset.preset import Preset
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.settings import Settings
from pi_subagents.core.spending.budget import Budget
from pi_subagents.core.task.request import DelegateRequest, Task, checked_request
from pi_subagents.core.value import replace
from pi_subagents.engines.base import NEVER, PER_TURN
from pi_subagents.engines.pi.engine import PiCall
from pi_subagents.errors import InvalidRequest
from pi_subagents.service.delegation import Preparation, PresetUse
from pi_subagents.service.plan import plan_runs
from pi_subagents.service.spending.budgets import budgets_of, estimate, open_budgets, with_budgets
from pi_subagents.store.held_runs import HeldRuns
from pi_subagents.store.run_store import RunStore

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.service.call import CallContext


class PiWithModels(PiCall):
    """A pi that knows what one of its models costs."""

    def list_models(self, *, refresh: bool = False) -> ModelList:
        del refresh
        return ModelList((Model("p", "dear"), Model("p", "local", priced=False)), cached=False)


@pytest.fixture
def around(tmp_path: Path) -> CallContext:
    store = RunStore(tmp_path / "runs", tmp_path / "data")
    engine = pi_call(version="0.87.1", kind=PiWithModels)
    return call_context(tmp_path, store, HeldRuns(store), engine, Settings())


def with_settings(around: CallContext, **settings: object) -> CallContext:
    return replace(around, settings=Settings(**settings))  # type: ignore[arg-type]  # by name


def check(around: CallContext, needs: Preparation, budget: str) -> None:
    open_budgets(around, checked_request("Work.", budget=budget), [needs])


def test_every_budget_that_a_run_has_keeps_its_owner(around: CallContext) -> None:
    around = with_settings(
        around, day_budget=Budget(cost=9), project_day_budget=Budget(tokens=9_000_000)
    )
    (task,) = checked_request(Task("t", "p", budget={"turns": 4})).tasks
    needs = Preparation(Profile("reviewer", budget="200k"))
    assert budgets_of(around, Budget(cost=0.5), task, needs) == {
        "of the task": Budget(turns=4),
        "of the profile reviewer": Budget(tokens=200_000),
        "of the call": Budget(cost=0.5),
        "of this project for today": Budget(tokens=9_000_000),
        "of this machine for today": Budget(cost=9),
    }


def test_a_budget_of_a_preset_is_named_after_it(around: CallContext) -> None:
    use = PresetUse(Preset("scout", "Looks."), "global", None, None)
    needs = Preparation(Profile("scout", budget="$1"), preset=use)
    found = budgets_of(around, Budget(), Task("t", "p"), needs)
    assert found == {"of the preset scout": Budget(cost=1.0)}


@pytest.mark.parametrize(
    ("reports", "words"),
    [(PER_TURN, "pi reports that once a turn"), (NEVER, "pi never reports what it uses")],
)
def test_tokens_cannot_be_kept_where_not_every_message_reports_them(
    around: CallContext, reports: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    capabilities = replace(around.open_engine("").capabilities, usage=reports)
    monkeypatch.setattr(PiCall, "capabilities", capabilities)
    check(around, Preparation(), "20 turns")
    with pytest.raises(InvalidRequest, match=words):
        check(around, Preparation(), "200k")


@pytest.mark.parametrize("model", ["p/local", "p/local:high"])
def test_a_cost_budget_for_a_model_without_a_price_is_refused_by_name(
    around: CallContext, model: str
) -> None:
    needs = Preparation(Profile("x", model=model))
    check(around, Preparation(Profile("x", model="dear", provider="p")), "$1")
    check(around, needs, "200k")
    check(with_settings(around, prices={"p/local": (0, 0, 0, 0)}), needs, "$1")
    with pytest.raises(InvalidRequest, match=re.escape("no price is known for p/local")):
        check(around, needs, "$1")


def test_what_a_child_reads_first_is_estimated_by_a_rule_of_thumb(around: CallContext) -> None:
    plain, own = Preparation(), Preparation(Profile("x", system_prompt="y" * 400, no_tools=True))
    request = DelegateRequest((Task("a", "x" * 4000), Task("b", "x" * 4000)))
    one, two = plan_runs(request, around, [plain, own])
    assert estimate(one, around) == 1000 + 1000 + 4 * 150
    assert estimate(replace(two, tool_count=0), around) == 1000 + 100
    around.held.discard([one.spec.run_id, two.spec.run_id])


def test_runs_of_a_call_share_its_budget_by_a_file_on_the_desk_of_each(
    around: CallContext,
) -> None:
    planned = plan_runs(DelegateRequest((Task("a", "x"), Task("b", "x"))), around)
    ordered = with_budgets(around, Budget(cost=2), planned, {})
    assert [run.spec.limits.budgets for run in ordered] == [{"of the call": {"cost": 2}}] * 2
    paths = [around.held.placed(run.spec).place.purses["of the call"] for run in ordered]
    assert paths == [str(around.held.run_dir(r.spec.run_id).desk.path / "spent") for r in ordered]
    around.held.discard(run.spec.run_id for run in ordered)
