"""What work may spend, and what was spent."""
