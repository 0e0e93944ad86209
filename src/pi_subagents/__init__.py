"""Sub-agents that any main agent can trust; nothing runs at import."""

from __future__ import annotations

from pi_subagents._version import __version__

__all__ = ["__version__"]
