"""What `faces/profile_wizard` says to people."""

from __future__ import annotations

# What is said of the profile a task names.

ASKING_PI_FOR_MODELS = "Asking pi which models it has..."


def models_not_offered(reason: str) -> str:
    """Return why no model can be picked from a list."""
    return f"Models cannot be offered here, but you can type one. {reason}"


def editor_opens(program: str) -> str:
    """Return what to do in an editor that is about to open."""
    return f"{program} opens: save and quit to go on. An empty text leaves the field out."


def editor_failed(program: str) -> str:
    """Return that a text was not written because the editor did not end well."""
    return f"{program} did not end well."
