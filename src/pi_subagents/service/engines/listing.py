"""
The engines there are, for people and scripts: found or not, logged in or not, what each can do.

In: where somebody is.  Out: a report each, in the order of the table; with `start` the programs are
started, several at once.  Nothing is raised for what an engine does.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core.profile.profile import FIELDS, OWN_FIELDS
from pi_subagents.core.value import value
from pi_subagents.engines.base import NEVER, CallPlace
from pi_subagents.engines.table import engine_names, load_engine
from pi_subagents.service.call import place_of, settings_of, trust_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.engine_values import EngineReport
    from pi_subagents.engines.base import Capabilities, Engine
    from pi_subagents.service.call import Options
    from pi_subagents.system.home import CheckedPlace

AT_ONCE = 3  # each may take seconds of a processor


@value
class ListedEngine:
    """An engine, and what its children can do."""

    report: EngineReport
    can: Capabilities

    @property
    def abilities(self) -> tuple[str, ...]:
        """What its children can do, in a few words each."""
        can = self.can
        words = {
            "steer": can.steering,
            "ask": can.questions,
            "resume": can.native_resume,
            "schema": can.schema_tool,
            f"permissions ({', '.join(sorted(can.permissions))})": can.permissions,
            f"usage per {can.usage}": can.usage != NEVER,
        }
        return tuple(word for word, has in words.items() if has)


def known_engines(options: Options) -> tuple[str, ...]:
    """Return the names that a task can have."""
    return engine_names(settings_of(options).engines)


def list_engines(options: Options, *, start: bool = False) -> tuple[ListedEngine, ...]:
    """Return them all; waits."""
    settings, (cwd, env) = settings_of(options), place_of(options)
    place = CallPlace(cwd, env, settings, trust_of(options), agents=settings.engines)
    engines = [load_engine(name) for name in known_engines(options)]
    with ThreadPoolExecutor(AT_ONCE) as workers:
        return tuple(workers.map(partial(_listed, place=place, start=start), engines))


def _listed(engine: Engine, place: CallPlace, *, start: bool) -> ListedEngine:
    return ListedEngine(engine.report(place, start=start), engine.preview(place).capabilities)


def known_agents(place: CheckedPlace) -> tuple[EngineReport, ...]:
    """Return what is known of every agent of a family, without starting any."""
    listed = list_engines({"cwd": place.cwd, "env": place.env})
    return tuple(each.report for each in listed if ":" in each.report.name)


def engines_to_json(listed: Sequence[ListedEngine]) -> dict[str, object]:
    """Return them for a script."""
    return {"engines": [_to_json(each) for each in listed]}


def _to_json(listed: ListedEngine) -> dict[str, object]:
    report, can = listed.report, listed.can
    honoured = [name for name, field in FIELDS.items() if field in OWN_FIELDS | can.profile_fields]
    return {
        "name": report.name,
        "title": report.title,
        "found": bool(report.program),
        "program": report.program or None,
        "version": report.version or None,
        "loggedIn": report.logged_in,
        "login": report.login or None,
        "starts": report.starts,
        "problem": report.problem or None,
        "fix": report.fix or None,
        "can": {
            "profileFields": honoured,
            "permissions": sorted(can.permissions),
            "steering": can.steering,
            "questions": can.questions,
            "schemaTool": can.schema_tool,
            "nativeResume": can.native_resume,
            "usage": can.usage,
        },
    }
