"""
pi as an engine: which program it is, what its version can do, and how a task becomes a child of it.

In: the place of a call.  Out: a PiCall, ready for its tasks; SetupError where there is no pi.
"""

from __future__ import annotations

import os
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.own_tools import SUBMIT_TOOL
from pi_subagents.core.profile.permissions import KINDS
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.run.spec import ChildOrder
from pi_subagents.core.value import replace
from pi_subagents.engines.base import PER_MESSAGE, Capabilities, ChildPlan, PreparedProfile
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.account import account_of
from pi_subagents.engines.pi.child_kind import CONTEXT_FILES, ChildKinds, ChildShape
from pi_subagents.engines.pi.command import PI_CHOSEN_BY, PiCommand, resolve_pi_command
from pi_subagents.engines.pi.conversation import RPC_MODE
from pi_subagents.engines.pi.inspector import with_closed_inspector
from pi_subagents.engines.pi.installed_version import find_version, is_first_sight
from pi_subagents.engines.pi.invocation import (
    NO_OVERRIDE,
    NO_SESSION_OPTION,
    REPORTING,
    SESSION_OPTION,
    Invocation,
    plan_invocation,
)
from pi_subagents.engines.pi.orders import orders_for
from pi_subagents.engines.pi.profile.options import allowed_tools, profile_invocation
from pi_subagents.engines.pi.rpc import compose_prompt
from pi_subagents.engines.pi.trust import is_trusted
from pi_subagents.engines.pi.versions import PINNED_PI_VERSION, traits_of
from pi_subagents.errors import ProfileRefused, SetupError
from pi_subagents.system.home import agent_dir, data_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import ExitStack

    from pi_subagents.core.check import Check
    from pi_subagents.core.engine_values import (
        EngineReport,
        Model,
        ModelList,
        Report,
        SetupOutcome,
    )
    from pi_subagents.core.offline.script import Script
    from pi_subagents.engines.base import (
        CallPlace,
        ChildRequest,
        ContinuedSession,
        Finding,
        ModelWish,
    )
    from pi_subagents.engines.pi.invocation import ModelOverride
    from pi_subagents.engines.pi.skills.skill import FindSkills
    from pi_subagents.system.home import CheckedPlace

PI = "pi"
CAPABILITIES = Capabilities(
    profile_fields=frozenset(Profile.__match_args__),
    steering=True,
    reuse=True,
    schema_tool=True,
    usage=PER_MESSAGE,
    questions=True,
    permissions=frozenset(KINDS),
    limits=True,
    native_resume=True,
    context_files=CONTEXT_FILES,
)


class PiCall:
    """The pi of one call."""

    name = PI
    capabilities = CAPABILITIES

    def __init__(
        self,
        place: CallPlace,
        pi: PiCommand,
        override: Callable[[str], ModelOverride] | None = None,
    ) -> None:
        self._place = place
        self.pi = pi
        self._override = override
        self._traits = traits_of(pi.version)
        self._mode = place.settings.child_mode

    @cached_property
    def notices(self) -> tuple[str, ...]:
        """What a user should read once; whoever reads it here shows it."""
        traits, host = self._traits, self._place.host
        found: tuple[str, ...] = ()
        if traits.is_newer and is_first_sight(traits.version, self._place.env):
            found += (messages.pi_is_newer(traits.shown, PINNED_PI_VERSION),)
        version = self.pi.version
        if host and host.version and version and version != host.version:
            chosen_by = PI_CHOSEN_BY[self.pi.source]
            found += (messages.other_pi_than_the_host(version, chosen_by, host.version),)
        return found

    @property
    def facts(self) -> Mapping[str, object]:
        """What the record of a run holds about its engine."""
        return {
            "engine": PI,
            "childMode": self._mode,
            "pi": {"source": self.pi.source, "version": self._traits.version or None},
            "offline": self._override is not None,
        }

    def prepare_profile(
        self, profile: Profile, notes: tuple[str, ...], *, trusted: bool
    ) -> PreparedProfile:
        """Check a profile and resolve what it names; RequestError refuses the whole call."""
        # Most calls name none.
        from pi_subagents.engines.pi.profile.preparing import prepare_profile

        self._refuse_questions(profile)
        return prepare_profile(
            profile, notes, self._place, self._traits, skills=self._skills, trusted=trusted
        )

    def prepare_preset(self, profile: Profile, model: str | None) -> PreparedProfile:
        """Do so for what a preset comes to, with the model that was chosen."""
        from pi_subagents.engines.pi.profile.preparing import prepare_preset

        self._refuse_questions(profile)
        return prepare_preset(profile, model, self._place.parent_tools, self._traits)

    def check_profile(self, profile: Profile, models: Sequence[Model] = ()) -> tuple[Finding, ...]:
        """Return what keeps calls from using a profile, and warnings and notes about it."""
        from pi_subagents.engines.pi.profile.check import check_profile

        return check_profile(profile, self._traits, models)

    def check_preset(self, profile: Profile, models: Sequence[Model] = ()) -> tuple[Finding, ...]:
        """Do so for what a preset comes to."""
        from pi_subagents.engines.pi.profile.check import check_preset

        return check_preset(profile, self._traits, models)

    def list_models(self, *, refresh: bool = False) -> ModelList:
        """Return the models of a child in the place of the call; ModelsUnknown if pi fails."""
        from pi_subagents.engines.pi.models.available import list_models
        from pi_subagents.engines.pi.models.config import ChildSetup

        cwd, env = self._place.cwd, self._place.env
        setup = ChildSetup(self.pi.argv, cwd, env, self._place.trusted(cwd), traits=self._traits)
        return list_models(setup, data_dir(env), refresh=refresh)

    def has_no_model(self) -> bool:
        """Return whether pi says so, where neither a host nor a command of one's own knows more."""
        place = self._place
        if place.host or place.models is not None or self.pi.source not in ("path", "managed"):
            return False
        from pi_subagents.engines.pi.models.available import lists_no_models
        from pi_subagents.engines.pi.models.config import ChildSetup, names_credentials

        cwd, env = place.cwd, place.env
        setup = ChildSetup(self.pi.argv, cwd, env, place.trusted(cwd), traits=self._traits)
        return not names_credentials(setup) and lists_no_models(setup, data_dir(env))

    def list_tools(self) -> tuple[str, ...]:
        """Return the tools that a child has by itself."""
        return self._traits.tools

    def list_skills(self, *, trusted: bool) -> tuple[str, ...]:
        """Return the skills that a profile may name, those of the project only if trusted."""
        return tuple(self._skills(trusted=trusted).by_name)

    def choose_model(self, wish: ModelWish) -> tuple[str, str]:
        """Return the model that was asked for and the one it means; RequestError if none fits."""
        from pi_subagents.engines.pi.models.available import choose_for

        return choose_for(wish, self._place, self.pi.argv, self._traits)

    def as_prompt(self, text: str) -> str:
        """Return a text such that pi does not take its beginning for a command."""
        return compose_prompt(text)

    def plan_child(self, request: ChildRequest) -> ChildPlan:
        """Return how a child is started."""
        orders = orders_for(request, self._mode)
        invocation = plan_invocation(
            self._closed or self.pi.argv,
            run_id=request.run_id,
            trusted=request.trusted,
            profile=profile_invocation(
                request.profile,
                system_prompt_file=request.system_prompt_file,
                append_prompt_file=request.append_prompt_file,
                skill_paths=request.skill_paths,
                parent_tools=self._place.parent_tools,
                traits=self._traits,
                own_tools=orders.tools,
            ),
            orders=Invocation((*REPORTING, *orders.invocation.argv), orders.invocation.environment),
            override=self._override(request.run_id) if self._override else NO_OVERRIDE,
            mode=self._mode,
        )
        provider, account = account_of(
            request.profile,
            invocation.argv,
            self._place,
            Path(request.cwd),
            trusted=request.trusted,
        )
        order = ChildOrder(
            argv=invocation.argv,
            provider=provider,
            account=account,
            cwd=request.cwd,
            environment=invocation.environment,
            engine=PI,
            mode=self._mode,
            takes_commands=self._mode == RPC_MODE,
            session_option=SESSION_OPTION,
            no_session_option=NO_SESSION_OPTION,
            # At every new session; without them pi would take a file's name for its text.
            rereads=tuple(filter(None, (request.system_prompt_file, request.append_prompt_file))),
        )
        kinds = self._kinds if request.shareable else None
        shape = ChildShape(
            argv=invocation.argv,
            environment=invocation.environment,
            cwd=request.cwd,
            trusted=request.trusted,
            texts={path: text for path, text in request.texts.items() if path in invocation.argv},
            isolation=request.profile.isolation,
        )
        share_key = kinds.kind_of(shape) if kinds else ""
        count = allowed_tools(invocation.argv, orders.tools)
        has_tool = SUBMIT_TOOL in orders.tools
        return ChildPlan(
            order,
            share_key,
            count,
            orders.text,
            has_schema_tool=has_tool,
            writes=(str(agent_dir(self._place.env)),),
        )

    def continue_session(self, content: bytes, cwd: str) -> ContinuedSession:
        """Return a kept session such that a child in that directory can go on with it."""
        from pi_subagents.engines.pi.session_file import continued

        return continued(content, os.path.realpath(cwd))

    def share_key_now(self, share_key: str) -> str:
        """Return the key such children have by now: files may have changed since."""
        return share_key if self._kinds is None else self._kinds.kind_now(share_key)

    def offline(self, script: Script | None, resources: ExitStack) -> PiCall:
        """Return the same with the offline model, served for as long as the resources are held."""
        from pi_subagents.engines.pi.offline import served_model

        return PiCall(self._place, self.pi, served_model(script, resources))

    def offline_each(self) -> PiCall:
        """Return the same with an offline model for each run, which needs no server."""
        from pi_subagents.engines.pi.offline import own_model

        override = own_model()
        return PiCall(self._place, self.pi, lambda _: override)

    def _refuse_questions(self, profile: Profile) -> None:
        """Refuse a profile whose questions would reach nobody."""
        if profile.may_ask and self._mode != RPC_MODE:
            field = "questions" if profile.questions else "permissions"
            why = messages.NO_QUESTIONS_IN_JSON_MODE
            raise ProfileRefused(messages.field_refused(profile.name, field, why))

    @cached_property
    def _skills(self) -> FindSkills:
        from pi_subagents.engines.pi.skills.files import discover_skills

        return cache(partial(discover_skills, self._place.cwd, self._place.env))

    @cached_property
    def _closed(self) -> tuple[str, ...] | None:
        """The command with Node's debugger closed, where it can be."""
        argv = self.pi.argv
        return with_closed_inspector(argv, self._place.env, self._place.cwd) if argv else None

    @cached_property
    def _kinds(self) -> ChildKinds | None:
        """The kinds of children; None where no child is to be shared."""
        settings = self._place.settings
        # Where the debugger cannot be closed, a task could leave code behind for the next one.
        if self._closed is None or self._mode != RPC_MODE or not settings.reuse_children:
            return None
        return ChildKinds(self._place.env, self._traits)


class PiEngine:
    """The pi coding agent."""

    name = PI
    capabilities = CAPABILITIES

    def open(self, place: CallPlace) -> PiCall:
        """Find the pi of a call and what it can do."""
        pi = resolve_pi_command(place.env, place.cwd, place.settings.pi_command, place.host)
        version = pi.version or find_version(pi.argv, place.env, place.cwd)
        return PiCall(place, replace(pi, version=version))

    def preview(self, place: CallPlace) -> PiCall:
        """Do so to look only: where no pi is installed, as if the one that we install were."""
        try:
            version = self.open(place).pi.version
        except SetupError:
            version = PINNED_PI_VERSION
        return PiCall(place, PiCommand((), "managed", version))

    def trusts(
        self, place: Path, env: Mapping[str, str], decided: tuple[Path, bool] | None
    ) -> bool:
        """Return whether the user trusts the project of a place: as decided there, or on record."""
        return is_trusted(place, env, decided)

    def examine_project(self, place: CheckedPlace) -> Iterator[Check]:
        """Yield whether children load what the project itself configures."""
        from pi_subagents.engines.pi.doctor import TRUST, check_trust

        yield TRUST.guarded(lambda: check_trust(place))

    def examine(self, place: CheckedPlace) -> Iterator[Check]:
        """Yield which Node and pi children run, and whether it has models."""
        from pi_subagents.engines.pi import doctor

        with doctor.Consultation(place) as consulted:
            yield doctor.NODE.guarded(lambda: doctor.check_node(consulted, place))
            yield doctor.PI.guarded(lambda: doctor.check_pi(consulted, place))
            yield doctor.MODELS.guarded(lambda: doctor.check_models(consulted))

    def is_installed(self, cwd: Path, env: Mapping[str, str]) -> bool:
        """Return whether there is a pi that needs no set-up; one that was chosen must be usable."""
        from pi_subagents.engines.pi.install import setup

        return setup.is_installed(cwd, env)

    def install(
        self, cwd: Path, env: Mapping[str, str], report: Report, *, force: bool = False
    ) -> SetupOutcome:
        """Install the pinned pi, or leave it as it is."""
        from pi_subagents.engines.pi.install import setup

        return setup.install(cwd, env, report, force=force)

    def uninstall(self, env: Mapping[str, str], report: Report) -> SetupOutcome:
        """Remove the pi and the Node that set-up installed."""
        from pi_subagents.engines.pi.install import setup

        return setup.uninstall(env, report)

    def program(self, cwd: Path, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the command of the pi that children run."""
        from pi_subagents.config.settings_files import load_settings

        return resolve_pi_command(env, cwd, load_settings(cwd, env)[0].pi_command).argv

    def report(self, place: CallPlace, *, start: bool = False) -> EngineReport:
        """Return which pi children run, and whether it has models."""
        from pi_subagents.engines.pi.reporting import report

        return report(self, place, start=start)

    def why_no_steering(self, mode: str) -> str:
        """Return why children in that mode take no messages, or an empty text."""
        return "" if mode == RPC_MODE else messages.STEER_JSON_MODE


ENGINE = PiEngine()
