"""
Which budgets a run has, whether they can be kept, and with whom it shares them.

In: a call and its tasks.  Out: orders with budgets, and the files in which sums are kept.  A call
with a budget that cannot be kept is refused before anything starts; a task whose beginning alone
would use up its budget is refused by itself.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.profile.profile import THINKING_LEVELS, Profile
from pi_subagents.core.run.files import APPEND_PROMPT, PROMPT, SYSTEM_PROMPT
from pi_subagents.core.run.spec import changed
from pi_subagents.core.spending import messages as words
from pi_subagents.core.spending.budget import KINDS, Budget, Spending, parse_budget
from pi_subagents.core.value import replace
from pi_subagents.engines.base import PER_MESSAGE
from pi_subagents.errors import InvalidRequest, ModelsUnknown, StoreUnwritable
from pi_subagents.service import messages
from pi_subagents.service.spending.spent import reaching
from pi_subagents.store.ledger import day_of
from pi_subagents.store.purses import make_purse
from pi_subagents.store.run_store import place_name
from pi_subagents.system.home import data_dir, project_root
from pi_subagents.system.safe_io import make_private_dirs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.task.request import DelegateRequest, Task
    from pi_subagents.engines.base import EngineCall
    from pi_subagents.service.call import CallContext
    from pi_subagents.service.delegation import PlannedTask, Preparation

PURSE = "spent"  # on the desk of every run that shares the budget of its call
DAYS = "spending"  # in the data directory: the sums of days that have a budget
KEPT_DAYS = 2
EVERYWHERE = "*"  # in place of a project: on the whole machine
# The rule of thumb for what a child reads before it has done anything.
BYTES_PER_TOKEN = 4
_READ_FIRST = (PROMPT, SYSTEM_PROMPT, APPEND_PROMPT)
TOKENS_OF_SYSTEM_PROMPT, TOKENS_PER_TOOL, TOKENS_PER_SKILL, USUAL_TOOLS = 1000, 150, 100, 4


def budgets_of(
    context: CallContext, call: Budget, task: Task, needs: Preparation
) -> dict[str, Budget]:
    """Return every budget that a task's run has to keep to, by whose it is."""
    settings, profile = context.settings, needs.profile or Profile("")
    kind = "preset" if needs.preset else "profile"
    given = {
        words.OF_TASK: parse_budget(task.budget) if task.budget else Budget(),
        words.of_definition(kind, profile.name): _of_profile(profile),
        words.OF_CALL: call,
        words.OF_PROJECT_DAY: settings.project_day_budget,
        words.OF_MACHINE_DAY: settings.day_budget,
    }
    return {whose: budget for whose, budget in given.items() if budget}


def _of_profile(profile: Profile) -> Budget:
    return parse_budget(profile.budget) if profile.budget else Budget()


def open_budgets(
    context: CallContext, request: DelegateRequest, preparations: Sequence[Preparation]
) -> dict[str, str]:
    """Refuse a call with a budget that nothing could keep; return the files of today's sums."""
    for task, needs in zip(request.tasks, preparations, strict=True):
        engine = context.open_engine(needs.engine)
        reports = engine.capabilities.usage
        for whose, budget in budgets_of(context, request.budget, task, needs).items():
            if reports != PER_MESSAGE and (budget.tokens or budget.cost):
                problem = messages.usage_not_reported(whose, engine.name, reports)
                raise InvalidRequest("budget", problem)
            if budget.cost:
                _refuse_unpriced(context, engine, needs.profile or Profile(""), whose)
    settings = context.settings
    days = {
        words.OF_PROJECT_DAY: str(project_root(context.cwd)) if settings.project_day_budget else "",
        words.OF_MACHINE_DAY: EVERYWHERE if settings.day_budget else "",
    }
    return {whose: _day_purse(context, project) for whose, project in days.items() if project}


def _refuse_unpriced(
    context: CallContext, engine: EngineCall, profile: Profile, whose: str
) -> None:
    """Refuse a model of which it is known that it has no price; others show it as they work."""
    wanted = "/".join(filter(None, (profile.provider, profile.model)))
    if not profile.model or context.options.get("offline", False):
        return
    with suppress(ModelsUnknown):
        for model in engine.list_models().models:
            named = wanted in (
                model.reference,
                *(f"{model.reference}:{x}" for x in THINKING_LEVELS),
            )
            if named and not model.priced and model.reference not in context.settings.prices:
                raise InvalidRequest("budget", words.model_without_price(model.reference, whose))


def with_budgets(
    context: CallContext, call: Budget, planned: Sequence[PlannedTask], days: Mapping[str, str]
) -> tuple[PlannedTask, ...]:
    """Give every order its budgets, and refuse tasks that could not even begin."""
    desks = [context.held.run_dir(run.spec.run_id).desk.path for run in planned]
    try:
        if call:
            make_purse(desks[0] / PURSE, Spending())
            for desk in desks[1:]:
                (desk / PURSE).hardlink_to(desks[0] / PURSE)
    except OSError as error:
        context.held.discard(run.spec.run_id for run in planned)
        raise StoreUnwritable(str(desks[0]), str(error)) from error
    for run, desk in zip(planned, desks, strict=True):
        own = {words.OF_CALL: str(desk / PURSE)} if call else {}
        context.held.share(run.spec.run_id, {**days, **own})
    budgets = [budgets_of(context, call, run.task, run.needs) for run in planned]
    return tuple(
        _ordered(run, own, context) if own else run
        for run, own in zip(planned, budgets, strict=True)
    )


def _ordered(run: PlannedTask, budgets: Mapping[str, Budget], context: CallContext) -> PlannedTask:
    orders = {
        whose: {kind: most for kind in KINDS if (most := getattr(budget, kind)) is not None}
        for whose, budget in budgets.items()
    }
    spec = changed(run.spec, budgets=orders, prices=context.settings.prices)
    needs, expected = run.needs, estimate(run, context)
    for whose, budget in budgets.items():
        if budget.tokens is not None and expected >= budget.tokens and not needs.refusal:
            refusal = messages.estimate_passes_budget(expected, whose, f"{budget.tokens:,} tokens")
            needs = replace(needs, refusal=refusal)
    return replace(run, spec=spec, needs=needs)


def estimate(run: PlannedTask, context: CallContext) -> int:
    """Return about how many tokens a child reads before it has done anything."""
    desk = context.held.run_dir(run.spec.run_id).desk.path
    read = sum((desk / name).stat().st_size for name in _READ_FIRST if (desk / name).exists())
    profile = run.needs.profile or Profile("")
    tools = USUAL_TOOLS if run.tool_count is None else run.tool_count
    return (
        read // BYTES_PER_TOKEN
        + (0 if profile.system_prompt else TOKENS_OF_SYSTEM_PROMPT)
        + tools * TOKENS_PER_TOOL
        + len(run.needs.skill_paths) * TOKENS_PER_SKILL
    )


def _day_purse(context: CallContext, project: str) -> str:
    """Return the file with today's sum of a project; it begins with what the ledger knows."""
    now_ms, ledger = time.time_ns() // 1_000_000, context.runs.ledger
    today, directory = day_of(now_ms), data_dir(context.env) / DAYS
    name = "machine" if project == EVERYWHERE else place_name(Path(project))
    purse = directory / f"{today}.{name}"
    with reaching(ledger):
        spent = ledger.spent_on(today, "" if project == EVERYWHERE else project)
    try:
        if not purse.exists():
            make_private_dirs(directory)
            make_purse(purse, spent)
            oldest = day_of(now_ms - KEPT_DAYS * 86_400_000)
            for each in directory.iterdir():
                if each.name < oldest:
                    each.unlink(missing_ok=True)
    except OSError as error:
        raise StoreUnwritable(str(directory), str(error)) from error
    return str(purse)
