"""Pure values and functions: no files, processes, clock or environment."""
