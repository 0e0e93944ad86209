"""
The background tools as one session of pi sees them: its own runs, and any other by its id.

In: the parameters of a tool.  Out: its value.  Counts and lists are of the runs that this session
began; a run id is looked for on disk as well.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents import background
from pi_subagents.background import BackgroundRuns
from pi_subagents.core.background import started_to_json, status_to_json, stopped_to_json
from pi_subagents.core.bounded_details import with_short_rows
from pi_subagents.core.preset_request import parse_background, parse_status, parse_stop
from pi_subagents.core.value import replace
from pi_subagents.errors import BackgroundRunNotFound, IndexUnreadable
from pi_subagents.launch import place_of
from pi_subagents.procs.own_thread import in_own_thread
from pi_subagents.runs import Runs

if TYPE_CHECKING:
    from pi_subagents.core.background import BackgroundRun
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.faces.bridge.open_session import OpenSession
    from pi_subagents.launch import Options

Answer = dict[str, object]


async def start(parameters: object, session: OpenSession, options: Options) -> Answer:
    """Start a run that nobody waits for, and put it into the host's log."""
    task = parse_background(parameters, str(place_of(options)[0]))
    run = await background.ask_and_start(task, options)
    session.begin(run)
    return started_to_json(run, _as_known(session))


async def status(
    parameters: object, session: OpenSession, options: Options, stop: StopSwitch
) -> Answer:
    """Tell how the runs stand, perhaps after waiting."""
    request = parse_status(parameters)
    runs = Runs(*place_of(options))
    if request.run_id is None:
        await BackgroundRuns(runs, _ids(session)).wait(request, stop)
        return with_short_rows(status_to_json(session.refresh(), request))
    anywhere = BackgroundRuns(runs)
    request = replace(request, run_id=_find(request.run_id, session, anywhere))
    on_disk = [run for run in await anywhere.wait(request, stop) if run.run_id == request.run_id]
    own = session.refresh()
    rows = {run.run_id: run for run in (*own, *on_disk)}
    return with_short_rows(status_to_json(list(rows.values()), request, own))


async def stop(parameters: object, session: OpenSession, options: Options) -> Answer:
    """Stop one run, or all that this session began."""
    run_id = parse_stop(parameters)
    runs = Runs(*place_of(options))
    chosen = BackgroundRuns(runs, None if run_id else _ids(session))
    stopped = await in_own_thread("stop", partial(chosen.stop, run_id))
    return with_short_rows(stopped_to_json(stopped, _as_known(session)))


def _as_known(session: OpenSession) -> list[BackgroundRun]:
    """Return the session's runs as they stand; as they stood where nobody can look."""
    with suppress(IndexUnreadable):  # what was done just now is told all the same
        return session.refresh()
    return session.registry.all()[::-1]


def _find(run_id: str, session: OpenSession, anywhere: BackgroundRuns) -> str:
    """Return the whole id of a run that is on disk, or at least in the host's log."""
    try:
        return anywhere.find(run_id).run_id
    except BackgroundRunNotFound:
        known = [each for each in _ids(session) if each.startswith(run_id)]
        if len(known) != 1:
            raise
        return known[0]


def _ids(session: OpenSession) -> set[str]:
    return {run.run_id for run in session.registry.all()}
