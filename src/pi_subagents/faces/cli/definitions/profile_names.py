"""
The profiles of the working directory, as the verbs of `subagents profile` ask for them.

In: names that a person typed.  Out: loaded profiles; ProfileNotFound, or ProfileNameInvalid before
any file is looked at.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.faces.cli.definitions.lookup import Catalogue

if TYPE_CHECKING:
    from pi_subagents.core.profile.profile import LoadedProfile
    from pi_subagents.errors import SubagentsError
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.definitions.files import ProfileFiles


class _ProfileCatalogue(Catalogue["LoadedProfile"]):
    noun = "profile"

    def files(self, console: Console) -> ProfileFiles:
        """Return the files of the working directory."""
        from pi_subagents.service.definitions.files import ProfileFiles

        return ProfileFiles(console.place(Path.cwd()))

    def summary(self, loaded: LoadedProfile) -> str:
        from pi_subagents.core.profile.text import profile_summary

        return profile_summary(loaded.profile)

    def none_found(self) -> str:
        from pi_subagents.core.session.messages import NO_PROFILES

        return NO_PROFILES

    def name_invalid(self, name: str) -> SubagentsError:
        from pi_subagents.errors import ProfileNameInvalid

        return ProfileNameInvalid(name)

    def not_found(self, name: str, available: tuple[str, ...]) -> SubagentsError:
        from pi_subagents.errors import ProfileNotFound

        return ProfileNotFound(name, available)


PROFILES = _ProfileCatalogue()
