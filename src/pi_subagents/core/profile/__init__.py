"""Profiles: how a sub-agent is to run, under a name."""
