"""Who asks: the command line (later MCP, pi, a terminal display)."""
