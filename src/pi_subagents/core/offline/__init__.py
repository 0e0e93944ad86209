"""The script of the offline model, as values."""
