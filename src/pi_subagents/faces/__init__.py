"""Who asks: the command line, with a live display on a terminal (later MCP, pi)."""
