"""Answers that are values: the schema they have to fit, and how one is found in a text."""
