"""
What travels to a worker: everything a task needs there, and nothing that is the caller's own.

In: what the service resolved at the caller.  Out: a TravelOrder, which a worker plans as if it had
been asked for there.  Never in it: keys, environment, command lines of the caller, its paths (but
of a file system that all machines share).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run.spec import CheckOrder, ResumeOrder, RunLimits
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.core.workspace.bundle import Bundle

# Of the form in which orders travel; a worker takes orders of its own form only.
FORMAT = 1
# Where the child works: in an empty directory, in a worktree of what the caller sent, or in the
# caller's own directory, which the worker has, too.
NOWHERE, BUNDLE, SHARED_PATH = WORKSPACE_KINDS = ("none", "bundle", "shared")

# The database takes orders of twice that: inside of them every quotation mark counts as two.
MAX_ORDER_BYTES = MAX_PROMPT = 8 * 1024 * 1024
MAX_TEXT = 1024 * 1024
MAX_SKILLS = 64
MAX_SKILL_FILES = 200
MAX_SKILLS_BYTES = 4 * 1024 * 1024  # of all skills together


@value
class TravelFile:
    """One file of a skill, by its path below the skill's directory."""

    path: str
    text: str


@value
class TravelSkill:
    """A skill that the child has, with its files."""

    name: str
    files: tuple[TravelFile, ...]


@value
class TravelWorkspace:
    """Where the child works."""

    kind: str = NOWHERE
    packs: tuple[Bundle, ...] = ()  # the snapshot, where one travels: the last one's commit
    tree: str = ""  # what the files are at first, where they are not the snapshot's
    prefix: str = ""  # the directory of the child below the top
    path: str = ""  # the directory itself, on a file system that all machines share
    max_bytes: int = 0  # of the patch
    keep: bool = False  # whether the worktree stays afterwards
    setup: str = ""  # a command line that makes it ready


@value
class TravelWork:
    """What is to be done, and by whom."""

    name: str
    prompt: str  # with its files and what came before, without the words of any engine
    task: str = ""  # the task alone, where the prompt has earlier runs as well
    engine: str = ""  # what kind of child does it; empty: pi
    profile: Profile | None = None  # as it was resolved, with its texts
    skills: tuple[TravelSkill, ...] = ()
    schema: str = ""  # what the answer has to fit, as JSON; empty: any text will do
    check: CheckOrder = CheckOrder()
    trusted: bool = False  # whether what the project itself configures may count
    offline: bool = False  # the built-in model answers
    script: str = ""  # by this script, as JSON; empty: by its rules
    notes: tuple[str, ...] = ()  # said of the run before it began


@value
class TravelOrder:
    """One task on its way to a worker."""

    run_id: str
    session_id: str
    work: TravelWork
    limits: RunLimits = RunLimits()
    resume: ResumeOrder = ResumeOrder()
    session: str = ""  # digest of the child's own session, where it goes on with that
    workspace: TravelWorkspace = TravelWorkspace()
    attached: bool = True  # it ends with its caller
    made_by: str = ""  # our version at the caller
