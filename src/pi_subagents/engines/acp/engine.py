"""
An agent that speaks the Agent Client Protocol, as an engine: the caller's side.

In: the agent's row of the catalogue, or the command that a user gave; a profile.  Out: how it is
started, and orders for its conversation; SetupError where it is not there, with what to do.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pi_subagents.core.check import Subject
from pi_subagents.core.own_tools import SUBMIT_TOOL
from pi_subagents.core.run.files import CHILD_VARIABLE, MARKER_VARIABLE
from pi_subagents.core.run.spec import ChildOrder
from pi_subagents.engines.acp import messages
from pi_subagents.engines.acp.agent import (
    NO_STEERING,
    OF_EACH_REQUEST,
    UNTOLD,
    Agent,
    ShapeRequest,
)
from pi_subagents.engines.acp.catalogue import NAMES, agent_like, agent_of
from pi_subagents.engines.acp.kept import read_kept
from pi_subagents.engines.acp.orders import AgentOrders, orders_text
from pi_subagents.engines.acp.wire import as_data
from pi_subagents.engines.base import (
    NEVER,
    PER_MESSAGE,
    PER_TURN,
    Capabilities,
    ChildPlan,
    ContinuedSession,
    PreparedProfile,
)
from pi_subagents.engines.own_tools.offer import own_server, own_tools
from pi_subagents.engines.plain_engine import PlainEngine
from pi_subagents.errors import AgentNotFound, ProfileRefused
from pi_subagents.system.home import home_dir
from pi_subagents.system.programs import is_runnable, search_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pi_subagents.core.check import Check
    from pi_subagents.core.engine_values import AgentCommand, EngineReport
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.engines.base import CallPlace, ChildRequest
    from pi_subagents.system.home import CheckedPlace

FAMILY = "acp"
_NOTHING: Mapping[str, str] = MappingProxyType({})
# What every agent can have: its process is its own anyway.
_FIELDS = frozenset({"model", "questions", "budget", "isolation", "extra_args"})
MAX_PROMPT = 96 * 1024  # bytes: Linux takes a variable of 128 KiB at most
_USAGE = {OF_EACH_REQUEST: PER_MESSAGE, UNTOLD: NEVER}


def capabilities_of(agent: Agent) -> Capabilities:
    """Return what the children of an agent can do."""
    asks = ("permissions",) if agent.permissions else ()
    return Capabilities(
        profile_fields=_FIELDS.union(agent.fields, asks),
        steering=agent.steering != NO_STEERING,
        reuse=False,
        schema_tool=agent.takes_mcp,
        usage=_USAGE.get(agent.usage, PER_TURN),
        questions=True,
        permissions=agent.permissions,
        native_resume=agent.resumes,
        limits=True,
    )


class AcpEngine(PlainEngine):
    """One agent: the engine, and once it was found, its calls."""

    def __init__(
        self, agent: Agent, given: AgentCommand | None = None, env: Mapping[str, str] = _NOTHING
    ) -> None:
        self.agent = agent
        self.name = f"{FAMILY}:{agent.name}"
        self.capabilities = capabilities_of(agent)
        self._added = given.environment if given else _NOTHING
        self._env = {**env, **self._added}
        self._opened = False  # to be started, and not to be looked at
        self._argv = given.argv if given else (agent.program or agent.name, *agent.arguments)

    @property
    def facts(self) -> Mapping[str, object]:
        """What the record of a run holds about its engine."""
        return {"engine": self.name, "childMode": self._mode}

    @property
    def _mode(self) -> str:
        """Which row of the catalogue its conversation goes by."""
        return self.agent.like or self.agent.name

    def open(self, place: CallPlace) -> AcpEngine:
        """Find the agent's program."""
        engine = self.preview(place)
        if (like := engine.agent.like) and like not in NAMES:
            fix = messages.be_like(NAMES)
            raise AgentNotFound(self.name, f'"like": "{like}"', messages.UNKNOWN_LIKE, fix)
        engine._argv, engine._opened = engine._found(place.cwd), True  # noqa: SLF001 - its own
        return engine

    def preview(self, place: CallPlace) -> AcpEngine:
        """Return the agent as the user has it, wherever its program is."""
        name, given = self.agent.name, place.agents.get(self.agent.name)
        return AcpEngine(agent_like(name, given.like) if given else self.agent, given, place.env)

    def examine(self, place: CheckedPlace) -> Iterator[Check]:
        """Yield whether its program is there."""
        subject = Subject(self.name, self.agent.title or self.agent.name)
        try:
            (program,) = self.program(place.cwd, place.env)
        except AgentNotFound as error:
            yield subject.fatal(f"{error.program} {error.why}", error.fix)
        else:
            yield subject.ok(program, public=self.agent.program)

    def report(self, place: CallPlace, *, start: bool = False) -> EngineReport:
        """Return whether its program is there, of which version, and with what login."""
        from pi_subagents.engines.acp.reporting import report

        return report(self, place, start=start)

    def started(self) -> tuple[tuple[str, ...], Mapping[str, str]]:
        """Return the command of one that was opened, and the variables that it has."""
        guards = {name: v for name, v in self.agent.environment.items() if name not in self._env}
        unset = self.agent.unset
        env = {name: v for name, v in self._env.items() if name not in unset}
        return self._argv, {**env, **guards}

    def is_installed(self, cwd: Path, env: Mapping[str, str]) -> bool:
        """Return whether its program is on PATH."""
        try:
            self.program(cwd, env)
        except AgentNotFound:
            return False
        return True

    def program(self, cwd: Path, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return its program, for a person to start."""
        return AcpEngine(self.agent, env=env)._found(cwd)[:1]  # noqa: SLF001 - its own

    def prepare_profile(
        self, profile: Profile, notes: tuple[str, ...], *, trusted: bool
    ) -> PreparedProfile:
        """Take a profile that can be handed over."""
        for field, text in (
            ("systemPrompt", profile.system_prompt),
            ("appendSystemPrompt", profile.append_system_prompt),
        ):
            if len(text.encode("utf-8", "replace")) > MAX_PROMPT:
                problem = messages.prompt_too_long(MAX_PROMPT)
                raise ProfileRefused(f'Profile "{profile.name}": "{field}" {problem}.')
        return super().prepare_profile(profile, notes, trusted=trusted)

    def plan_child(self, request: ChildRequest) -> ChildPlan:
        """Return how the agent is started, and the orders for its conversation."""
        profile, agent = request.profile, self.agent
        if self._opened:
            self._start_first()
        shape = agent.shape(_shape_request(profile, self._env))
        unset = [f"-u{name}" for name in agent.unset if name in self._env]
        guards = {name: v for name, v in agent.environment.items() if name not in self._env}
        markers = {CHILD_VARIABLE: "1", MARKER_VARIABLE: request.run_id}
        tools = own_tools(request) if agent.takes_mcp else ()
        orders = AgentOrders(
            cwd=request.cwd,
            model=profile.model,
            thinking=profile.thinking_level,
            mode=shape.mode,
            resume=read_kept(request.session).session_id if request.session else "",
            session=shape.session,
            servers=(own_server(request),) if tools else (),
            own_tools=tools,
            permissions=profile.permissions,
            variables=tuple(sorted(self._env)),
        )
        order = ChildOrder(
            argv=(
                *(("/usr/bin/env", *unset) if unset else ()),
                *self._argv,
                *shape.arguments,
                *profile.extra_args,
            ),
            cwd=request.cwd,
            engine=self.name,
            environment={**guards, **self._added, **shape.environment, **markers},
            mode=self._mode,
            takes_commands=True,
            own_tools=tools,
        )
        text = orders_text(orders)
        return ChildPlan(
            order,
            orders=text,
            has_schema_tool=SUBMIT_TOOL in tools,
            writes=tuple(str(home_dir(self._env) / each) for each in agent.writes),
        )

    def _start_first(self) -> None:
        """See to it that not two first starts are made at once."""
        if self.agent.databases is None:
            return
        from pi_subagents.engines.acp.first_start import make_first_start
        from pi_subagents.engines.acp.reporting import ask_who

        make_first_start(
            self._mode, self.agent.databases, self._env, lambda: ask_who(*self.started())
        )

    def as_prompt(self, text: str) -> str:
        """Return a text such that no agent takes its beginning for a command."""
        return as_data(text)

    def continue_session(self, content: bytes, cwd: str) -> ContinuedSession:
        """Return what was kept of a session, for the same agent in the same directory."""
        kept = read_kept(content)
        if kept.agent != self.agent.name:
            raise ValueError(messages.session_of_other_agent(kept.agent))
        if os.path.realpath(kept.cwd) != os.path.realpath(cwd):
            raise ValueError(messages.session_elsewhere(kept.cwd))
        return ContinuedSession(content)

    def _found(self, cwd: Path) -> tuple[str, ...]:
        """Return the command with its program's path; SetupError where it is not there."""
        program, *arguments = self._argv
        for name in (program, *self.agent.needs):
            if os.sep in name:
                if not (os.path.isabs(name) and is_runnable(Path(name))):  # noqa: PTH117 - a text
                    why, fix = messages.NOT_RUNNABLE, messages.how_to_install("")
                    raise AgentNotFound(self.name, name, why, fix)
                continue
            found = search_program(name, self._env, cwd)
            if found.found is None:
                why = messages.INSIDE_CWD if found.left_out else messages.NOT_ON_PATH
                fix = messages.how_to_install(self.agent.package if name == program else name)
                raise AgentNotFound(self.name, name, why, fix)
            if name == program:
                program = str(found.found)
        return (program, *arguments)


@cache
def engine_of(name: str) -> AcpEngine:
    """Return the engine of an agent, known to us or only to its user."""
    return AcpEngine(agent_of(name))


def _shape_request(profile: Profile, env: Mapping[str, str]) -> ShapeRequest:
    return ShapeRequest(
        profile.permissions,
        env,
        system_prompt=profile.system_prompt,
        append_prompt=profile.append_system_prompt,
        tools=profile.tools,
        exclude_tools=profile.exclude_tools or (),
        no_tools=profile.no_tools,
        thinking=profile.thinking_level,
    )
