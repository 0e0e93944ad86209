"""Which profiles and presets we ship as templates."""

from __future__ import annotations

SCOUT, REVIEWER, WORKER = TEMPLATES = ("scout", "reviewer", "worker")
