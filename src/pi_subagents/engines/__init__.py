"""What kind of child runs: the real pi, agents that speak ACP, and the offline model."""
