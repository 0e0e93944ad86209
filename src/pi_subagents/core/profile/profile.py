"""
A profile: how a sub-agent is to run, under a name.

In: the front matter and body of one `agent-profiles/*.md`.  Out: a Profile and what is wrong with
the file.  A restriction that cannot be read never falls away: its profile is not loaded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pi_subagents.core import messages
from pi_subagents.core.definitions.definition import (
    arguments_field,
    budget_field,
    flag_field,
    name_field,
    names_field,
    paths_field,
    read_fields,
    schema_field,
    text_field,
)
from pi_subagents.core.profile.permissions import Permissions, permissions_field
from pi_subagents.core.value import value
from pi_subagents.core.workspace.modes import WORKSPACES, WORKTREE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.definitions.definition import FileProblem
    from pi_subagents.core.definitions.frontmatter import Frontmatter, Value

THINKING_LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
# A process of its own for every task, or one after the other in the same; unset: as is safe.
FRESH, REUSE = ISOLATIONS = ("fresh", "reuse")
# Which of the user's MCP servers a child has; unset: all, if its tools ask for any.
NO_MCP, ALL_MCP = MCP_CHOICES = ("none", "all")
# Whether questions of a child wait for somebody; unset: those that its permissions make it ask.
ASK_SOMEBODY, REFUSE_QUESTIONS = QUESTION_CHOICES = ("ask", "refuse")


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
    mcp: str = ""
    no_extensions: bool = False
    extensions: tuple[str, ...] = ()
    no_skills: bool = False
    suggested_skills: tuple[str, ...] = ()
    load_skills: tuple[str, ...] = ()
    no_context_files: bool = False
    isolation: str = ""
    budget: str = ""  # as `parse_budget` takes it
    workspace: str = ""
    confine: bool = False  # let it write in its workspace only
    check: str = ""  # a command line that says whether its work is good
    questions: str = ""
    permissions: Permissions = Permissions()
    extra_args: tuple[str, ...] = ()
    output_schema: str = ""  # JSON, on one line
    engine: str = ""  # what kind of child it has; empty: as the call and the settings say

    @property
    def may_ask(self) -> bool:
        """Return whether its questions wait for somebody."""
        return self.questions == ASK_SOMEBODY or (not self.questions and self.permissions.asks)


@value
class LoadedProfile:
    """A profile and where it came from: `scope` is GLOBAL or PROJECT."""

    profile: Profile
    scope: str
    path: str

    @property
    def name(self) -> str:
        """The profile's name."""
        return self.profile.name


def parse_profile(
    path: str, content: Frontmatter
) -> tuple[Profile | None, tuple[FileProblem, ...]]:
    """Return the profile, or None after a fatal problem, and all that is wrong with the file."""
    reading = read_fields(path, content, _READERS, required=("name",))
    values = {FIELDS[key]: value for key, value in reading.values.items()}
    if values.get("thinking_level", "") not in ("", *THINKING_LEVELS):
        del values["thinking_level"]
        problem = messages.wrong_thinking_level(THINKING_LEVELS)
        reading.report("thinkingLevel", problem, fatal=False)
    if values.get("isolation", "") not in ("", *ISOLATIONS):
        values["isolation"] = FRESH  # what was meant can only have been a restriction
        reading.report("isolation", messages.wrong_isolation(ISOLATIONS), fatal=False)
    if values.get("mcp", "") not in ("", *MCP_CHOICES):
        values["mcp"] = NO_MCP
        reading.report("mcp", messages.wrong_mcp(MCP_CHOICES), fatal=False)
    if values.get("questions", "") not in ("", *QUESTION_CHOICES):
        values["questions"] = REFUSE_QUESTIONS
        reading.report("questions", messages.wrong_questions(QUESTION_CHOICES), fatal=False)
    if values.get("workspace", "") not in ("", *WORKSPACES):
        values["workspace"] = WORKTREE
        problem = messages.field_problem("workspace", messages.must_be_one_of(WORKSPACES))
        reading.report("workspace", problem, fatal=False)
    if reading.failed:
        return None, reading.problems
    return Profile(system_prompt=content.body, **values), reading.problems  # type: ignore[arg-type]  # fields by name, of many types


# The fields as a file calls them, in the order in which they are shown and saved; the system prompt
# is the body.
_FIELD_READERS: Mapping[str, Callable[[Value], object] | None] = {
    "name": name_field,
    "engine": text_field,
    "provider": text_field,
    "model": text_field,
    "thinkingLevel": text_field,
    "systemPrompt": None,
    "appendSystemPrompt": text_field,
    "tools": names_field,
    "noTools": flag_field,
    "excludeTools": names_field,
    "mcp": text_field,
    "noExtensions": flag_field,
    "extensions": paths_field,
    "noSkills": flag_field,
    "suggestedSkills": names_field,
    "loadSkills": names_field,
    "noContextFiles": flag_field,
    "isolation": text_field,
    "budget": budget_field,
    "workspace": text_field,
    "confine": flag_field,
    "check": text_field,
    "questions": text_field,
    "permissions": permissions_field,
    "outputSchema": schema_field,
    "apiKey": text_field,
    "extraArgs": arguments_field,  # a null byte among them refuses the call, in words of its own
}
_READERS = {key: reader for key, reader in _FIELD_READERS.items() if reader}
# What we see to, whatever the engine can do.
OWN_FIELDS = frozenset({"name", "engine", "output_schema", "workspace", "confine", "check"})
# What a file calls a field -> what a Profile does.
FIELDS = {key: re.sub("[A-Z]", lambda c: f"_{c[0].lower()}", key) for key in _FIELD_READERS}
