"""
The whole examination, in the order a person reads it.

Each check comes as soon as it is known.  An engine's program is asked at the beginning and listened
to when its turn comes, so that the slow questions cost little.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.check import Check, Subject
from pi_subagents.core.value import replace
from pi_subagents.engines.table import DEFAULT, ENGINES, load_engine
from pi_subagents.service import messages
from pi_subagents.service.doctor import machine
from pi_subagents.system.home import CheckedPlace, data_dir

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

CWD = Subject("cwd", "Working directory")
AGENTS = Subject("agents", "Agents")


def examine(cwd: Path, env: Mapping[str, str], *, reindex: bool = False) -> Iterator[Check]:
    """Yield every check; nothing is raised, a check that fails is a problem."""
    place = CheckedPlace(cwd, env)
    yield machine.PYTHON.guarded(machine.check_python)
    yield machine.PLATFORM.guarded(machine.check_platform)
    if sys.platform == "win32":
        return  # the rest needs what Windows does not have
    if not place.cwd.is_dir():
        yield CWD.fatal(f"{place.cwd} no longer exists", "Change to another directory.")
        return
    yield machine.NESTING.guarded(lambda: machine.check_nesting(place))
    yield from _examine_place(place, reindex=reindex)
    yield machine.TMUX.guarded(lambda: machine.check_tmux(place))


def can_delegate(checks: Iterable[Check]) -> bool:
    """Return whether nothing was found that keeps delegation from working."""
    return all(check.state != "fatal" for check in checks)


def _examine_place(place: CheckedPlace, *, reindex: bool) -> Iterator[Check]:
    from pi_subagents.hosts.pi import doctor as pi_host
    from pi_subagents.service.doctor import configuration as conf
    from pi_subagents.service.doctor import store
    from pi_subagents.service.runs import Runs

    def runs() -> Runs:
        return Runs(place.cwd, place.env)

    # Before a child is asked anything: pi makes its agent directory when it runs.
    yield conf.AGENT_DIR.guarded(lambda: conf.check_agent_dir(place))
    yield conf.GLOBAL_SETTINGS.guarded(lambda: conf.check_global_settings(place))
    yield conf.PROJECT_SETTINGS.guarded(lambda: conf.check_project_settings(place))
    for name in ENGINES:
        yield from load_engine(name).examine_project(place)
    yield conf.PROFILES.guarded(lambda: conf.check_profiles(place))
    yield conf.PRESETS.guarded(lambda: conf.check_presets(place))
    yield pi_host.PI_EXTENSION.guarded(lambda: pi_host.check_pi_extension(place))
    yield from _examine_engines(place)
    yield from _examine_agents(place)
    yield store.RUN_DIR.guarded(lambda: store.check_run_dir(runs(), place))
    yield machine.DISK.guarded(
        lambda: machine.check_disk([runs().store.runs_dir, data_dir(place.env)])
    )
    if reindex:
        yield store.REINDEX.guarded(lambda: store.reindex(runs()))
    yield store.RECOVERY.guarded(lambda: store.check_recovery(runs()))
    yield store.INDEX.guarded(lambda: store.check_index(runs(), place))
    yield store.UNKNOWN.guarded(lambda: store.check_unknown(runs()))
    yield store.ORPHANS.guarded(lambda: store.check_orphans(runs()))
    yield store.WORKTREES.guarded(lambda: store.check_worktrees(runs(), place))
    yield conf.HOSTS.guarded(lambda: conf.check_hosts(place))


def _examine_engines(place: CheckedPlace) -> Iterator[Check]:
    """Yield what is said of our own engines; one that no task needs by itself is no problem."""
    usual = _usual_engine(place)
    for name in ENGINES:
        for check in load_engine(name).examine(place):
            needed = usual == name or check.state not in ("problem", "fatal")
            yield check if needed else replace(check, state="note")


def _examine_agents(place: CheckedPlace) -> Iterator[Check]:
    """Yield which agents of other programs there are, if any, and whether the usual one is."""
    from pi_subagents.service.engines.listing import known_agents

    try:
        agents = known_agents(place)
    except Exception:  # noqa: BLE001 - settings that cannot be read are another check's matter
        return
    usual = _usual_engine(place)
    found = tuple(f"{each.name} {each.version}".strip() for each in agents if each.program)
    missing = [each for each in agents if each.name == usual and not each.program]
    if missing:
        yield AGENTS.fatal(f"{usual}: {missing[0].problem}", missing[0].fix)
    elif found:
        yield AGENTS.ok(messages.agents_found(found))


def _usual_engine(place: CheckedPlace) -> str:
    """Return what kind of child tasks have that choose none."""
    with suppress(Exception):
        return load_settings(place.cwd, place.env)[0].engine or DEFAULT
    return DEFAULT
