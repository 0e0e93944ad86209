"""What a profile means to pi: which fields it can honour, and what a child is started with."""
