"""Verbs that look at runs and sessions, and act on them."""
