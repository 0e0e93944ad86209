"""What may end or hold a run: small clock-free values."""
