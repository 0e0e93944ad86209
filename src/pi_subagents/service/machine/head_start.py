"""What can begin before a call is understood: what its supervisors load, beside what we do."""

from pi_subagents.runners.fork_server import begun_early as supervisors_begun
from pi_subagents.system.lean_asyncio import import_lean_asyncio

__all__ = ["import_lean_asyncio", "supervisors_begun"]
