"""Where supervisors run."""
