"""One run as values: its order, events, outcome and result."""
