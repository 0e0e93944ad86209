"""A report of what sub-agents did, to be passed on: as a value, JSON and Markdown.  Pure."""
