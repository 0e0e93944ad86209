"""
The engine door, the caller's half: what an engine is.

An engine may be heavy: it knows how a task becomes a child.  What the supervisor has of it is a
conversation (`conversation.py`).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import ExitStack
    from pathlib import Path

    from pi_subagents.core.check import Check
    from pi_subagents.core.engine_values import (
        AgentCommand,
        EngineReport,
        HostProgram,
        Model,
        ModelList,
        Report,
        SetupOutcome,
    )
    from pi_subagents.core.offline.script import Script
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.core.run.spec import ChildOrder
    from pi_subagents.core.settings import Settings
    from pi_subagents.system.home import CheckedPlace

# When a child reports the tokens it uses: after each message, once a turn, or never.
PER_MESSAGE, PER_TURN, NEVER = ("message", "turn", "never")
# How what was found counts: no call may use it, it may not do what it seems to, good to know.
# UNKNOWN is a warning, too: about a name that was probably mistyped.
REFUSED, WARNING, UNKNOWN, NOTE = ("refused", "warning", "unknown", "note")


@value
class Capabilities:
    """What the children of an engine can do; a profile that asks for more is refused by name."""

    profile_fields: frozenset[str]  # those of a Profile that it honours
    steering: bool  # a child at work can be given messages
    reuse: bool  # a child can serve several runs, one after the other
    schema_tool: bool  # a child can be given a tool to answer with, whose parameters are a schema
    usage: str  # PER_MESSAGE, PER_TURN or NEVER
    questions: bool = False  # what a child asks can wait for an answer
    permissions: frozenset[str] = frozenset()  # the kinds of calls that it can be kept from
    limits: bool = False  # that a provider answers no more for now is told apart from an error
    native_resume: bool = False  # a run can go on with the session that another child kept
    # A child reads the first of these in each directory above its own, up to the root.
    context_files: tuple[str, ...] = ()


@value
class CallPlace:
    """Where a call is made, as far as an engine has to know."""

    cwd: Path
    env: Mapping[str, str]
    settings: Settings
    trusted: Callable[[Path], bool]  # whether what a project itself configures may count
    parent_tools: tuple[str, ...] | None = None  # the active tools of a host of the same kind
    models: tuple[str, ...] | None = None  # the models of such a host, which its children have too
    host: HostProgram | None = None  # the program that such a host runs in
    agents: Mapping[str, AgentCommand] = MappingProxyType({})  # which the user set up, by name


@value
class ModelWish:
    """Which model a task or its preset asks for, and where the child is to work."""

    wanted: str | None
    of_preset: str
    preset_name: str
    preset_path: str
    place: Path


@value
class PreparedProfile:
    """A profile as its child will have it, or why it cannot."""

    profile: Profile
    notes: tuple[str, ...] = ()
    refusal: str = ""
    skill_paths: tuple[str, ...] = ()


@value
class Finding:
    """What an engine finds about a field of a profile or preset."""

    field: str
    text: str
    kind: str  # REFUSED, WARNING, UNKNOWN or NOTE


@value
class ChildRequest:
    """What a child is to be; files that it reads are named by path, their content in `texts`."""

    run_id: str
    cwd: str
    trusted: bool
    profile: Profile
    skill_paths: tuple[str, ...] = ()
    system_prompt_file: str | None = None
    append_prompt_file: str | None = None
    orders_file: str = ""  # where its orders will be, if there are any
    schema: Mapping[str, object] | None = None  # what its answer has to fit, if anything
    texts: Mapping[str, bytes] = MappingProxyType({})
    shareable: bool = True  # whether other runs may have the same child
    session: bytes | None = None  # that it goes on with, as `continue_session` made it


@value
class ChildPlan:
    """
    How a child is started, what it shares with others, and how many tools it has, if known.

    `orders` are what its run wants beside its prompt, in words of the engine; they are for this run
    alone, whoever shares the child.
    """

    order: ChildOrder
    share_key: str = ""
    tool_count: int | None = None  # of its own: a tool that our orders add is not counted
    orders: str = ""
    has_schema_tool: bool = False  # the answer is to come by a tool
    writes: tuple[str, ...] = ()  # where it has to write beside its workspace: its own home


@value
class ContinuedSession:
    """A child's session for another child to go on with, and where it was before, if elsewhere."""

    content: bytes
    moved_from: str = ""


class EngineCall(Protocol):
    """An engine that is ready for the tasks of one call."""

    name: str
    capabilities: Capabilities

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should read once; whoever reads it here shows it."""

    @property
    def facts(self) -> Mapping[str, object]:
        """What the record of a run holds about its engine."""

    def prepare_profile(
        self, profile: Profile, notes: tuple[str, ...], *, trusted: bool
    ) -> PreparedProfile:
        """Check a profile and resolve what it names; RequestError refuses the whole call."""

    def prepare_preset(self, profile: Profile, model: str | None) -> PreparedProfile:
        """Do so for what a preset comes to, with the model that was chosen."""

    def check_profile(self, profile: Profile, models: Sequence[Model] = ()) -> tuple[Finding, ...]:
        """
        Return what keeps calls from using a profile, and warnings and notes about it.

        With the models there are, also which provider or model of it is not among them.
        """

    def check_preset(self, profile: Profile, models: Sequence[Model] = ()) -> tuple[Finding, ...]:
        """Do so for what a preset comes to."""

    def list_models(self, *, refresh: bool = False) -> ModelList:
        """Return the models of a child in the place of the call; raises ModelsUnknown."""

    def list_tools(self) -> tuple[str, ...]:
        """Return the tools that a child has by itself."""

    def list_skills(self, *, trusted: bool) -> tuple[str, ...]:
        """Return the skills that a profile may name, those of the project only if trusted."""

    def has_no_model(self) -> bool:
        """Return whether it is certain that no child in the place of the call has a model."""

    def choose_model(self, wish: ModelWish) -> tuple[str, str]:
        """Return the model that was asked for and the one it means; RequestError if none fits."""

    def as_prompt(self, text: str) -> str:
        """Return a text such that the child reads it as a prompt and nothing else."""

    def plan_child(self, request: ChildRequest) -> ChildPlan:
        """Return how a child is started."""

    def continue_session(self, content: bytes, cwd: str) -> ContinuedSession:
        """
        Return a kept session such that a child in that directory can go on with it.

        ValueError, with the reason, where none can; only with `native_resume`.
        """

    def share_key_now(self, share_key: str) -> str:
        """Return the key such children have by now: files may have changed since."""

    def offline(self, script: Script | None, resources: ExitStack) -> EngineCall:
        """Return the same with the offline model, served for as long as the resources are held."""

    def offline_each(self) -> EngineCall:
        """Return the same with an offline model for each run, which needs no server."""


class Engine(Protocol):
    """One kind of child, on the caller's side."""

    name: str
    capabilities: Capabilities

    def open(self, place: CallPlace) -> EngineCall:
        """Make ready for a call; SetupError where no child could be started."""

    def preview(self, place: CallPlace) -> EngineCall:
        """Do so to look only: where none is installed, as if the one that we install were."""

    def trusts(
        self, place: Path, env: Mapping[str, str], decided: tuple[Path, bool] | None
    ) -> bool:
        """Return whether the user trusts the project of a place: as decided there, or on record."""

    def examine_project(self, place: CheckedPlace) -> Iterator[Check]:
        """Yield the doctor's checks of the project's own configuration; starts nothing."""

    def examine(self, place: CheckedPlace) -> Iterator[Check]:
        """Yield whether children could run; a check that fails is a problem, not an error."""

    def is_installed(self, cwd: Path, env: Mapping[str, str]) -> bool:
        """Return whether children could be started without set-up, whatever the settings are."""

    def install(
        self, cwd: Path, env: Mapping[str, str], report: Report, *, force: bool = False
    ) -> SetupOutcome:
        """Put into the data directory what children run; safe to repeat."""

    def uninstall(self, env: Mapping[str, str], report: Report) -> SetupOutcome:
        """Remove all that `install` made, and nothing else."""

    def program(self, cwd: Path, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the command that children run, for a person to start; SetupError without one."""

    def report(self, place: CallPlace, *, start: bool = False) -> EngineReport:
        """Return what is known of it, with `start` also whether it answers; nothing is raised."""

    def why_no_steering(self, mode: str) -> str:
        """Return why children in that mode take no messages, or an empty text."""
