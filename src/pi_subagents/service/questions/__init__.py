"""Answers to what sub-agents ask: given by whoever has one, or asked of a person."""
