"""
What simple engines have in common on the caller's side: no choices, nothing to set up.

An engine of its own says its name, what its children can do and how one is started (`plan_child`);
whatever else its children have, it says in place of what stands here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pi_subagents.core.models import ModelList
from pi_subagents.core.setup import SetupOutcome
from pi_subagents.core.value import replace
from pi_subagents.engines import messages
from pi_subagents.engines.base import PreparedProfile
from pi_subagents.errors import InvalidRequest, NoModelGiven

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import ExitStack
    from pathlib import Path

    from pi_subagents.core.check import Check
    from pi_subagents.core.offline.script import Script
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.core.setup import Report
    from pi_subagents.engines.base import CallPlace, Capabilities, Finding, ModelWish
    from pi_subagents.system.home import CheckedPlace


class PlainEngine:
    """An Engine that is ready for every call, and so is its own EngineCall."""

    name: str
    capabilities: Capabilities
    notices: tuple[str, ...] = ()

    @property
    def facts(self) -> Mapping[str, object]:
        """What the record of a run says of its engine."""
        return {"engine": self.name}

    # As an Engine

    def open(self, place: CallPlace) -> Self:
        """Need nothing."""
        del place
        return self

    def preview(self, place: CallPlace) -> Self:
        """Look the same."""
        del place
        return self

    def trusts(
        self, place: Path, env: Mapping[str, str], decided: tuple[Path, bool] | None
    ) -> bool:
        """Trust what a caller decided to trust, and keep no records."""
        del place, env
        return decided is not None and decided[1]

    def examine_project(self, place: CheckedPlace) -> Iterator[Check]:
        """Load nothing of a project."""
        del place
        return iter(())

    def examine(self, place: CheckedPlace) -> Iterator[Check]:
        """Have nothing to say."""
        del place
        return iter(())

    def is_installed(self, cwd: Path, env: Mapping[str, str]) -> bool:
        """Need no set-up."""
        del cwd, env
        return True

    def install(
        self, cwd: Path, env: Mapping[str, str], report: Report, *, force: bool = False
    ) -> SetupOutcome:
        """Install nothing."""
        del cwd, env, report, force
        return SetupOutcome((messages.NOTHING_TO_SET_UP,), {"changed": False})

    def uninstall(self, env: Mapping[str, str], report: Report) -> SetupOutcome:
        """Remove nothing."""
        del env, report
        return SetupOutcome((messages.NOTHING_TO_SET_UP,), {"changed": False})

    def why_no_steering(self, mode: str) -> str:
        """Return why children can be told nothing, or an empty text."""
        del mode
        return "" if self.capabilities.steering else messages.no_steering(self.name)

    # As an EngineCall

    def prepare_profile(
        self, profile: Profile, notes: tuple[str, ...], *, trusted: bool
    ) -> PreparedProfile:
        """Take a profile as it is: fields that are not honoured were refused before."""
        del trusted
        return PreparedProfile(profile, notes)

    def prepare_preset(self, profile: Profile, model: str | None) -> PreparedProfile:
        """Take a preset as it is, with the model that was chosen."""
        return PreparedProfile(replace(profile, model=model or ""))

    def check_profile(self, profile: Profile) -> tuple[Finding, ...]:
        """Find nothing."""
        del profile
        return ()

    def check_preset(self, profile: Profile) -> tuple[Finding, ...]:
        """Find nothing."""
        del profile
        return ()

    def list_models(self, *, refresh: bool = False) -> ModelList:
        """Know of no models."""
        del refresh
        return ModelList((), cached=False)

    def list_tools(self) -> tuple[str, ...]:
        """Know of no tools."""
        return ()

    def list_skills(self, *, trusted: bool) -> tuple[str, ...]:
        """Know of no skills."""
        del trusted
        return ()

    def choose_model(self, wish: ModelWish) -> tuple[str, str]:
        """Take the model's name as it was given."""
        name = wish.wanted or wish.of_preset
        if not name:
            raise NoModelGiven(wish.preset_name, wish.preset_path)
        return name, name

    def as_prompt(self, text: str) -> str:
        """Take every text for a prompt."""
        return text

    def share_key_now(self, share_key: str) -> str:
        """Share what is shared for good."""
        return share_key

    def offline(self, script: Script | None, resources: ExitStack) -> Self:
        """Refuse: the children have a model of their own."""
        del script, resources
        raise InvalidRequest("offline", messages.no_offline_model(self.name))

    def offline_each(self) -> Self:
        """Refuse likewise."""
        raise InvalidRequest("offline", messages.no_offline_model(self.name))
