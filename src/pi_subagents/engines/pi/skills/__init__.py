"""The skills of pi: how they are found and read."""
