"""Verbs of clusters: their database, and the workers."""
