"""What goes to the workers of a cluster and what comes back, as values."""
