"""Verbs that set up this machine and other programs on it."""
