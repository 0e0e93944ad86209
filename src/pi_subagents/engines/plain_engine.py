"""
What simple engines have in common on the caller's side: no choices, nothing to set up.

An engine states its name, what its children can do and how one is started (`plan_child`), and
overrides whatever else its children have.
"""
# ruff: noqa: ARG002 - the door's arguments, which an engine without choices does not need

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pi_subagents.core.engine_values import EngineReport, ModelList, SetupOutcome
from pi_subagents.core.value import replace
from pi_subagents.engines import messages
from pi_subagents.engines.base import PreparedProfile
from pi_subagents.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import ExitStack
    from pathlib import Path

    from pi_subagents.core.check import Check
    from pi_subagents.core.engine_values import Model, Report
    from pi_subagents.core.offline.script import Script
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.engines.base import (
        CallPlace,
        Capabilities,
        ContinuedSession,
        Finding,
        ModelWish,
    )
    from pi_subagents.system.home import CheckedPlace


class PlainEngine:
    """An Engine that is ready for every call, and so is its own EngineCall."""

    name: str
    capabilities: Capabilities
    notices: tuple[str, ...] = ()

    @property
    def facts(self) -> Mapping[str, object]:
        """What the record of a run holds about its engine."""
        return {"engine": self.name}

    # As an Engine

    def open(self, place: CallPlace) -> Self:
        """Need nothing."""
        return self

    def preview(self, place: CallPlace) -> Self:
        """Look the same."""
        return self

    def trusts(
        self, place: Path, env: Mapping[str, str], decided: tuple[Path, bool] | None
    ) -> bool:
        """Trust what a caller decided to trust, and keep no records."""
        return decided is not None and decided[1]

    def examine(self, place: CheckedPlace) -> Iterator[Check]:
        """Check nothing."""
        return iter(())

    examine_project = examine

    def is_installed(self, cwd: Path, env: Mapping[str, str]) -> bool:
        """Need no set-up."""
        return True

    def install(
        self, cwd: Path, env: Mapping[str, str], report: Report, *, force: bool = False
    ) -> SetupOutcome:
        """Install nothing."""
        return SetupOutcome((messages.NOTHING_TO_SET_UP,), {"changed": False})

    def uninstall(self, env: Mapping[str, str], report: Report) -> SetupOutcome:
        """Remove nothing."""
        return SetupOutcome((messages.NOTHING_TO_SET_UP,), {"changed": False})

    def program(self, cwd: Path, env: Mapping[str, str]) -> tuple[str, ...]:
        """Refuse: there is none to start by hand."""
        raise InvalidRequest(self.name, messages.NO_PROGRAM)

    def report(self, place: CallPlace, *, start: bool = False) -> EngineReport:
        """Say that it is there: there is no program."""
        return EngineReport(self.name)

    def why_no_steering(self, mode: str) -> str:
        """Return why children take no messages, or an empty text."""
        return "" if self.capabilities.steering else messages.no_steering(self.name)

    # As an EngineCall

    def prepare_profile(
        self, profile: Profile, notes: tuple[str, ...], *, trusted: bool
    ) -> PreparedProfile:
        """Take a profile as it is: fields that are not honoured were refused before."""
        return PreparedProfile(profile, notes)

    def prepare_preset(self, profile: Profile, model: str | None) -> PreparedProfile:
        """Take a preset as it is, with the model that was chosen."""
        return PreparedProfile(replace(profile, model=model or ""))

    def check_profile(self, profile: Profile, models: Sequence[Model] = ()) -> tuple[Finding, ...]:
        """Find nothing."""
        return ()

    check_preset = check_profile

    def list_models(self, *, refresh: bool = False) -> ModelList:
        """Know of no models."""
        return ModelList((), cached=False)

    def list_tools(self) -> tuple[str, ...]:
        """Know of no tools."""
        return ()

    def list_skills(self, *, trusted: bool) -> tuple[str, ...]:
        """Know of no skills."""
        return ()

    def has_no_model(self) -> bool:
        """Leave it to the children."""
        return False

    def choose_model(self, wish: ModelWish) -> tuple[str, str]:
        """Take the model's name as it was given; without one, the child has its own."""
        name = wish.wanted or wish.of_preset
        return name, name

    def as_prompt(self, text: str) -> str:
        """Take every text for a prompt."""
        return text

    def continue_session(self, content: bytes, cwd: str) -> ContinuedSession:
        """Refuse: nothing is known of sessions."""
        raise ValueError(messages.NO_SESSIONS)

    def share_key_now(self, share_key: str) -> str:
        """Share what is shared for good."""
        return share_key

    def offline(self, script: Script | None, resources: ExitStack) -> Self:
        """Refuse: the children have a model of their own."""
        raise InvalidRequest("offline", messages.no_offline_model(self.name))

    def offline_each(self) -> Self:
        """Refuse likewise."""
        raise InvalidRequest("offline", messages.no_offline_model(self.name))
