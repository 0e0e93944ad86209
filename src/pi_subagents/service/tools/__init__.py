"""The tools we offer."""
