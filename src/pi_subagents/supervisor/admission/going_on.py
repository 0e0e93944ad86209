"""
What another child of a run is asked that goes on where one had to give up.

In: the order of the run, whether its model has answered anything.  Out: a session with all that was
said, and a prompt to go on; where nothing was said but the prompt, that prompt anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run.spec import NATIVE
from pi_subagents.supervisor import messages
from pi_subagents.system.safe_io import replace_file

if TYPE_CHECKING:
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.store.desk import Desk


def is_ready_to_go_on(spec: RunSpec, desk: Desk, *, has_worked: bool) -> bool:
    """Make ready for a child that goes on; return whether one can."""
    try:
        if has_worked or spec.resume.how == NATIVE:
            if not (spec.child.session_option and desk.child_session.stat().st_size):
                return False
            replace_file(desk.prompt, messages.GO_ON.encode("ascii"))
        else:
            desk.child_session.unlink(missing_ok=True)
    except OSError:
        return False
    return True
