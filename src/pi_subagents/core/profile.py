"""
A profile: how a sub-agent is to run, under a name.

In: the front matter and body of one `agent-profiles/*.md`.  Out: a Profile and what is wrong with
the file.  A restriction that cannot be read never falls away: its profile is not loaded.
"""

from __future__ import annotations

from dataclasses import dataclass, field

GLOBAL = "global"
PROJECT = "project"


@dataclass(frozen=True, slots=True)
class Profile:
    """The fields of a file; empty means "as pi has it", None of a list means "not set"."""

    name: str
    provider: str = ""
    model: str = ""
    thinking_level: str = ""
    system_prompt: str = ""
    append_system_prompt: str = ""
    api_key: str = field(default="", repr=False)
    tools: tuple[str, ...] | None = None
    exclude_tools: tuple[str, ...] | None = None
    no_tools: bool = False
    no_extensions: bool = False
    extensions: tuple[str, ...] = ()
    no_skills: bool = False
    suggested_skills: tuple[str, ...] = ()
    load_skills: tuple[str, ...] = ()
    no_context_files: bool = False
    extra_args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProfileProblem:
    """One thing wrong with a file; a fatal one keeps the profile from being loaded."""

    path: str
    line: int
    problem: str
    fatal: bool


@dataclass(frozen=True, slots=True)
class LoadedProfile:
    """A profile and where it came from: `scope` is GLOBAL or PROJECT."""

    profile: Profile
    scope: str
    path: str
