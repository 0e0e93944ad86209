"""What can begin before a call is understood: what its supervisors load, beside what we do."""

from pi_subagents.runners.fork_server import begun_early as supervisors_begun

__all__ = ["supervisors_begun"]
