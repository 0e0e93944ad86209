"""
What a failure of the database means, as an exception of ours; no password is in any of them.

The database's own functions raise SA001 (an attempt that counts no more), SA002 (too large, or not
of that form) and SA003 (not known, or not yours); everything else is PostgreSQL's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.errors.cluster import (
    AttemptOver,
    ClusterError,
    ClusterNotMade,
    ClusterRefused,
    ClusterRoleLacking,
    ClusterRunUnknown,
    ClusterUnreachable,
)

if TYPE_CHECKING:
    import psycopg

    from pi_subagents.cluster.address import ClusterAddress
    from pi_subagents.errors.base import SubagentsError

SUBMIT, WORK, LOOK = ROLES = ("subagents_submit", "subagents_work", "subagents_look")
# Who may call which function; the others are called by these, or by their owner alone.
CALLED_BY = {
    "submit": (SUBMIT,),
    "beat_call": (SUBMIT,),
    "run_states": (SUBMIT,),
    "records_after": (SUBMIT,),
    "fetched": (SUBMIT,),
    "command": (SUBMIT,),
    "command_status": (SUBMIT,),
    "packs_there": (SUBMIT, WORK),
    "put_pack_part": (SUBMIT, WORK),
    "pack_part": (SUBMIT, WORK),
    "register": (WORK,),
    "unregister": (WORK,),
    "claim": (WORK,),
    "begin_run": (WORK,),
    "give_back": (WORK,),
    "add_records": (WORK,),
    "finish": (WORK,),
    "refuse_order": (WORK,),
    "hold": (WORK,),
    "commands_for": (WORK,),
    "command_taken": (WORK,),
    "sweep": (WORK,),
    "overview": (LOOK,),
    "schema_version": ROLES,
    "requeue": (),
    "drain": (),
    "prune": (),
    "prunable": (),
}
_NO_SUCH_FUNCTION = ("42883", "42P01", "3F000")
_NO_RIGHT = "42501"


def is_away(error: psycopg.Error) -> bool:
    """Return whether the connection failed, so that another one may answer."""
    import psycopg

    gone = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    state = error.sqlstate or ""
    # 57P: the server is shutting down or starting; 08: the connection; 53300: too many of them.
    return (gone and not state) or state.startswith(("57P", "08")) or state == "53300"


def unreachable(address: ClusterAddress, error: psycopg.Error) -> ClusterError:
    """Say why no connection can be had."""
    return ClusterUnreachable(address.shown, _words(address, error))


def meaning_of(address: ClusterAddress, function: str, error: psycopg.Error) -> SubagentsError:
    """Return what to raise where the database answered with an error."""
    state = error.sqlstate or ""
    words = _words(address, error)
    if state == "SA001":
        return AttemptOver(words)
    if state == "SA003":
        return ClusterRunUnknown(words)
    if state in _NO_SUCH_FUNCTION:
        return ClusterNotMade(address.shown)
    if state == _NO_RIGHT:
        if "schema subagents" in words and not CALLED_BY.get(function):
            return ClusterNotMade(address.shown)
        role = next(iter(CALLED_BY.get(function, ())), "")
        return ClusterRoleLacking(address.shown, address.user, role)
    return ClusterRefused(address.shown, words)


def _words(address: ClusterAddress, error: psycopg.Error) -> str:
    """Return the first line of what was said, without the password, whatever the driver repeats."""
    said = error.diag.message_primary or str(error)
    password = address.parts.get("password", "")
    if password:
        said = said.replace(password, "...")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return one_line(lines[0] if lines else "it gave no reason", 300)
