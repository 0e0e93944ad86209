"""Processes: the supervisor around one child, and whoever starts it."""
