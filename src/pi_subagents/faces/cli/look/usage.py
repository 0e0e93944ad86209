"""
`subagents usage`: what was spent, by day, project, profile or model.

In: the ledger of this user.  Out: a bar for each, or JSON; only `--rebuild` changes anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import messages, options
from pi_subagents.faces.cli.table import print_table

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.spending.spent import Spent

WAYS = ("day", "project", "profile", "model")
HEADINGS = ("RUNS", "TOKENS", "COST", "SHARE")
BAR = 20


@click.command("usage")
@click.option("--by", type=click.Choice(WAYS), default="day", help="What to sum by (default: day).")
@click.option("--rebuild", is_flag=True, help="Make the ledger anew from the runs that exist.")
@options.json_option
@click.pass_obj
@options.refusals_in_json
def usage(console: Console, *, by: str, rebuild: bool, as_json: bool) -> None:
    """
    Show what all sub-agents of yours on this machine have used.

    TOKENS are those that budgets count: input, cache writes and output. A run counts for the local
    day on which it began.
    """
    from pi_subagents.service.spending.spent import spending_by

    found = spending_by(by, rebuild=rebuild)
    if as_json:
        rows = [
            {
                by: each.name,
                "runs": each.runs,
                "tokens": each.tokens,
                "totalTokens": each.total_tokens,
                "cost": each.cost,
            }
            for each in found.totals
        ]
        console.json({"by": by, "incompleteSince": found.incomplete_since or None, "usage": rows})
        return
    if found.totals:
        _print(console, by, found)
    else:
        console.answer(messages.NO_RUNS_YET)
    if found.incomplete_since:
        console.notice(messages.ledger_incomplete(found.incomplete_since))


def _print(console: Console, by: str, found: Spent) -> None:
    from pi_subagents.core.plain_text import one_line
    from pi_subagents.view.amounts import money

    totals = found.totals
    most = max(1, *(each.tokens for each in totals))
    names = [one_line(each.name, 60) or messages.NO_NAME for each in totals]
    rows = [
        (
            name,
            f"{each.runs:,}",
            f"{each.tokens:,}",
            money(each.cost) if each.cost else "-",
            "█" * round(BAR * each.tokens / most) or "▏",
        )
        for name, each in zip(names, totals, strict=True)
    ]
    print_table(console, (by.upper(), *HEADINGS), rows, [{}] * len(rows))
    runs, tokens = sum(each.runs for each in totals), sum(each.tokens for each in totals)
    cost = sum(each.cost for each in totals)
    paid = money(cost) if cost else ""
    console.answer(messages.spent_in_all(runs, f"{tokens:,}", paid), dim=True)
