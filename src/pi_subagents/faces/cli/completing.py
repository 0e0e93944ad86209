"""
What a shell offers for an argument: runs, sessions, profiles, presets.

In: what was typed so far.  Out: what begins so, newest or first by name.  Quick, and silent: where
something cannot be read, nothing is offered.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import click

    from pi_subagents.core.run.record import RunRecord

    Completing = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

NEWEST = 50
MAX_HELP = 60


def _quietly(offered: Callable[[str], Iterable[CompletionItem]]) -> Completing:
    """Return what click asks: a failure must not end up on the line somebody types."""

    def complete(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
        with suppress(Exception):
            return list(offered(typed))
        return []

    return complete


def _newest() -> list[RunRecord]:
    """Return what is known of the newest runs, without a look at how they stand."""
    from pi_subagents.service.finding import newest_known
    from pi_subagents.service.runs import Runs

    return list(islice(newest_known(Runs()), NEWEST))


def _runs(typed: str) -> Iterator[CompletionItem]:
    yield from _begun(typed, ((run.short_id, run.run_id, run) for run in _newest()))


def _sessions(typed: str) -> Iterator[CompletionItem]:
    from pi_subagents.core.run.record import short_id

    latest: dict[str, RunRecord] = {}
    for run in _newest():
        latest.setdefault(run.session_id, run)
    yield from _begun(typed, ((short_id(each), each, run) for each, run in latest.items()))


def _begun(typed: str, known: Iterable[tuple[str, str, RunRecord]]) -> Iterator[CompletionItem]:
    from pi_subagents.core.plain_text import one_line

    for shown, whole, run in known:
        if whole.startswith(typed):
            longer = shown if shown.startswith(typed) else whole
            yield CompletionItem(longer, help=one_line(run.title, MAX_HELP))
        elif (
            typed and run.name.startswith(typed) and run.name.isprintable() and " " not in run.name
        ):
            yield CompletionItem(run.name, help=shown)
    if "last".startswith(typed):
        yield CompletionItem("last", help="the newest run of this project")


def _profiles(typed: str) -> Iterable[CompletionItem]:
    from pi_subagents.faces.cli.definitions.lookup import PROFILES

    return map(CompletionItem, PROFILES.complete(None, None, typed))


def _presets(typed: str) -> Iterable[CompletionItem]:
    from pi_subagents.faces.cli.definitions.lookup import PRESETS

    return map(CompletionItem, PRESETS.complete(None, None, typed))


def _engines(typed: str) -> Iterable[CompletionItem]:
    from pi_subagents.service.engines.listing import known_engines

    return [CompletionItem(name) for name in known_engines({}) if name.startswith(typed)]


runs = _quietly(_runs)
sessions = _quietly(_sessions)
profiles = _quietly(_profiles)
presets = _quietly(_presets)
engines = _quietly(_engines)
