"""Runs that workers of a cluster do: what of them is on this machine."""
