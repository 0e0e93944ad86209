"""Runs on other machines: what travels there, the workers, and what comes back."""
