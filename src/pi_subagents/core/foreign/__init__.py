"""Agent definitions of other programs: one file per format, and what becomes of them here."""
