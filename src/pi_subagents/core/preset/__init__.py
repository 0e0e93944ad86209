"""Presets: kinds of sub-agents that a call can name."""
