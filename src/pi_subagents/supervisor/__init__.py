"""The process that owns one run.  Standard library only."""
