"""The agents we know, a file each: how each is found, started, guarded, steered and read."""
