"""
What a call in a place would meet, to look only: trust, models, tools, skills, a profile's child.

In: a directory, an environment, and what a host knows of itself.  Out: values; nothing is written,
nothing started but to be asked, and where no child could be started, what set-up would install
counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.engine_values import Model
from pi_subagents.core.run.files import APPEND_PROMPT, CHILD_SESSION, SYSTEM_PROMPT
from pi_subagents.core.value import replace, value
from pi_subagents.engines.base import UNKNOWN, CallPlace, ChildRequest
from pi_subagents.engines.opening import refuse_unknown_engine
from pi_subagents.engines.table import DEFAULT, load_engine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pi_subagents.core.engine_values import HostProgram, ModelList
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.core.run.spec import ChildOrder
    from pi_subagents.core.settings import Settings
    from pi_subagents.engines.base import EngineCall
    from pi_subagents.service.definitions.choice import DefinitionRules
    from pi_subagents.service.delegation import Preparation


RUN = "RUN"  # stands for the directory and the id of a run that does not exist yet


@value
class LookingPlace:
    """A place to look at, and what a host knows of it."""

    cwd: Path
    env: Mapping[str, str]
    host: HostProgram | None = None  # what a host of the same kind runs in
    decided: bool | None = None  # whether such a host trusts the directory; else records count

    @property
    def settings(self) -> Settings:
        """The settings of calls there."""
        return load_settings(self.cwd, self.env)[0]

    def trusts(self, place: Path) -> bool:
        """Return whether what the project of a place configures may count."""
        known = None if self.decided is None else (self.cwd, self.decided)
        return load_engine(DEFAULT).trusts(place, self.env, known)

    @property
    def is_trusted(self) -> bool:
        """Return whether this is so for the directory itself."""
        return self.trusts(self.cwd)

    @property
    def rules(self) -> DefinitionRules:
        """Return what decides there between the project's definitions and the user's own."""
        from pi_subagents.service.definitions.choice import DefinitionRules

        return DefinitionRules.of(self.settings, self.env, trusted=self.is_trusted)

    def preview(self, name: str = DEFAULT) -> EngineCall:
        """Return an engine of a call there, to look only."""
        refuse_unknown_engine(name, self.settings)
        return load_engine(name).preview(self._call_place())

    def models(self, *, refresh: bool = False) -> ModelList:
        """Return the models of a child there; SetupError where none could be started."""
        return load_engine(DEFAULT).open(self._call_place()).list_models(refresh=refresh)

    def tools(self) -> tuple[str, ...]:
        """Return the tools that a child there has by itself."""
        return self.preview().list_tools()

    def unknown_name(self, profile: Profile, field: str, models: Sequence[str]) -> str:
        """Return what a field names that does not exist, in a few words; nothing if all does."""
        known = tuple(Model(*reference.partition("/")[::2]) for reference in models)
        found = self.preview().check_profile(profile, known)
        wrong = (each.text for each in found if (each.field, each.kind) == (field, UNKNOWN))
        return next(wrong, "")

    def skills(self) -> tuple[str, ...]:
        """Return the skills that a profile may name there."""
        return self.preview().list_skills(trusted=self.is_trusted)

    def _call_place(self) -> CallPlace:
        return CallPlace(
            self.cwd,
            self.env,
            self.settings,
            trusted=self.trusts,
            host=self.host,
            agents=self.settings.engines,
        )


def prepare_named(name: str, place: LookingPlace) -> Preparation:
    """Return what a call would make of the profile, or why it would be refused."""
    from functools import partial

    from pi_subagents.config.profile_files import load_profiles
    from pi_subagents.core.definitions.found import PROFILE
    from pi_subagents.core.task.request import Task, checked_request
    from pi_subagents.errors import RequestError
    from pi_subagents.service.delegation import Preparation
    from pi_subagents.service.profiles import prepare_profiles

    try:
        (prepared,) = prepare_profiles(
            checked_request([Task("show", "show")], name),
            load_profiles(place.cwd, place.env),
            place.preview,
            trusted=place.is_trusted,
            choose=partial(place.rules.choose, PROFILE),
        )
    except RequestError as error:
        return Preparation(refusal=str(error))
    return prepared


def plan_named(prepared: Preparation, place: LookingPlace) -> ChildOrder | None:
    """Return how a run there would be started, unless it would be refused."""
    profile = prepared.profile
    if profile is None or prepared.refusal:
        return None
    request = ChildRequest(
        run_id=RUN,
        cwd=str(place.cwd),
        trusted=place.is_trusted,
        profile=profile,
        skill_paths=prepared.skill_paths,
        system_prompt_file=f"{RUN}/{SYSTEM_PROMPT}" if profile.system_prompt else None,
        append_prompt_file=f"{RUN}/{APPEND_PROMPT}" if profile.append_system_prompt else None,
        shareable=False,
    )
    order = place.preview(prepared.engine or DEFAULT).plan_child(request).order
    return replace(order, argv=order.argv_in(f"{RUN}/{CHILD_SESSION}"))
