"""How pi and Node are installed."""
