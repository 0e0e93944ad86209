"""
Which children may only write in their workspace, and what else they need to write in.

In: a call, and the order of a run.  Out: the order with the directories; ConfiningImpossible where
the kernel cannot enforce it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run.spec import changed
from pi_subagents.errors import ConfiningImpossible
from pi_subagents.system import landlock

if TYPE_CHECKING:
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.engines.base import ChildPlan
    from pi_subagents.service.call import CallContext
    from pi_subagents.store.run_dir import RunDir


def refuse_unconfinable(context: CallContext) -> None:
    """Refuse a call where this kernel cannot do it; say what it could not forbid."""
    found = landlock.version()
    if found == 0:
        raise ConfiningImpossible
    if landlock.leaves_truncating(found):
        context.notice(landlock.NOTE_TRUNCATING)


def confined(spec: RunSpec, run_dir: RunDir, child: ChildPlan, context: CallContext) -> RunSpec:
    """Return the order of a run whose child may write in its workspace and its own places."""
    env, parts = context.env, Path(spec.child.cwd).parts
    places = (
        Path(*parts[: len(parts) - len(Path(spec.workspace.prefix).parts)]),  # of a worktree, all
        run_dir.path,
        run_dir.desk.child_session,  # and nothing else there: orders are given on the desk
        Path(env.get("TMPDIR") or tempfile.gettempdir()),
    )
    return changed(spec, writes_in=(*map(str, places), *child.writes))
