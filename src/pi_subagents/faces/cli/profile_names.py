"""
The profiles of the working directory, as the verbs of `subagents profile` ask for them.

In: names that a person typed.  Out: loaded profiles; ProfileNotFound, or ProfileNameInvalid before
any file is looked at.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.faces.cli.definitions import Catalogue

if TYPE_CHECKING:
    from pi_subagents.core.definition import FileProblem
    from pi_subagents.core.profile import LoadedProfile
    from pi_subagents.disk.profile_files import Profiles
    from pi_subagents.errors import SubagentsError


class _ProfileCatalogue(Catalogue["LoadedProfile"]):
    noun = "profile"

    def load(self) -> Profiles:
        from pi_subagents.disk.profile_files import load_profiles

        return load_profiles(Path.cwd(), os.environ)

    def lint(self) -> tuple[FileProblem, ...]:
        from pi_subagents.disk.profile_files import lint_profiles
        from pi_subagents.engines.pi_command import traits_here

        return lint_profiles(Path.cwd(), os.environ, traits_here(os.environ, Path.cwd()))

    def directories(self) -> dict[str, Path]:
        from pi_subagents.core.definition import GLOBAL, PROJECT
        from pi_subagents.disk.profile_files import profiles_dir

        return {scope: profiles_dir(scope, Path.cwd(), os.environ) for scope in (GLOBAL, PROJECT)}

    def summary(self, loaded: LoadedProfile) -> str:
        from pi_subagents.core.profile_text import profile_summary

        return profile_summary(loaded.profile)

    def none_found(self) -> str:
        from pi_subagents.profile_messages import NO_PROFILES

        return NO_PROFILES

    def name_invalid(self, name: str) -> SubagentsError:
        from pi_subagents.errors import ProfileNameInvalid

        return ProfileNameInvalid(name)

    def not_found(self, name: str, available: tuple[str, ...]) -> SubagentsError:
        from pi_subagents.errors import ProfileNotFound

        return ProfileNotFound(name, available)


PROFILES = _ProfileCatalogue()
