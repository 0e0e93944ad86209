"""Use cases about this machine: what children run, and the hosts that start us."""
