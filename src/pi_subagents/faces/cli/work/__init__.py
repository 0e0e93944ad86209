"""Verbs that put sub-agents to work."""
