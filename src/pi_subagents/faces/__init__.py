"""Who asks: the command line, with a live display on a terminal, MCP hosts, pi."""
