"""
Give a child that takes commands its prompt.

In: a conversation, a child, the run's order.  Out: what was asked, said in the session that the
child still has from the run this one goes on from, else in one of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.engines.base import Beginning
from pi_subagents.store.run_dir import read_asked
from pi_subagents.supervisor.reuse import note_own_processes

if TYPE_CHECKING:
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.engines.base import Conversation
    from pi_subagents.store.desk import Desk
    from pi_subagents.supervisor.child import Child


def say_prompt(talk: Conversation, child: Child, spec: RunSpec, desk: Desk) -> bool:
    """Begin the conversation; return whether the child's account of its session is of this run."""
    continues = child.last_run != "" and child.last_run == spec.reuse.follows
    session = (spec.child.keeps_session or child.runs > 0) and not continues
    child.runs += 1
    child.last_run = spec.run_id
    try:
        prompt = read_asked(desk.task if continues else desk.prompt)
        if session:
            desk.make_child_session()
            child.session = desk.child_session
    except OSError as error:
        talk.refuse(str(error))
        return not continues
    # A child to be kept is known as a whole before it begins: what it starts then is the run's.
    greets = spec.reuse.keep and not child.own_processes
    talk.begin(
        Beginning(
            prompt,
            session=str(desk.child_session) if session else None,
            on_ready=(lambda: note_own_processes(child)) if greets else None,
            is_up=child.runs > 1,
        )
    )
    return not continues
