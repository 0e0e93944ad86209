"""Our tools for children of any engine that takes MCP servers: what is offered, and the server."""
