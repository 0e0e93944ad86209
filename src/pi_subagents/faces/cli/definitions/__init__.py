"""Verbs about profiles and presets."""
