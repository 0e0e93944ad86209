"""The live display on a terminal: a rolling window per sub-agent."""
