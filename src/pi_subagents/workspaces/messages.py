"""What `workspaces` says to people."""

from __future__ import annotations

from pi_subagents.core.plain_text import one_line, shown_name

_MAX_SAID = 400  # characters of what git says of a conflict

NO_REPOSITORY = (
    "it is in no git repository. Make one (git init), or let its tasks share the directory "
    "(workspace: shared)."
)
NO_CHECKOUT = "its repository is bare, or it is inside of .git: there are no files to work on."
NO_COMMIT = "its repository has no commit yet. Make a first one: git commit."
SPLIT_INDEX = (
    "its index is split, and no private copy can be made of it. "
    "Join it: git update-index --no-split-index"
)


def in_progress(what: str) -> str:
    """Return that git is in the middle of something."""
    return f"a {what} is in progress. Finish or abort it first (git status says how)."


def read_only(directory: str) -> str:
    """Return that the repository takes nothing new."""
    return f"{directory} cannot be written to."


def no_space(directory: str) -> str:
    """Return that the disk is full."""
    return f"there is no space left in {directory}."


BUNDLE_ALTERED = "what was received of its repository is not what was sent."


def bundle_not_opened(reason: str) -> str:
    """Return that git cannot use what was received."""
    return f"what was received of its repository cannot be used: {one_line(reason, _MAX_SAID)}"


def too_large_to_send(limit: int) -> str:
    """Return that a repository takes too much room to travel."""
    return (
        f"it takes more than {limit // 1024**2} MB to send it to a worker. Let workers and caller "
        "share a file system (subagents worker --shared-path), or run it here."
    )


def home_inside(home: str) -> str:
    """Return that worktrees would be part of what they are made of."""
    return (
        f"worktrees would be inside of it, in {home}, which git does not ignore there. Ignore it, "
        "or set PI_SUBAGENTS_DATA to another directory."
    )


def nested(names: str) -> str:
    """Return that other repositories are in it."""
    return (
        f"there are repositories in it whose files are not part of it: {names}. Add them as "
        "submodules, ignore them, or let its tasks share the directory (workspace: shared)."
    )


def submodules_changed(names: str) -> str:
    """Return that submodules are not as the repository has them."""
    return (
        f"there are submodules with changes of their own: {names}. Commit them there and here, or "
        "let its tasks share the directory (workspace: shared)."
    )


def not_ignored(name: str) -> str:
    """Return that something would be linked that is part of the repository."""
    return (
        f"workspace_links names {name}, which git does not ignore. Only what is ignored is linked: "
        "all else the worktree has itself."
    )


UNKNOWN_TO_GIT = "git does not list it, though it has just made it."


def outside(where: str, top: str) -> str:
    """Return that the child would work somewhere else."""
    return f"the sub-agent would work in {where}, which is not inside {top}."


def not_as_made(what: str, found: str, wanted: str) -> str:
    """Return which part of a worktree is not what it has to be."""
    return f"its {what} is {found}, not {wanted}."


NO_SEAL = "nothing was saved of them."
DISCARDED = "they were discarded."
PATCH_ALTERED = "changes.patch is not what was saved: somebody wrote to it since."
KEPT_INEXACT = "the patch does not give exactly what is in it"


def kept_at(path: str) -> str:
    """Return where the changes are that are in no patch."""
    return f"there is no patch of them; they are in {path}"


def kept_nested(names: str) -> str:
    """Return that a worktree was kept for repositories in it."""
    return f"the content of repositories in it is in no patch: {names}"


def kept_large(max_bytes: int) -> str:
    """Return that a worktree was kept because a patch would be too large."""
    return (
        f"its patch would be larger than {max_bytes // (1024 * 1024)} MB (workspace_max_megabytes)"
    )


def warn_power(path: str) -> str:
    """Return that a file tells agents or machines what to do."""
    return f"{shown_name(path)} tells agents or machines what to do"


def warn_link(path: str, target: str) -> str:
    """Return that a link leads elsewhere."""
    return f"{shown_name(path)} is a link that leaves the tree: {shown_name(target)}"


def conflict_at(path: str, first: int, last: int) -> str:
    """Return where both sides changed the same lines."""
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    return f"{shown_name(path)}, {lines}: changed in the checkout too"


def conflict(path: str, words: str) -> str:
    """Return a conflict that is not about lines, as git says it."""
    said = one_line(words.removeprefix("CONFLICT "), _MAX_SAID)
    return f"{shown_name(path)}: {said}"


def in_the_way(path: str) -> str:
    """Return that a file which git does not look at is where a new one would be."""
    return f"{shown_name(path)}: a file that is not part of the repository is in the way"


def not_clean(path: str) -> str:
    """Return that a file cannot be committed without what is not committed in it."""
    return f"{shown_name(path)}: has changes that are not committed; a commit would take them along"


NO_CHANGES = "it changed nothing."
APPLIED = "they were applied already."


def other_checkout(top: str) -> str:
    """Return that several runs are not of one checkout."""
    return f"they are of another checkout than those before: {top}"


def changed(summary: str, run_id: str) -> str:
    """Return what a run changed in its worktree, and what can be done with it."""
    short = run_id[:8]
    if not short:
        return f"In its worktree: {summary}"
    return f"In its worktree: {summary} (subagents diff {short}, subagents apply {short})"


def kept(why: str, path: str) -> str:
    """Return that a worktree was not removed, and why."""
    return f"Its worktree was kept, since {why}: {path}"


def kept_as_asked(path: str) -> str:
    """Return where a worktree is that was to be kept."""
    return f"Its worktree was kept: {path}"


def not_removed(path: str) -> str:
    """Return that something of a worktree is left."""
    return f"Its worktree could not be removed: {path}"


def not_saved(reason: str, path: str) -> str:
    """Return that the changes are in the worktree alone."""
    return f"Its changes could not be saved ({reason}). They are in its worktree: {path}"


def made_refs(names: str) -> str:
    """Return which branches, tags and stashes a run left in the repository."""
    return f"It left in the repository: {names}"


def changed_meanwhile(names: str) -> str:
    """Return which files somebody else changed."""
    return f"Changed in the checkout meanwhile: {names}"
