"""
What a call in a place would meet, for whoever only looks: trust, models, tools, skills.

In: a directory, an environment, and what a host knows of itself.  Out: values; nothing is started
but to be asked, and where no child could be started, what set-up would install counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.value import value
from pi_subagents.engines.base import CallPlace
from pi_subagents.engines.table import DEFAULT, load_engine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.core.host_program import HostProgram
    from pi_subagents.core.models import ModelList
    from pi_subagents.core.settings import Settings
    from pi_subagents.engines.base import EngineCall


@value
class LookingPlace:
    """Where somebody looks around."""

    cwd: Path
    env: Mapping[str, str]
    host: HostProgram | None = None  # what a host of the same kind runs in
    decided: bool | None = None  # whether such a host trusts the directory; else records count

    @property
    def settings(self) -> Settings:
        """The settings of calls there."""
        return load_settings(self.cwd, self.env)[0]

    def trusts(self, place: Path) -> bool:
        """Tell whether what the project of a place configures may count."""
        known = None if self.decided is None else (self.cwd, self.decided)
        return load_engine(DEFAULT).trusts(place, self.env, known)

    @property
    def is_trusted(self) -> bool:
        """Tell so of the directory itself."""
        return self.trusts(self.cwd)

    def preview(self) -> EngineCall:
        """Return the engine of a call there, to look only."""
        return load_engine(DEFAULT).preview(self._call_place())

    def models(self, *, refresh: bool = False) -> ModelList:
        """Return the models of a child there; SetupError where none could be started."""
        return load_engine(DEFAULT).open(self._call_place()).list_models(refresh=refresh)

    def tools(self) -> tuple[str, ...]:
        """Return the tools that a child there has by itself."""
        return self.preview().list_tools()

    def skills(self) -> tuple[str, ...]:
        """Return the skills that a profile may name there."""
        return self.preview().list_skills(trusted=self.is_trusted)

    def _call_place(self) -> CallPlace:
        return CallPlace(self.cwd, self.env, self.settings, trusted=self.trusts, host=self.host)
