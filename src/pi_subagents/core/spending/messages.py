"""What `core/spending` says to people and models."""

from __future__ import annotations

BUDGET_FORMS = (
    "must be an object with `tokens`, `cost` or `turns`, or a text such as "
    '"200k tokens, $0.50, 20 turns"'
)
NEEDS_PRICES = (
    'an object of prices per million tokens: {"PROVIDER/MODEL": {"input": 3, "output": 15, '
    '"cacheRead": 0.3, "cacheWrite": 3.75}}'
)
DAYS_HAVE_NO_TURNS = "a budget of tokens or cost: a day has no turns"
# Whose a budget is.
OF_TASK, OF_CALL = "of the task", "of the call"
OF_PROJECT_DAY, OF_MACHINE_DAY = "of this project for today", "of this machine for today"


def of_definition(kind: str, name: str) -> str:
    """Return whose the budget of a profile or preset is."""
    return f"of the {kind} {name}"


def wrong_amount(kind: str, given: object) -> str:
    """Return that a text or number is no amount."""
    unit = {"tokens": "200k", "cost": "$0.50", "turns": "20"}[kind]
    return f'`{kind}` must be an amount above 0, such as "{unit}", not {str(given)[:40]!r}'


def amount_given_twice(kind: str) -> str:
    """Return that a text has two amounts of one kind."""
    return f"has two amounts of {kind}"


def used_up(whose: str, used: str, limit: str) -> str:
    """Return which budget ended a run, and how much of it was used."""
    return f"The budget {whose} is used up: {used} of {limit}. To go on, resume with a new budget."


def almost_used_up(whose: str, used: str, limit: str) -> str:
    """Return what a child reads when most of a budget is gone."""
    return (
        f"The budget {whose} is almost used up ({used} of {limit}). Do not start anything new: "
        "finish now with what you have, and say what is missing."
    )


def model_without_price(model: str, whose: str) -> str:
    """Return why a cost budget cannot be kept with a model."""
    return (
        f"The budget {whose} limits the cost, and no price is known for {model}. Set one "
        "in the global settings (subagents.prices), or limit tokens instead."
    )
