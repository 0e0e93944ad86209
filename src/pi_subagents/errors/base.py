"""The roots that callers catch, by what they mean for the call."""

from __future__ import annotations


class SubagentsError(Exception):
    """Base of everything this package raises on purpose."""


class RequestError(SubagentsError):
    """The whole call was refused before anything was started."""


class SetupError(SubagentsError):
    """The child cannot be run on this machine as it is."""


class StoreError(SubagentsError):
    """An asked-for record is absent or unreadable."""
