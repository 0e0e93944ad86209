"""What kind of child runs: the real pi, and the offline model that can stand in for a provider."""
