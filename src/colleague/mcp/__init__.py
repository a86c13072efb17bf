"""MCP servers as tools, supervised. The library `mcp` is imported when a server is used."""
