"""Other programs' configuration that `install` edits."""
