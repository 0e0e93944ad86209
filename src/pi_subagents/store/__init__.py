"""A run on disk: directory, desk, index, recovery."""
