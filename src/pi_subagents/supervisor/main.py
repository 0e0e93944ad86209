"""
The supervisor: one small process around one child (standard library only, one thread).

Reads a specification from standard input, which then is its lifeline; does the run and writes its
result.  Standard output carries one byte per batch of new records, so that a watcher wakes up.  A
child that was to be kept and is fit then waits, and another specification may follow (`waiting`).
"""

from __future__ import annotations

import os
import sys

from pi_subagents.core.run.spec import FORK
from pi_subagents.supervisor.listener import Lifeline, Listener
from pi_subagents.supervisor.one_run import do_run
from pi_subagents.supervisor.supervisor import WAKE
from pi_subagents.system import process_tree

LIFELINE = 0
OTHERS = 0o077


def main() -> int:
    """Serve what standard input asks for."""
    if sys.argv[-1] == FORK:
        from pi_subagents.supervisor.forking import serve_forks

        serve_forks()
    # We may inherit a umask that takes rights from the owner: from us.
    os.umask(os.umask(OTHERS) & OTHERS)
    lifeline = Lifeline(LIFELINE)
    order, early_commands = lifeline.first_order()
    listener = Listener()
    os.set_blocking(WAKE, False)
    process_tree.become_subreaper()
    listener.add_signals()
    if order.spec.attached:
        lifeline.listen(listener)
    if order.spec.reuse.prewarm or order.spec.reuse.keep:
        from pi_subagents.supervisor.waiting import serve_many  # most supervisors do one run

        return serve_many(order, early_commands, lifeline, listener)
    code, _ = do_run(order, early_commands, lifeline, listener)
    return code


if __name__ == "__main__":
    sys.exit(main())
