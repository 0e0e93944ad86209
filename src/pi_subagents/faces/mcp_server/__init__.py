"""The MCP server: the same tools for every host that speaks the Model Context Protocol."""
